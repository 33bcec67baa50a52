# SPDX-License-Identifier: Apache-2.0
"""The same report by Debian's go tool pprof and by everprof, compared byte for
byte; folded stacks against pprof -raw."""
import atexit
import concurrent.futures
import datetime
import functools
import glob
import gzip
import itertools
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading

from harness import BINARY, SLOW, profile, varint

KINDS = ('top', 'tree', 'traces', 'peek')


def find_pprof():
    found = glob.glob('/usr/lib/go-*/pkg/tool/*/pprof')
    assert found, 'golang-go is not installed'
    return sorted(found)[0]


PPROF = find_pprof()
EMPTY = tempfile.mkdtemp(prefix='everprof-pprof-home-')
atexit.register(shutil.rmtree, EMPTY, ignore_errors=True)
ENV = {**os.environ, 'TZ': 'UTC', 'HOME': EMPTY, 'PPROF_BINARY_PATH': EMPTY, 'PPROF_TMPDIR': EMPTY}


def unpack(path, d):
    """{series: [files]} of a tar, or of a folder of tars, below d."""
    tars = [path] if path.endswith('.tar') else sorted(glob.glob(f'{path}/*/*.tar'))
    found = {}
    for name in tars:
        with tarfile.open(name) as tar:
            for m in tar:
                if not m.isfile():
                    continue
                target = os.path.join(d, *m.name.split('/')[-3:])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, 'wb') as f:
                    f.write(tar.extractfile(m).read())
                found.setdefault('/'.join(m.name.split('/')[-3:-1]), []).append(target)
    for v in found.values():
        v.sort()
    return found


def out(argv):
    return subprocess.run(argv, capture_output=True, env=ENV, timeout=300 * SLOW)


def in_order(lines):
    """pprof leaves it to chance how calls that weigh +v and -v are ordered."""

    def weight(line):
        m = re.match(r' {10,}-?(\S+) +\S+ \|  ', line)
        return m and m[1]

    return [line for w, run in itertools.groupby(lines, weight) for line in (sorted(run) if w else run)]


@functools.lru_cache(maxsize=None)
def merged(files):
    path = os.path.join(EMPTY, f'{len(os.listdir(EMPTY))}-{threading.get_ident()}.pb.gz')
    with open(path, 'wb') as f:
        f.write(out([BINARY, 'report', 'proto', *files]).stdout)
    return path


def one_file(files):
    """Go's own command takes one base file: several are merged before."""
    return files[0] if len(files) == 1 else merged(tuple(files))


def as_of(theirs, ours):
    """Our report with the times as the version of pprof prints them that has printed theirs:
    "Time: 2006-01-02 15:04:05 UTC" is new."""

    def old(m):
        if not re.search(r'^Time: .* at ', theirs, re.M):
            return m[0]
        t = datetime.datetime.strptime(m[1], '%Y-%m-%d %H:%M:%S')
        return (
            t.strftime('Time: %b ')
            + f'{t.day}, {t.year} at {t.hour % 12 or 12}:{t.minute:02}'
            + (f'{"am" if t.hour < 12 else "pm"} (UTC)')
        )

    return re.sub(r'^Time: (.*) UTC$', old, ours, flags=re.M)


