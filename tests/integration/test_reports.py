#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report and option of docs/querying.md against numbers that are computed
here, from profiles that are made here."""
import gzip
import io
import json
import re
import shutil
import tarfile

from harness import Suite
from query_data import served
from report_data import (
    ADDRESSES,
    BEGIN,
    FUNCTIONS,
    MINUTE,
    STACKS,
    Decoded,
    Profile,
    Sample,
    asked,
    calls,
    flat_and_cum,
    folded,
    folded_of,
    frames,
    made_cpu,
    made_heap,
    names,
    shop,
    text_of,
    top_of,
    write,
)

suite = Suite()


@suite.test
def top_lists_functions_by_weight(d):
    profiles, e = shop(d)
    stacks = folded(profiles, 0)
    want = flat_and_cum(stacks)
    data = asked(e, report='top').data()
    assert data['total'] == sum(stacks.values())
    assert (data['sample_type'], data['unit']) == ('samples', 'count')
    assert {r['name']: (r['flat'], r['cum']) for r in data['rows']} == want
    assert all(r['file'] == FUNCTIONS[r['name']][0] for r in data['rows'])
    for sort, column in (('flat', 0), ('cum', 1)):
        for count in (0, 1, 3, 100):
            rows = asked(e, report='top', sort=sort, nodecount=count).data()['rows']
            got = [(r['flat'], r['cum'])[column] for r in rows]
            assert got == sorted((v[column] for v in want.values()), reverse=True)[: count or None], (sort, count, got)
    # The other type, by name, by number, and because it is the default.
    for index in ('cpu', '1', ''):
        data = asked(e, report='top', sample_index=index).data()
        assert data['unit'] == 'nanoseconds' and data['total'] == 10000000 * sum(stacks.values())
    for fraction in (0.1, 0.3, 0.9):
        rows = asked(e, report='top', nodefraction=fraction).data()['rows']
        least = int(sum(stacks.values()) * fraction)
        assert {r['name'] for r in rows} == {k for k, v in want.items() if v[1] >= least}, fraction
    assert top_of(e, nodefraction=0.9) == want  # trim=false


def table_of(text):
    """Rows of pprof's table: [(flat, flat%, sum%, cum, cum%, name)]."""
    lines = text.split('cum%\n')[1].splitlines()
    return [tuple(x.split(None, 5)) for x in lines]


@suite.test
def tables_are_of_text(d):
    profiles, e = shop(d)
    stacks = folded(profiles, 0)
    total, want, sofar = sum(stacks.values()), flat_and_cum(stacks), 0
    text = text_of(e, 'top', format='text')
    assert 'Type: samples\n' in text and f'100% of {total} total' in text, text
    for flat, percent, sums, cum, cums, name in table_of(text):
        name = name.replace(' (inline)', '')
        assert (int(flat), int(cum)) == want[name]
        sofar += int(flat)
        for got, part in ((percent, int(flat)), (sums, sofar), (cums, int(cum))):
            assert abs(float(got[:-1]) - 100 * part / total) < 0.51 * 10 ** -(
                len(got.split('.')[1]) - 1 if '.' in got else 0
            ), (name, got, part)
    # Text alone is divided, as by pprof.
    for row in table_of(text_of(e, 'top', format='text', divide_by=10)):
        flat = want[row[5].replace(' (inline)', '')][0]
        assert abs(int(row[0]) - flat / 10) < 1, row
    assert top_of(e, divide_by=10) == want
    # Units, and percentages of what a filter leaves.
    for unit, scale, tail in (('ms', 10, 'ms'), ('s', 0.01, 's'), ('us', 10000, 'us')):
        for row in table_of(text_of(e, 'top', format='text', sample_index='cpu', unit=unit)):
            flat = want[row[5].replace(' (inline)', '')][0]
            assert (
                row[0] == '0'
                if not flat
                else (row[0].endswith(tail) and abs(float(row[0][: -len(tail)]) - flat * scale) < 0.006)
            ), (unit, row)
    some = {k: v for k, v in stacks.items() if 'db.query' in k}
    rows = table_of(text_of(e, 'top', format='text', focus=r'db\.query', relative_percentages=1))
    whole = {r[5]: r[4] for r in rows}
    assert whole['db.query'] == '100%', rows
    rows = table_of(text_of(e, 'top', format='text', focus=r'db\.query'))
    percent = {r[5]: float(r[4][:-1]) for r in rows}['db.query']
    assert abs(percent - 100 * sum(some.values()) / total) < 0.01, percent


