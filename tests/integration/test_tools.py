#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looking after a data directory: everprof tsdb …, the admin API, promtool,
and what conprof left."""
import gzip
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import tarfile
import time

from harness import ROOT, Everprof, Skipped, Suite, field, memory, packed, profile, run, selector
from write_client import push

suite = Suite()
CONPROF = os.path.join(ROOT, 'testdata/conprof-data.tar.gz')
BASE = 1700000000000


def conprof(d):
    with tarfile.open(CONPROF) as t:
        t.extractall(d)
    return os.path.join(d, 'conprof-data')


def expected():
    """(labels as ours, ms) -> (length, sha256)"""
    want = {}
    with gzip.open(CONPROF.replace('.tar.gz', '.tsv.gz'), 'rt') as f:
        next(f)
        for line in f:
            labels, ms, length, sha = line.rstrip('\n').split('\t')
            pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            want[selector(pairs), int(ms)] = (int(length), sha)
    return want


def dumped(data):
    got = {}
    for line in run('tsdb', 'dump', data).stdout.splitlines():
        labels, ms, length, _, sha = line.split('\t')
        got[labels, int(ms)] = (int(length), sha)
    return got


def keyed(profiles):
    """The selector's text is ours alone: compare by its labels."""

    def key(text):
        name, rest = text.split('{', 1)
        pairs = re.findall(r'(\w+)="([^"]*)"', rest)
        return frozenset(pairs + ([('__name__', name)] if name else []))

    return {(key(labels), ms): v for (labels, ms), v in profiles.items()}


def make(d, series=3, count=50, name='in'):
    """A data directory of our own, sealed: series × count profiles."""
    folder = os.path.join(d, name)
    for s in range(series):
        os.makedirs(os.path.join(folder, f'job{s}', 'heap'))
        for i in range(count):
            path = os.path.join(folder, f'job{s}', 'heap', f'{BASE + i * 15000}.pb.gz')
            with open(path, 'wb') as f:
                f.write(packed(profile(f'{s}.{i}', size=200)))
    data = os.path.join(d, f'{name}-data')
    r = run('tsdb', 'import', folder, f'--storage.tsdb.path={data}')
    assert r.stdout == f'{series * count} profiles imported, 0 refused\n', r
    return data


def block_of(data):
    return [os.path.join(data, n) for n in os.listdir(data) if len(n) == 26][0]


def flip(path, at, bit=1):
    with open(path, 'r+b') as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ bit]))


@suite.test
def conprof_directories_are_imported_completely(d):
    want = keyed(expected())
    data = os.path.join(d, 'data')
    for known in (0, 2880):
        r = run('tsdb', 'import', conprof(d), f'--storage.tsdb.path={data}')
        assert r.returncode == 0 and not r.stderr, r
        assert r.stdout.startswith(f'{2880 - known} profiles imported'), r
        assert keyed(dumped(data)) == want
    listed = run('tsdb', 'list', data).stdout.splitlines()
    assert len(listed) > 1 and all(' block ' in line for line in listed[1:]), listed
    assert run('tsdb', 'verify', data).returncode == 0


def named_losses(stderr):
    """[(labels, from, to)] of what the import has named."""
    return [
        (frozenset(re.findall(r'(\w+)="([^"]*)"', labels) + [('__name__', name)]), int(a), int(b))
        for name, labels, a, b in re.findall(r'(\w+)\{([^}]*)\} from (-?\d+) to (-?\d+) is damaged', stderr)
    ]


def damage(rng, path):
    """One mishap to a file: cut, a flipped bit, garbage, zeros, or away."""
    size = os.path.getsize(path) if os.path.exists(path) else 0
    if not size:
        return
    kind = rng.random()
    at = rng.randrange(size)
    if kind < 0.3:
        os.truncate(path, at)
    elif kind < 0.8:
        flip(path, at, 1 << rng.randrange(8))
    elif kind < 0.97:
        length = min(rng.choice((4, 64, 4096)), size - at)
        with open(path, 'r+b') as f:
            f.seek(at)
            f.write(rng.choice((b'\0', b'\xff')) * length if kind < 0.9 else rng.randbytes(length))
    else:
        os.unlink(path)