@functools.lru_cache(maxsize=None)
def merges_one_file():
    """Whether pprof merges the samples of a single file, and drops those that are zero. Versions that
    print times in the new form do not; nor are their relative percentages those of what is shown."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(profile('a') + b'\x48' + varint(10**18))  # time_nanos
        f.flush()
        return b'Time: 2001-' not in out([PPROF, '-symbolize=none', '-top', f.name]).stdout


class Case:
    """A report of some files, with options {name: value}; a value of True is
    a switch."""

    def __init__(self, kind, files, base=(), diff_base=(), **options):
        self.kind, self.files, self.options = kind, list(files), options
        self.base, self.diff_base = list(base), list(diff_base)

    def __str__(self):
        names = [os.path.relpath(f, os.path.dirname(os.path.dirname(os.path.dirname(f)))) for f in self.files]
        sides = ''.join(f' {k}={len(v)}' for k, v in (('base', self.base), ('diff_base', self.diff_base)) if v)
        return f'{self.kind} of {len(names)} ({names[0]} …){sides} {self.options}'

    def peer(self, kind):
        argv = [PPROF, '-symbolize=none']
        argv += ['-peek=' + self.options.get('symbol', '.')] if kind == 'peek' else ['-' + kind]
        for name, value in self.options.items():
            if name in ('granularity', 'sort'):
                argv.append('-' + value)
            elif name != 'symbol':
                argv.append(f'-{name}' if value is True else f'-{name}={value}')
        for side in ('base', 'diff_base'):
            files = getattr(self, side)
            if files:
                argv.append(f'-{side}={one_file(files)}')
        return out(argv + self.files)

    def ours(self, kind):
        with tempfile.TemporaryDirectory(prefix='everprof-base-') as d:
            argv = [BINARY, 'report', kind]
            for side in ('base', 'diff_base'):
                for i, f in enumerate(getattr(self, side)):
                    os.symlink(f, f'{d}/{i:05}')
                    argv += [f'--{side}={d}'] if not i else []
            if kind == 'peek' and 'symbol' not in self.options:
                argv.append('--symbol=.')
            for name, value in self.options.items():
                argv.append(f'--{name}' if value is True else f'--{name}={value}')
            return out(argv + self.files)

    def differs(self):
        """None, or a text that shows how."""
        if self.is_apart():
            return None
        return {'folded': self.folded, 'proto': self.proto}.get(self.kind, self.report)()

    def is_apart(self):
        """Whether newer versions of pprof answer in another way, and this is one."""
        one = len(self.files) == 1 and self.kind in ('traces', 'proto')
        return (one or 'relative_percentages' in self.options) and not merges_one_file()

    def report(self):
        a, b = self.peer(self.kind), self.ours(self.kind)
        if a.returncode and b.returncode == 1:
            return None
        theirs = a.stdout.decode(errors='replace')
        theirs, us = theirs.split('\n'), as_of(theirs, b.stdout.decode(errors='replace')).split('\n')
        if self.base or self.diff_base:
            theirs, us = in_order(theirs), in_order(us)
        if not a.returncode and not b.returncode and theirs == us:
            return None
        for i, line in enumerate(theirs):
            if i >= len(us) or us[i] != line:
                return (
                    f'line {i + 1}:\n  pprof    {line!r}\n  everprof '
                    f'{us[i] if i < len(us) else None!r}\n' + a.stderr.decode()[-300:] + b.stderr.decode()[-300:]
                )
        return f'{len(theirs)} and {len(us)} lines ' + b.stderr.decode()[-300:]

    def proto(self):
        """pprof drops samples without stack where it writes: let it write ours
        too, so that it has to read them."""
        path = os.path.join(EMPTY, f'ours-{threading.get_ident()}.pb.gz')
        with open(path, 'wb') as f:
            f.write(self.ours('proto').stdout)
        theirs, ours = self.peer('proto'), out([PPROF, '-symbolize=none', '-proto', path])
        if theirs.returncode or ours.returncode:
            return None if theirs.returncode and ours.returncode else 'only one can read it'
        a, b = gzip.decompress(theirs.stdout), gzip.decompress(ours.stdout)
        return None if a == b else f'{len(a)} and {len(b)} bytes'

    def folded(self):
        raw = fold(self.peer('raw').stdout.decode(errors='replace'))
        mine = {}
        answer = self.ours('folded')
        if answer.returncode:
            return answer.stderr.decode()
        for line in answer.stdout.decode(errors='replace').splitlines():
            stack, _, value = line.rpartition(' ')
            assert stack not in mine, stack
            mine[stack] = int(value)
        if raw == mine:
            return None
        odd = [k for k in {**raw, **mine} if raw.get(k) != mine.get(k)]
        return f'{len(odd)} stacks: {odd[0]} {raw.get(odd[0])} {mine.get(odd[0])}'


class EveryReport:
    """All reports of one file, pprof's by one process: it takes commands."""

    def __init__(self, file):
        self.file = file

    def __str__(self):
        return self.file

    def peers(self, d):
        """{kind: what pprof -kind prints}"""
        commands = {'top': 'top 0', 'peek': 'peek .'}
        kinds = (*KINDS, 'raw', 'proto')
        talk = subprocess.run(
            [PPROF, '-symbolize=none', self.file],
            capture_output=True,
            env=ENV,
            timeout=300 * SLOW,
            input=''.join(
                f'{commands.get(k, k)} > {d}/{k}\n' + 'nodecount=-1\n' * (k == 'top') for k in kinds
            ).encode(),
        )
        head, entered, _ = talk.stderr.partition(b'Entering interactive mode')
        assert entered, talk
        head = head.partition(b'No samples were found')[0]  # an advice
        found = {}
        for kind in kinds:
            refused = not os.path.exists(f'{d}/{kind}')
            body = b'' if refused else open(f'{d}/{kind}', 'rb').read()
            # It has told what file this is, where a report would.
            body = head + body if kind in ('top', 'tree', 'peek') else body
            found[kind] = subprocess.CompletedProcess([], refused, body, talk.stderr)
        return found

    def differs(self):
        with tempfile.TemporaryDirectory(prefix='everprof-peer-') as d:
            found = self.peers(d)
        for kind in (*KINDS, 'folded', 'proto'):
            case = Case(kind, [self.file])
            case.peer = found.__getitem__
            why = case.differs()
            if why:
                return f'{kind}: {why}'
        return None