@suite.test
def tree_and_peek_have_callers_and_callees(d):
    profiles, e = shop(d)
    stacks = folded(profiles, 0)
    want, edges = flat_and_cum(stacks), calls(stacks)
    for report, shown, params in (
        ('tree', set(want), {'edgefraction': 0}),
        ('peek', {'db.query', 'db.scan'}, {'symbol': r'^db\.'}),
        ('peek', {'main.main'}, {'symbol': 'main.main'}),
    ):
        text, seen, context = text_of(e, report, **params), {}, set()
        for block in re.split(r'-{20,}\+-+\n', text)[2:]:
            lines = [[x.strip() for x in line.split('|')] for line in block.splitlines() if line]
            at = [i for i, (left, _) in enumerate(lines) if len(left.split()) == 5]
            if not at:
                continue
            name = lines[at[0]][1].replace(' (inline)', '')
            flat, _, _, cum, _ = lines[at[0]][0].split()
            seen[name] = (int(flat), int(cum))
            for i, (left, other) in enumerate(lines):
                if i != at[0]:
                    other = other.replace(' (inline)', '')
                    pair = (other, name) if i < at[0] else (name, other)
                    context.add((*pair, int(left.split()[0])))
        assert seen == {k: want[k] for k in shown}, (report, seen)
        assert context == {(a, b, v) for (a, b), v in edges.items() if a in shown or b in shown}, (report, context)


@suite.test
def traces_have_every_sample_with_its_labels(d):
    profiles, e = shop(d, 2)
    want = {}
    for p in profiles:
        for s in p.samples:
            key = names(s.stack), tuple(sorted(s.labels))
            want[key] = want.get(key, 0) + s.values[0]
    for params, hidden in (({}, ()), ({'taghide': 'tenant'}, ('tenant',)), ({'tagshow': 'tenant'}, ('bytes',))):
        got = {}
        for block in re.split(r'-{11}\+-+\n', text_of(e, 'traces', **params))[1:]:
            lines = block.splitlines()
            labels = [x.split(':')[0].strip() for x in lines if re.match(r' *\w+:  ', x)]
            stack = [x for x in lines if not re.match(r' *\w+:  ', x)]
            if not stack:
                continue
            value, leaf = stack[0].split(None, 1)
            path = [x.strip().replace(' (inline)', '') for x in [leaf, *stack[1:]]]
            key = tuple(reversed(path)), tuple(sorted(labels))
            got[key] = got.get(key, 0) + int(value)
        shown = {}
        for (stack, labels), v in want.items():
            key = stack, tuple(x for x in labels if x not in hidden)
            shown[key] = shown.get(key, 0) + v
        assert got == shown, (params, set(got) ^ set(shown))


def trie_of(stacks):
    """{path: (self, total)} of all prefixes of the stacks."""
    nodes = {}
    for stack, v in stacks.items():
        for i in range(len(stack) + 1):
            own, total = nodes.get(stack[:i], (0, 0))
            nodes[stack[:i]] = own + (v if i == len(stack) else 0), total + v
    return nodes


def paths_of(flame):
    """[path] of the nodes of a flame graph."""
    paths = []
    for i, parent in enumerate(flame['parent']):
        assert parent < i, 'a caller stands before what it calls'
        name = flame['strings'][flame['name'][i]]
        paths.append(() if parent < 0 else paths[parent] + (name,))
    return paths