@suite.test
def damaged_conprof_directories_lose_only_damaged_profiles(d):
    """EVERPROF_SECONDS sets for how long (12 rounds), EVERPROF_SEED the first seed."""
    want = keyed(expected())
    seconds = float(os.environ.get('EVERPROF_SECONDS', '0'))
    seed = int(os.environ.get('EVERPROF_SEED', '4'))
    end = time.monotonic() + seconds
    round = 0
    while round < 12 or time.monotonic() < end:
        rng = random.Random(seed + round)
        source = conprof(os.path.join(d, str(round)))
        files = sorted(
            os.path.join(p, f) for p, _, names in os.walk(source) for f in names if f not in ('meta.json', 'tombstones')
        )
        for _ in range(3):
            damage(rng, rng.choice(files))
        data = os.path.join(d, f'data{round}')
        r = run('tsdb', 'import', source, f'--storage.tsdb.path={data}')
        got = keyed(dumped(data))
        assert all(want[k] == v for k, v in got.items())
        missing = [k for k in want if k not in got]
        losses = named_losses(r.stderr)
        # What had no times of its own is named by file and place.
        elsewhere = re.search(r'the block is skipped|record|head chunk|unknown|' r'damaged series|is not a ', r.stderr)
        for labels, ms in missing:
            assert elsewhere or any(l == labels and a <= ms <= b for l, a, b in losses), (labels, ms, r.stderr)
        assert not missing or r.returncode == 1
        assert r.returncode in (0, 1) and 'Sanitizer' not in r.stderr, r
        if not seconds:
            print(f'round {round}: {len(missing)} of {len(want)} missing')
        shutil.rmtree(data)
        shutil.rmtree(os.path.dirname(source))
        round += 1
    print(f'{round} rounds')


@suite.test
def promtool_reads_blocks(d):
    if not shutil.which('promtool'):
        raise Skipped('promtool is not installed')
    data = make(d, series=7, count=40)
    listed = subprocess.run(['promtool', 'tsdb', 'list', data], capture_output=True, text=True)
    assert listed.returncode == 0, listed
    row = listed.stdout.splitlines()[1].split()
    assert os.path.basename(block_of(data)) == row[0] and '280' in row and '7' in row, row
    told = subprocess.run(['promtool', 'tsdb', 'analyze', data], capture_output=True, text=True)
    assert told.returncode == 0, told
    assert 'Series: 7\n' in told.stdout and 'Label names: 2\n' in told.stdout, told.stdout
    assert 'Postings (unique label pairs): 8\n' in told.stdout, told.stdout


@suite.test
def damage_is_reported_and_repaired(d):
    data = make(d)
    r = run('tsdb', 'verify', data)
    assert r.returncode == 0 and '150 profiles in 1 blocks' in r.stdout, r
    values = os.path.join(block_of(data), 'values', '000001')
    flip(values, os.path.getsize(values) - 100)
    r = run('tsdb', 'verify', data)
    assert r.returncode == 1 and 'values/000001: checksum mismatch' in r.stdout, r
    r = run('tsdb', 'repair', data)
    assert r.stdout.startswith('1 blocks rewritten'), r
    assert 'dropping a damaged profile' in r.stderr, r
    assert run('tsdb', 'verify', data).returncode == 0
    assert 150 > len(dumped(data)) >= 150 - 32
    # An unreadable block is set aside, told, and nothing else is touched.
    flip(os.path.join(block_of(data), 'index'), 30)
    r = run('tsdb', 'verify', data)
    assert r.returncode == 1 and 'index' in r.stdout, r
    e = Everprof(d, flags=[f'--storage.tsdb.path={data}']).ready()
    assert 'renamed to *.damaged' in e.text()
    e.finish()
    assert [n for n in os.listdir(data) if n.endswith('.damaged')]
    r = run('tsdb', 'verify', data)
    assert r.returncode == 1 and 'everprof has renamed it' in r.stdout, r


@suite.test
def copied_block_does_not_delete_the_original(d):
    data = make(d)
    block = block_of(data)
    copy = block[:-1] + ('0' if block[-1] != '0' else '1')
    shutil.copytree(block, copy)
    values = os.path.join(copy, 'values', '000001')
    os.truncate(values, os.path.getsize(values) - 50)
    r = run('tsdb', 'verify', data)
    assert r.returncode == 1 and 'is a copy of block' in r.stdout, r
    run('tsdb', 'repair', data)
    assert len(dumped(data)) == 150
    assert os.path.isdir(copy + '.damaged')