def fold(raw):
    """{stack: value of the default sample type} of pprof -raw."""
    head, _, rest = raw.partition('\nLocations\n')
    places, _, _ = rest.partition('\nMappings\n')
    locations, place = {}, None
    for line in places.split('\n'):
        m = re.match(r' *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(?:\[F\] )?(.*)$', line)
        if m and not line.startswith(' ' * 13):
            place, text = int(m[1]), m[2]
            locations[place] = []
        else:
            text = line.strip()
        if text and place:
            locations[place].append(re.match(r'(.*) \S*:\d+ s=\d+', text)[1])
    samples = head[head.index('Samples:\n') + 9 :].split('\n')
    types = samples[0].split()
    index = ([i for i, t in enumerate(types) if t.endswith('[dflt]')] or [len(types) - 1])[0]
    found = {}
    for line in samples[1:]:
        values, colon, ids = line.partition(': ')
        if not colon or not re.match(r'[ \d-]+$', values):
            continue
        stack = ';'.join(f.replace(';', '_') for i in reversed(ids.split()) for f in reversed(locations[int(i)]))
        if stack:
            found[stack] = found.get(stack, 0) + int(values.split()[index])
    return {k: v for k, v in found.items() if v}


def compare(cases):
    """Run them two at a time; the failures, printed."""
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for case, why in zip(cases, pool.map(lambda c: c.differs(), cases)):
            if why:
                bad += 1
                if bad <= 20:
                    print(f'{case}: {why}', flush=True)
    return bad


def check(cases):
    bad = compare(cases)
    print(f'{len(cases)} cases compared, {bad} differ', flush=True)
    assert cases and not bad


OPTIONS = {
    'focus': ('runtime', 'main\\.', 'net/http|json', 'nothing_has_this_name'),
    'ignore': ('runtime\\.', 'gopark|select'),
    'hide': ('runtime', '^net'),
    'show': ('prometheus|etcd|main', 'runtime'),
    'show_from': ('http', 'main\\.main'),
    'prune_from': ('mallocgc|newobject', 'json'),
    'tagfocus': ('bytes=1kb:64kb', 'bytes=:512b', '1kb:', 'x=y'),
    'tagignore': ('bytes=16kb:', 'bytes=48b'),
    'granularity': ('functions', 'filefunctions', 'files', 'lines', 'addresses'),
    'noinlines': (True,),
    'nodecount': (5, 30),
    'nodefraction': (0, 0.05),
    'edgefraction': (0.05,),
    'trim': ('false',),
    'sort': ('cum', 'flat'),
    'unit': ('kb', 'ms', 'auto'),
    'drop_negative': (True,),
    'relative_percentages': (True,),
    'mean': (True,),
    'divide_by': (3,),
    'taghide': ('bytes',),
    'tagroot': ('bytes', 'nothing'),
}


def matrix(series, step=1):
    """Each option alone and pairs of options, over heap, CPU and goroutine
    profiles, every sample type: a few hundred cases."""
    picked = [series[k] for k in ('prometheus/heap', 'leakapp/profile', 'etcd/goroutine', 'leakapp/mutex')]
    settings = [{k: v} for k, values in OPTIONS.items() for v in values]
    pairs = [{**a, **b} for i, a in enumerate(settings) for b in settings[i + 1 :: 5] if not set(a) & set(b)]
    cases, n = [], 0
    for o in settings + pairs:
        files = picked[n % len(picked)]
        kind = KINDS[n // len(picked) % len(KINDS)]
        extra = {}
        if n % 3 == 0:
            extra['sample_index'] = n % 2
        cases.append(Case(kind, files[: 1 + n % 3], **o, **extra))
        n += 1
    for i, name in enumerate(('alloc_space', 'inuse_objects', 'alloc_objects', 'inuse_space')):
        cases += [Case(k, picked[0][i : i + 2], sample_index=name) for k in KINDS]
    return cases[::step]


def singles(series):
    return [EveryReport(f) for files in series.values() for f in files]


def sums(files, n):
    """A merge of n, and differences of n and of one."""
    half = files[: n // 2]
    rest = files[n // 2 : n]
    return (
        [Case(k, files[:n]) for k in (*KINDS, 'folded', 'proto')]
        + [Case(k, rest, base=half) for k in (*KINDS, 'proto')]
        + [Case(k, rest, diff_base=half) for k in (*KINDS, 'proto')]
        + [Case(k, rest, diff_base=half, normalize=True) for k in ('top', 'tree')]
    )