@suite.test
def flame_graphs_are_tries_of_stacks(d):
    profiles, e = shop(d)
    stacks = folded(profiles, 0)
    assert folded_of(e) == stacks
    flame = asked(e, report='flamegraph', max_nodes=0).data()
    paths, want = paths_of(flame), trie_of(stacks)
    assert len(paths) == len(set(paths)) and set(paths) == set(want)
    for path, own, total, file in zip(paths, flame['self'], flame['total_of'], flame['file']):
        assert (own, total) == want[path], path
        assert flame['strings'][file] == (FUNCTIONS[path[-1]][0] if path else ''), path
    # Depth first: what a node calls stands before its next sibling.
    assert all(a == b or a[: len(b) - 1] == b[:-1] for a, b in zip(paths, paths[1:]))
    for most in (1, 3, 5, 8):
        few = asked(e, report='flamegraph', max_nodes=most).data()
        assert sum(few['self']) == few['total_of'][0] == flame['total'] == few['total']
        kept = [p for p in paths_of(few) if '(other)' not in p]
        assert len(kept) <= most + 1 and set(kept) <= set(want), (most, kept)
    svg = text_of(e, 'flamegraph', format='text')
    assert svg.startswith('<svg') and all(name in svg for name in FUNCTIONS)
    scope = json.loads(text_of(e, 'speedscope'))
    shared = [f['name'] for f in scope['shared']['frames']]
    one, got = scope['profiles'][0], {}
    for stack, weight in zip(one['samples'], one['weights']):
        key = tuple(shared[i] for i in stack)
        got[key] = got.get(key, 0) + weight
    assert got == stacks and one['endValue'] - one['startValue'] == sum(stacks.values())


@suite.test
def call_graphs_and_sources_have_the_same_numbers(d):
    profiles, e = shop(d)
    stacks = folded(profiles, 0)
    want, dot = flat_and_cum(stacks), text_of(e, 'dot', trim='false')
    nodes, got = {}, {}
    for i, name, flat, cum in re.findall(
        r'^(N\d+) \[label="(\S+?)\\n(\d+) \([\d.]+%\)(?:\\nof (\d+) [^"]*)?" ', dot, re.M
    ):
        nodes[i], got[name] = name, (int(flat), int(cum or flat))
    assert got == want, (got, dot)
    edges = {(nodes[a], nodes[b]): int(v) for a, b, v in re.findall(r'^(N\d+) -> (N\d+) \[label=" (\d+)', dot, re.M)}
    assert edges == calls(stacks)
    svg = asked(e, report='svg')
    assert svg.status == (200 if shutil.which('dot') else 501), svg.status
    if svg.status == 501:
        assert svg.json()['errorType'] == 'unimplemented'
    # By line: flat where a stack ends, cum where it passes.
    lines = {}
    for stack, v in folded(profiles, 0, shown=lambda s: tuple(frames(s))).items():
        for name, _, line in set(stack):
            flat, cum = lines.get((name, line), (0, 0))
            lines[name, line] = flat + (v if stack[-1][0::2] == (name, line) else 0), cum + v
    text, routine, got = text_of(e, 'source', symbol='.', trim='false'), None, {}
    for line in text.splitlines():
        match = re.match(r'ROUTINE =+ (\S+) in (\S+)$', line)
        if match:
            routine = match[1]
            assert match[2] == FUNCTIONS[routine][0]
        match = re.match(r' *(\d+|\.) +(\d+|\.) +(\d+):', line)
        if match and (match[1], match[2]) != ('.', '.'):
            got[routine, int(match[3])] = tuple(0 if x == '.' else int(x) for x in match.groups()[:2])
    assert got == lines, {k: (got.get(k), lines.get(k)) for k in set(got) | set(lines) if got.get(k) != lines.get(k)}