@suite.test
def damaged_block_does_not_hide_others(d):
    data = make(d)
    second = make(d, count=20, name='second')
    other = block_of(second)
    shutil.move(other, data)
    block = block_of(data)
    for spoil in ('tombstones', 'fifo', 'directory', 'loop', 'empty'):
        work = os.path.join(d, spoil)
        shutil.copytree(data, work)
        block = sorted(n for n in os.listdir(work) if len(n) == 26)[0]
        index = os.path.join(work, block, 'index')
        if spoil == 'tombstones':
            with open(os.path.join(work, block, 'tombstones'), 'wb') as f:
                f.write(bytes.fromhex('0130ba300300000000'))
        else:
            os.unlink(index)
        if spoil == 'fifo':
            os.mkfifo(index)
        elif spoil == 'directory':
            os.mkdir(index)
        elif spoil == 'loop':
            os.symlink('index', index)
        elif spoil == 'empty':
            open(index, 'w').close()
        for tool in ('verify', 'dump', 'list'):
            r = run('tsdb', tool, work)
            assert r.returncode in (0, 1), (spoil, tool, r)
        assert len(dumped(work)) >= 60, spoil
        e = Everprof(work, flags=[f'--storage.tsdb.path={work}', '--storage.tsdb.retention.time=0']).ready()
        assert sum(len(s['timestamps']) for s in e.range('heap')) >= 60, spoil
        e.finish()


@suite.test
def stats_by_label(d):
    data = make(d, series=4, count=10)
    r = run('tsdb', 'stats', data, '--by=job')
    rows = [line.split() for line in r.stdout.splitlines() if re.search(r' job\d?$', line)]
    assert [row[-1] for row in rows] == ['job', 'job0', 'job1', 'job2', 'job3'], r.stdout
    assert all(row[0] == '10' and int(row[1]) > int(row[2]) > 0 for row in rows[1:]), rows


@suite.test
def stats_by_codec_and_section(d):
    tar = os.path.join(os.path.dirname(__file__), '../../testdata/profiles.tar')
    data = f'{d}/columns'
    r = run('tsdb', 'import', tar, f'--storage.tsdb.path={data}')
    assert r.returncode == 0, r.stderr
    out = run('tsdb', 'stats', data).stdout
    codecs = {
        m[4]: (int(m[1]), int(m[3]))
        for m in re.finditer(r'^ *(\d+)  +(\d+)  +(\d+)  +\d+  (columns.*|zstd)$', out, re.M)
    }
    sections = [int(m[1]) for m in re.finditer(r'^ *(\d+)  columns: (group|table): ', out, re.M)]
    assert sum(c[0] for c in codecs.values()) == 140, out
    assert codecs['columns'][0] > 100 and codecs['columns: tables'][1] > 0, out
    assert sum(sections) == codecs['columns'][1] + codecs['columns: tables'][1], out
    r = run('tsdb', 'recode', data)
    assert r.returncode == 0 and '0 blocks rewritten' in r.stdout, r
    assert ': 0 problems' in run('tsdb', 'verify', data).stdout


@suite.test
def newer_formats_are_refused_with_advice(d):
    data = make(d, series=1, count=3)
    path = os.path.join(block_of(data), 'meta.json')
    text = re.sub(r'"format": \d+', '"format": 9', open(path).read())
    text = text[: -len('00000000"\n\t}\n}\n')]
    with open(path, 'w') as f:
        f.write(text + f'{crc32c(text.encode()):08x}"\n\t}}\n}}\n')
    r = run('tsdb', 'list', data)
    assert r.returncode == 1, r
    assert 'is not supported' in r.stderr and 'use the newer version' in r.stderr


@suite.test
def blocks_with_columns_have_their_own_format_number(d):
    """An everprof from before columns must say that such a block is newer, not damaged."""
    data = make(d, series=1, count=3)
    assert '"format": 2' in open(os.path.join(block_of(data), 'meta.json')).read()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def admin(e, path, **params):
    return e.get(f'/api/v1/admin/tsdb/{path}', method='POST', data=b'', **params)


@suite.test
def admin_api_deletes_and_creates_snapshots(d):
    data = make(d)
    flags = [f'--storage.tsdb.path={data}', '--storage.tsdb.retention.time=0']
    e = Everprof(d, flags=flags).ready()
    a = admin(e, 'delete_series', **{'match[]': 'heap'})
    assert a.status == 403 and 'enable-admin-api' in a.json()['error'], a.body
    e.finish()
    e = Everprof(d, flags=flags + ['--web.enable-admin-api']).ready()
    assert e.get('/api/v1/admin/tsdb/snapshot').status == 405
    assert admin(e, 'delete_series').status == 400
    assert admin(e, 'delete_series', **{'match[]': '{job='}).status == 400
    for empty in ('from', 'to', 'start', 'end'):
        a = admin(e, 'delete_series', **{'match[]': 'heap', empty: ''})
        assert a.status == 400 and empty in a.json()['error'], a.body
    # Whole or not at all; and a form's parameters go before a URL's.
    a = e.get('/api/v1/admin/tsdb/delete_series', method='POST', data=b'match[]=heap&match[]=%7Bjob%3D')
    assert a.status == 400 and sum(len(s['timestamps']) for s in e.range('heap')) == 150, a.body
    for form, status in ((b'start=0&end=1&match[]=heap', 204), (b'start=no', 400)):
        a = e.get(
            '/api/v1/admin/tsdb/delete_series',
            method='POST',
            data=form,
            **{'match[]': 'none', 'start': '0', 'end': 'now'},
        )
        assert a.status == status, (form, a.body)
    assert sum(len(s['timestamps']) for s in e.range('heap')) == 150
    assert admin(e, 'snapshot', skip_head='perhaps').status == 400
    a = admin(e, 'snapshot')
    name = a.data()['name']
    a = admin(e, 'delete_series', **{'match[]': 'heap{job="job1"}', 'from': BASE, 'to': BASE + 9 * 15000})
    assert a.status == 204 and not a.body, a.body
    count = {s['labels']['job']: len(s['timestamps']) for s in e.range('heap')}
    assert count == {'job0': 50, 'job1': 40, 'job2': 50}, count
    assert e.raw({'__name__': 'heap', 'job': 'job1'}, BASE).status == 404
    assert e.raw({'__name__': 'heap', 'job': 'job1'}, BASE + 10 * 15000).status == 200
    assert admin(e, 'clean_tombstones').status == 204
    assert not os.path.exists(os.path.join(block_of(data), 'tombstones'))
    assert len(e.range('heap{job="job1"}')[0]['timestamps']) == 40
    assert e.metric('everprof_tsdb_open_queriers') == 0
    e.finish()
    copy = os.path.join(data, 'snapshots', name)
    assert len(dumped(copy)) == 150 and len(dumped(data)) == 140
    assert run('tsdb', 'verify', copy).returncode == 0


@suite.test
def every_handler_closes_its_querier(d):
    data = make(d)
    e = Everprof(
        d, flags=[f'--storage.tsdb.path={data}', '--storage.tsdb.retention.time=0', '--web.enable-admin-api']
    ).ready()
    asks = [
        (p, q)
        for p in (
            'query_range',
            'query',
            'series',
            'labels',
            'label/job/values',
            'profile_types',
            'targets',
            'status/tsdb',
            'export',
        )
        for q in (
            {},
            {'query': 'heap', 'match[]': 'heap', 'time': BASE, 'from': 0, 'to': 'now'},
            {'query': 'heap', 'time': BASE, 'report': 'top'},
            {'query': '{', 'match[]': '{'},
            {'query': 'heap', 'time': BASE, 'report': 'nonsense'},
        )
    ]
    for path, params in asks:
        status = e.get(f'/api/v1/{path}', **params).status
        assert e.metric('everprof_tsdb_open_queriers') == 0, (path, params, status)
    e.finish()


@suite.test
def exported_profiles_can_be_imported(d):
    data = make(d, series=2, count=30)
    files = os.path.join(d, 'files')
    assert run('tsdb', 'dump', data, f'--output={files}').returncode == 0
    again = os.path.join(d, 'again')
    r = run('tsdb', 'import', files, f'--storage.tsdb.path={again}')
    assert r.returncode == 0 and r.stdout.startswith('60 profiles imported'), r
    assert dumped(again) == dumped(data)