@suite.test
def profiles_come_back_as_they_were_or_merged(d):
    profiles, e = shop(d)
    body = profiles[1].encode()
    single = {'mode': 'single', 'time': BEGIN + MINUTE, 'from': '', 'to': ''}
    raw = asked(e, report='raw', **single)
    assert raw.body == body and raw.headers['X-Everprof-Timestamp'] == str(BEGIN + MINUTE)
    assert json.loads(raw.headers['X-Everprof-Labels']) == {'__name__': 'profile', 'job': 'shop'}
    for value, want, status in (
        ('bytes=0-9', body[:10], 206),
        ('bytes=5-', body[5:], 206),
        ('bytes=-7', body[-7:], 206),
        ('bytes=9-2', body, 200),
        (f'bytes={len(body)}-', b'', 416),
        ('lines=1-2', body, 200),
    ):
        a = asked(e, report='raw', headers={'Range': value}, **single)
        assert (a.status, a.body) == (status, want), (value, a.status, a.body[:100])
    a = asked(e, report='raw', headers={'If-None-Match': raw.headers['ETag']}, **single)
    assert a.status == 304 and not a.body
    assert gzip.decompress(asked(e, report='proto', **single).body) == body
    meta = asked(e, report='meta', **single).data()
    assert [(t['type'], t['unit'], t['total']) for t in meta['sampleTypes']] == [
        (t, u, sum(s.values[i] for s in profiles[1].samples)) for i, (t, u) in enumerate(profiles[1].types)
    ]
    assert (meta['bytes'], meta['samples'], meta['durationNanos'], meta['period']) == (
        len(body),
        len(profiles[1].samples),
        10**10,
        10**7,
    )
    # Many: sums by stack and labels; filters hold for proto, too.
    a = asked(e, report='proto')
    assert (a.headers['X-Everprof-Profiles'], a.headers['X-Everprof-Series']) == ('4', '1')
    for index in (0, 1):
        assert Decoded(gzip.decompress(a.body)).folded(index) == folded(profiles, index)
    some = Decoded(gzip.decompress(asked(e, report='proto', focus=r'db\.').body))
    assert some.folded(0) == folded(profiles, 0, lambda s: 'db.query' in names(s.stack))
    a = asked(e, report='pgo', sample_index='')
    pgo = Decoded(gzip.decompress(a.body))
    assert pgo.folded(len(pgo.types) - 1) == folded(profiles, 1)
    assert not pgo.addresses and not any(labels for _, labels, _ in pgo.samples)
    assert pgo.start_lines == {k: v[1] for k, v in FUNCTIONS.items() if k in pgo.start_lines}
    tar = e.get('/api/v1/export', query='profile', **{'from': BEGIN, 'to': BEGIN + 2 * MINUTE})
    with tarfile.open(fileobj=io.BytesIO(tar.body)) as t:
        got = sorted((m.name.rsplit('/', 1)[1], gzip.decompress(t.extractfile(m).read())) for m in t)
    assert got == [(f'{BEGIN + i * MINUTE}.pb.gz', profiles[i].encode()) for i in range(3)]


def cut(stack, index):
    return stack[index:] if index is not None else ()


def where(stack, wanted, last=False):
    found = [i for i, name in enumerate(stack) if re.search(wanted, name)]
    return None if not found else found[-1] if last else found[0]