@suite.test
def long_labels_are_exported_and_imported(d):
    """The names of folders are cut, so the files themselves have the labels."""
    e = Everprof(f'{d}/e', flags=['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
    for i, size in enumerate((100, 150, 300, 4000, 60000)):
        pairs = {'__name__': 'memory', 'service_name': 'long', 'tag': f'"{i}' + 'ü' * (size // 2)}
        labels = b''.join(field(1, field(1, k.encode()) + field(2, v.encode())) for k, v in pairs.items())
        body = field(1, labels + field(2, field(1, memory(i + 1, (BASE + i) * 10**6))))
        answer = e.get('/push.v1.PusherService/Push', {'Content-Type': 'application/proto'}, body)
        assert answer.status == 200, answer.body
    tar, files = f'{d}/all.tar', f'{d}/files'
    r = run('query', 'export', '{service_name="long"}', '--from=0', '-o', tar, f'--server={e.url}')
    assert r.returncode == 0, r.stderr
    e.finish()
    want = dumped(e.data)
    assert len(want) == 5
    assert run('tsdb', 'dump', e.data, f'--output={files}').returncode == 0
    for source in (tar, files):
        again = f'{d}/again-{os.path.basename(source)}'
        r = run('tsdb', 'import', source, f'--storage.tsdb.path={again}')
        assert r.returncode == 0, r.stderr
        assert dumped(again) == want, source


@suite.test
def folders_without_a_name_create_no_series(d):
    path = os.path.join(d, f'{BASE}.pb.gz')
    with open(path, 'wb') as f:
        f.write(packed(profile('x')))
    os.makedirs(f'{d}/below')
    for name in (f'../{BASE}.pb.gz', f'./../{BASE}.pb.gz'):
        r = run('tsdb', 'import', name, f'--storage.tsdb.path={d}/data', cwd=f'{d}/below')
        assert r.returncode == 1 and 'unknown profile type' in r.stderr, r
    r = run('tsdb', 'import', path, f'--storage.tsdb.path={d}/data', '--labels=heap{job="x"}')
    assert r.returncode == 0 and dumped(f'{d}/data').keys() == {('heap{job="x"}', BASE)}, r


@suite.test
def many_windows_are_imported_in_few_passes(d):
    tar = os.path.join(d, 'many.tar')
    with tarfile.open(tar, 'w') as t:
        for i in range(300):
            path = os.path.join(d, 'x.pb.gz')
            with open(path, 'wb') as f:
                f.write(packed(profile(str(i))))
            t.add(path, f'app/heap/{BASE + i * 7200000}.pb.gz')
    r = run('tsdb', 'import', tar, f'--storage.tsdb.path={d}/data')
    assert r.returncode == 0 and r.stdout == '300 profiles imported, 0 refused\n', r
    assert len(dumped(f'{d}/data')) == 300


@suite.test
def repair_names_damage_in_the_wal_and_in_head_blocks(d):
    e = Everprof(d, flags=['--web.enable-remote-write-receiver']).ready()
    now = int(time.time() * 1000)
    assert push(e, ({'__name__': 'heap', 'job': 'a'}, [(profile(str(i)), now - i) for i in range(20)])).status == 204
    e.stop(signal.SIGKILL)
    data = os.path.join(d, 'data')
    segment = os.path.join(data, 'wal', '00000001')
    flip(segment, os.path.getsize(segment) // 2)
    assert run('tsdb', 'verify', data).returncode == 1
    r = run('tsdb', 'repair', data)
    assert r.returncode == 1, r
    for command in ('verify', 'repair', 'dump'):
        r = run('tsdb', command, data)
        assert r.returncode == 0, r
    assert len(dumped(data)) == 19
    # The profiles are in a head block now.
    (head,) = os.listdir(os.path.join(data, 'ranges'))
    values = os.path.join(data, 'ranges', head, 'values')
    flip(values, os.path.getsize(values) - 20)
    assert run('tsdb', 'verify', data).returncode == 1
    r = run('tsdb', 'repair', data)
    assert r.returncode == 1 and 'dropping a damaged profile' in r.stderr, r
    assert run('tsdb', 'verify', data).returncode == 0


@suite.test
def damage_sets_the_exit_code(d):
    data = make(d)
    values = os.path.join(block_of(data), 'values', '000001')
    flip(values, os.path.getsize(values) - 100)
    r = run('tsdb', 'dump', data)
    assert r.returncode == 1 and r.stderr, r
    r = run('tsdb', 'repair', data)
    assert r.returncode == 1 and 'profiles lost' in r.stdout, r
    assert run('tsdb', 'repair', data).returncode == 0
    assert run('tsdb', 'dump', data).returncode == 0
    os.remove(os.path.join(block_of(data), 'meta.json'))
    assert run('tsdb', 'repair', data).returncode == 1, 'a block is set aside'


@suite.test
def imported_profiles_are_served(d):
    data = make(d, series=2, count=400)
    e = Everprof(d, flags=[f'--storage.tsdb.path={data}', '--storage.tsdb.retention.time=0']).ready()
    series = e.range('heap')
    assert [len(s['timestamps']) for s in series] == [400, 400]
    for s, labels in enumerate([x['labels'] for x in series]):
        for i in (0, 31, 32, 399):
            body = e.raw(labels, BASE + i * 15000).body
            assert hashlib.sha256(body).digest() == hashlib.sha256(profile(f'{s}.{i}', size=200)).digest()
    tsdb = e.get('/api/v1/status/tsdb').data()
    assert tsdb['blockStats']['numSamples'] == 800, tsdb
    e.finish()


if __name__ == '__main__':
    suite.main()