@suite.test
def filters_leave_out_samples_and_frames(d):
    profiles, e = shop(d)

    def matching(pattern):
        return lambda s: any(re.search(pattern, f[0]) or re.search(pattern, f[1]) for f in frames(s.stack))

    def only(pattern, keep):
        return lambda stack: tuple(n for n in names(stack) if bool(re.search(pattern, n)) == keep)

    for params, keep, shown in (
        ({'focus': r'db\.scan'}, matching(r'db\.scan'), names),
        ({'focus': '/go/runtime/malloc'}, matching('malloc'), names),
        ({'focus': '/bin/shop'}, lambda s: True, names),  # the mapping
        ({'ignore': r'runtime\.'}, lambda s: not matching(r'runtime\.')(s), names),
        ({'focus': 'web', 'ignore': 'decode'}, lambda s: matching('web')(s) and not matching('decode')(s), names),
        ({'hide': r'runtime\.'}, lambda s: True, only(r'runtime\.', False)),
        ({'hide': 'db.scan'}, lambda s: True, only('db.scan', False)),
        ({'show': r'^(main|db)\.'}, lambda s: True, only(r'^(main|db)\.', True)),
        (
            {'show_from': r'web\.serve'},
            lambda s: True,
            lambda stack: cut(names(stack), where(names(stack), r'web\.serve')),
        ),
        (
            {'show_from': r'html\.render'},
            lambda s: True,
            lambda stack: cut(names(stack), where(names(stack), r'html\.render')),
        ),
        (
            {'prune_from': r'^web\.serve$'},
            lambda s: True,
            lambda stack: names(stack)[: (where(names(stack), r'^web\.serve$') or len(names(stack)) - 1) + 1],
        ),
        ({'tagfocus': 'tenant=red'}, lambda s: s.labels.get('tenant') == 'red', names),
        ({'tagfocus': 'tenant=red|blue'}, lambda s: 'tenant' in s.labels, names),
        ({'tagfocus': 'tenant:b'}, lambda s: s.labels.get('tenant') == 'blue', names),
        ({'tagfocus': 'bytes=4kb'}, lambda s: 'bytes' in s.labels, names),
        ({'tagfocus': 'bytes=1kb:64kb'}, lambda s: 'bytes' in s.labels, names),
        ({'tagfocus': 'bytes=5kb:'}, lambda s: False, names),
        ({'tagignore': 'tenant=red'}, lambda s: s.labels.get('tenant') != 'red', names),
        ({'tagignore': 'bytes=:4096b'}, lambda s: 'bytes' not in s.labels, names),
        ({'noinlines': 1}, lambda s: True, lambda stack: tuple(x[0][0] for x in stack)),
    ):
        got, want = folded_of(e, **params), folded(profiles, 0, keep, shown)
        assert got == want, (params, got, want)
        assert top_of(e, **params) == flat_and_cum(want), params
    # Labels as frames: those of samples, and those of series.
    want = {}
    for p in profiles:
        for s in p.samples:
            key = (s.labels.get('tenant', '<unknown>'), *names(s.stack))
            want[key] = want.get(key, 0) + s.values[0]
    assert folded_of(e, tagroot='tenant') == want
    want = {('shop', *k): v for k, v in folded(profiles, 0).items()}
    assert folded_of(e, group_by='job') == want
    # A filter without a match is told.
    a = asked(e, report='top', focus='no such name')
    assert a.data()['rows'] == [] and 'focus' in a.json()['warnings'][0]


@suite.test
def frames_are_told_apart_as_finely_as_is_asked(d):
    profiles, e = shop(d)
    forms = {
        'functions': lambda f: f[0],
        'filefunctions': lambda f: f'{f[0]} {f[1]}',
        'files': lambda f: f[1],
        'lines': lambda f: f'{f[0]} {f[1]}:{f[2]}',
    }
    for granularity, form in forms.items():

        def shown(stack):
            return tuple(form(f) for f in frames(stack))

        want = folded(profiles, 0, shown=shown)
        assert folded_of(e, granularity=granularity) == want, granularity
        assert top_of(e, granularity=granularity) == flat_and_cum(want), granularity

    def addressed(stack):
        return tuple(f'{ADDRESSES[x]:016x} {f[0]} {f[1]}:{f[2]}' for x in stack for f in x)

    assert folded_of(e, granularity='addresses') == folded(profiles, 0, shown=addressed)


@suite.test
def means_are_by_the_first_type(d):
    profiles = [
        Profile(
            [('contentions', 'count'), ('delay', 'nanoseconds')],
            [Sample(STACKS[k], {}, (k + i + 1, (k + 2) * 1000 + i)) for k in range(8)],
            10**9,
        )
        for i in range(3)
    ]
    write(d, 'shop', 'mutex', {BEGIN + i * MINUTE: p for i, p in enumerate(profiles)})
    e = served(d, f'{d}/in')
    counts, delays = (flat_and_cum(folded(profiles, i)) for i in (0, 1))
    got = top_of(e, query='mutex', sample_index='delay', mean=1)
    assert got == {k: tuple(b and b // a for a, b in zip(counts[k], delays[k])) for k in counts}, got


def heaps(seed):
    """Eight heaps of a server that restarts after the third and the fifth."""
    out, total = [], {}
    for i in range(8):
        if i in (3, 5):
            total = {}
        for k in range(6):
            total[k] = total.get(k, 0) + (seed * 7 + i * 13 + k * 5) % 11 + 1
        out.append(made_heap({k: (v, (seed + i * 3 + k) % 9) for k, v in total.items()}))
    return out


def half_up(sums, n):
    return {k: v for k, v in ((k, (2 * v + n) // (2 * n)) for k, v in sums.items()) if v}


def added(*dicts):
    out = {}
    for x in dicts:
        for k, v in x.items():
            out[k] = out.get(k, 0) + v
    return {k: v for k, v in out.items() if v}


def less(a, b):
    return added(a, {k: -v for k, v in b.items()})


@suite.test
def kinds_add_up_as_they_should(d):
    series = {job: heaps(seed) for seed, job in enumerate(('a', 'b'), 1)}
    for job, profiles in series.items():
        write(d, job, 'heap', {BEGIN + i * MINUTE: p for i, p in enumerate(profiles)})
    e = served(d, f'{d}/in')

    def grown(profiles):
        sums = [folded([p], 0) for p in profiles]
        return added(less(sums[2], sums[0]), sums[4], sums[7])

    wants = {
        (0, 'auto'): grown,
        (0, ''): grown,
        (0, 'delta'): grown,
        (0, 'sum'): lambda v: folded(v, 0),
        (1, 'sum'): lambda v: folded(v, 1),
        (1, 'auto'): lambda v: half_up(folded(v, 1), 8),
        (1, 'mean'): lambda v: half_up(folded(v, 1), 8),
        (0, 'mean'): lambda v: half_up(folded(v, 0), 8),
        (0, 'last'): lambda v: folded(v[-1:], 0),
        (1, 'last'): lambda v: folded(v[-1:], 1),
    }
    for (index, how), want in wants.items():
        for selector, jobs in (('heap{job="a"}', 'a'), ('heap{job="b"}', 'b'), ('heap', 'ab')):
            got = folded_of(e, query=selector, sample_index=index, aggregate=how)
            assert got == added(*(want(series[j]) for j in jobs)), (index, how, selector, got)
    a = asked(e, query='heap{job="a"}', sample_index='0', report='top', to=BEGIN)
    assert a.status == 404 and a.json()['errorType'] == 'not_found'
    assert 'aggregate=sum' in a.json()['error']


@suite.test
def differences_are_b_less_a(d):
    profiles, e = shop(d)
    sides = {
        'mode': 'diff',
        'query_a': 'profile',
        'query_b': 'profile',
        'mode_a': 'merge',
        'from_a': BEGIN,
        'to_a': BEGIN + MINUTE,
        'time_b': BEGIN + 3 * MINUTE,
    }
    a, b = folded(profiles[:2], 0), folded(profiles[3:], 0)
    assert folded_of(e, **sides) == less(b, a)
    want = flat_and_cum(less(b, a))
    got = {k: v for k, v in top_of(e, **sides).items() if v != (0, 0)}
    assert got == {k: v for k, v in want.items() if v != (0, 0)}, (got, want)
    got = top_of(e, drop_negative=1, **sides)
    assert not any(flat < 0 or cum < 0 for flat, cum in got.values()), got
    flame = asked(e, report='flamegraph', max_nodes=0, **sides).data()
    ta, tb = trie_of(a), trie_of(b)
    for path, *got in zip(paths_of(flame), flame['self_a'], flame['total_of_a'], flame['self'], flame['total_of']):
        assert tuple(got) == ta.get(path, (0, 0)) + tb.get(path, (0, 0)), (path, got)
    # The base's samples are kept apart.
    apart = Decoded(gzip.decompress(asked(e, report='proto', diff='diff_base', **sides).body))
    base = [s for s in apart.samples if s[1].get('pprof::base') == 'true']
    assert added(*({s[0]: -s[2][0]} for s in base)) == a
    assert added(*({s[0]: s[2][0]} for s in apart.samples if s not in base)) == b
    # Scaled: B has A's total, but for rounding of each sample.
    got = asked(e, report='flamegraph', max_nodes=0, normalize=1, **sides).data()
    assert got['total_of_a'][0] == sum(a.values())
    assert abs(got['total_of'][0] - sum(a.values())) <= len(profiles[3].samples)
    # Both totals are equal, so nothing is to be scaled.
    same = {**sides, 'from_a': BEGIN + 3 * MINUTE, 'to_a': BEGIN + 3 * MINUTE + 1}
    got = asked(e, report='top', normalize=1, **same).data()
    assert got['total_a'] == got['total_b'] == sum(b.values()), got
    assert set(top_of(e, normalize=1, **same).values()) <= {(0, 0)}, got


@suite.test
def totals_over_time(d):
    cpu = {job: [made_cpu(seed * 100 + i, 5, 10 + i) for i in range(6)] for seed, job in enumerate(('a', 'b'))}
    heap = {job: heaps(seed) for seed, job in enumerate(('a', 'b'))}
    for job in 'ab':
        # The fourth minute of a has no profile.
        write(d, job, 'profile', {BEGIN + i * MINUTE: p for i, p in enumerate(cpu[job]) if (job, i) != ('a', 3)})
        write(d, job, 'heap', {BEGIN + i * MINUTE: p for i, p in enumerate(heap[job])})
    e = served(d, f'{d}/in')

    def ranged(query, **params):
        return e.get('/api/v1/query_range', query=query, **{'from': BEGIN, 'to': BEGIN + 8 * MINUTE, **params}).data()

    def total(p, i):
        return sum(s.values[i] for s in p.samples)

    rows = {r['labels']['job']: r for r in ranged('profile', totals=1)}
    assert list(rows) == ['a', 'b']
    for job, row in rows.items():
        there = [i for i in range(6) if (job, i) != ('a', 3)]
        assert row['timestamps'] == [BEGIN + i * MINUTE for i in there]
        assert row['totals'] == {
            'samples/count': [total(cpu[job][i], 0) for i in there],
            'cpu/nanoseconds': [total(cpu[job][i], 1) for i in there],
        }
    assert [set(r) for r in ranged('profile')] == [{'labels', 'timestamps'}] * 2
    assert len(ranged('profile', limit=1)) == 1
    # Flows: sums of two minutes, or by the seconds that were profiled.
    for rate in (0, 1):
        (row,) = ranged('profile{job="b"}', step='2m', rate=rate)
        want = [
            sum(total(cpu['b'][i], 0) for i in pair) / (sum(10 + i for i in pair) if rate else 1)
            for pair in ((0, 1), (2, 3), (4, 5))
        ]
        got = row['totals']['samples/count']
        assert all(abs(x - y) < 1e-9 * y for x, y in zip(got, want)) and got[3:] == [None], (rate, got, want)
        assert row['timestamps'] == [BEGIN + i * 2 * MINUTE for i in range(4)]
        assert row['kinds'] == {'samples/count': 'flow', 'cpu/nanoseconds': 'flow'}
    (row,) = ranged('profile', step=60, group_by='__name__')
    assert row['labels'] == {'__name__': 'profile'}
    assert (
        row['totals']['samples/count']
        == [sum(total(cpu[j][i], 0) for j in 'ab' if (j, i) != ('a', 3)) for i in range(6)] + [None] * 2
    )
    # Counters: what they grew by; states: the mean of a step.
    for job in 'ab':
        counts = [total(p, 0) for p in heap[job]]
        grown = [0] + [b - a if b >= a else b for a, b in zip(counts, counts[1:])]
        (row,) = ranged(f'heap{{job="{job}"}}', step='2m')
        assert row['totals']['alloc_space/bytes'] == [grown[i] + grown[i + 1] for i in (0, 2, 4, 6)], (row, grown)
        assert row['totals']['inuse_space/bytes'] == [
            (total(heap[job][i], 1) + total(heap[job][i + 1], 1)) / 2 for i in (0, 2, 4, 6)
        ]
        assert row['kinds'] == {'alloc_space/bytes': 'counter', 'inuse_space/bytes': 'state'}
        (row,) = ranged(f'heap{{job="{job}"}}', step='2m', rate=1)
        assert all(
            abs(x - (grown[i] + grown[i + 1]) / 120) < 1e-9
            for x, i in zip(row['totals']['alloc_space/bytes'], (0, 2, 4, 6))
        )
    # Profiles by a function that they have.
    for pattern in ('scan', 'decode', '^main.main$', 'no such'):
        got = {r['labels']['job']: r['timestamps'] for r in ranged('profile', function=pattern)}
        want = {
            job: [
                BEGIN + i * MINUTE
                for i in range(6)
                if (job, i) != ('a', 3)
                and any(re.search(pattern, n) for s in cpu[job][i].samples for n in names(s.stack))
            ]
            for job in 'ab'
        }
        assert got == {k: v for k, v in want.items() if v}, pattern


suite.main()
