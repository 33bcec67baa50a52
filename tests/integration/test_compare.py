#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""everprof compare and report=compare: which of the changes of made profiles are
more than noise, as a table, as Markdown, as JSON, and as an exit code."""
import json
import os
import random
import re

from harness import Everprof, Suite, field, packed, run, varint

suite = Suite()
BEGIN = 1790000000000
PERIOD = 10_000_000
FUNCTIONS = {f'f{i}': 1 / (i + 4) for i in range(30)}
HOSTILE = 'evil|`@user`\n# title'


def cpu_profile(ms, values, unit='nanoseconds'):
    """A CPU profile of 10 s: main calls functions, each sampled so often."""
    strings = ['', 'cpu', unit, 'main', *values]
    out = field(1, b'\x08\x01\x10\x02') + field(11, b'\x08\x01\x10\x02')
    for i, count in enumerate(values.values()):
        if count:
            out += field(2, field(1, varint(i + 2) + varint(1)) + field(2, varint(count * PERIOD)))
    for i in range(len(values) + 1):
        out += field(4, b'\x08' + varint(i + 1) + field(4, b'\x08' + varint(i + 1)))
        out += field(5, b'\x08' + varint(i + 1) + b'\x10' + varint(i + 3))
    for s in strings:
        out += field(6, s.encode())
    return out + b'\x48' + varint(ms * 1000000) + b'\x50' + varint(10_000_000_000) + b'\x60' + varint(PERIOD)


def heap_profile(values):
    """A heap: functions, each with so many bytes in use."""
    strings = ['', 'inuse_space', 'bytes', *values]
    out = field(1, b'\x08\x01\x10\x02')
    for i, size in enumerate(values.values()):
        out += field(2, field(1, varint(i + 1)) + field(2, varint(size)))
        out += field(4, b'\x08' + varint(i + 1) + field(4, b'\x08' + varint(i + 1)))
        out += field(5, b'\x08' + varint(i + 1) + b'\x10' + varint(i + 3))
    for s in strings:
        out += field(6, s.encode())
    return out


def drawn(luck, changed=None, factor=1.0, load=1.0):
    return {
        f: max(0, round(luck.gauss(v := 400 * load * share * (factor if f == changed else 1), v**0.5)))
        for f, share in FUNCTIONS.items()
    }


def write_series(d, job, count, luck, begin=BEGIN, **options):
    os.makedirs(f'{d}/{job}/profile', exist_ok=True)
    for i in range(count):
        ms = begin + 15000 * i
        with open(f'{d}/{job}/profile/{ms}.pb.gz', 'wb') as f:
            f.write(packed(cpu_profile(ms, drawn(luck, **options))))


def stored(d):
    """50 profiles of a, then 50 in which f3 is twice as heavy at half the load; and
    b, which is always the same."""
    luck = random.Random(3)
    write_series(f'{d}/in', 'a', 50, luck)
    write_series(f'{d}/in', 'a', 50, luck, BEGIN + 750000, changed='f3', factor=2, load=0.5)
    write_series(f'{d}/in', 'b', 100, luck)
    os.makedirs(f'{d}/in/a/heap')
    for i in range(100):
        with open(f'{d}/in/a/heap/{BEGIN + 15000 * i}.pb.gz', 'wb') as f:
            f.write(packed(heap_profile({'f': 10 + i, 'g': 1})))
    answer = run('tsdb', 'import', f'{d}/in', f'--storage.tsdb.path={d}/data')
    assert answer.returncode == 0, answer.stderr
    return f'--storage.tsdb.path={d}/data'


def compared(data, selector, *flags, code=0):
    middle = BEGIN + 750000
    answer = run(
        'compare',
        selector,
        data,
        f'--base-from={BEGIN}',
        f'--base-to={middle - 1}',
        f'--from={middle}',
        f'--to={middle + 750000}',
        *flags,
    )
    assert answer.returncode == code, answer
    return answer.stdout


def sure_of(answer):
    return [r['name'] for r in answer['rows'] if r['flat'].get('sure')]


@suite.test
def changes_are_told_from_noise(d):
    data = stored(d)
    answer = json.loads(compared(data, 'profile{job="a"}', '--format=json'))
    assert sure_of(answer) == ['f3'], sure_of(answer)
    row = next(r for r in answer['rows'] if r['name'] == 'f3')
    total = sum(FUNCTIONS.values())
    before, after = FUNCTIONS['f3'] / total, 2 * FUNCTIONS['f3'] / (total + FUNCTIONS['f3'])
    assert abs(row['flat']['a'] / before - 1) < 0.1 and abs(row['flat']['b'] / after - 1) < 0.1, row
    assert row['flat']['agree'] == [1, 1] and row['flat']['p_all'] <= 0.01
    assert answer['profiles'] == [50, 50] and answer['bucket_seconds'] == 30, answer
    # Blocks begin at whole multiples of their length, so the first and the last one may be cut off.
    assert all(n in (25, 26) for n in answer['buckets']), answer['buckets']
    assert not answer['few_buckets'] and not answer['drift'] and answer['kind'] == 'flow'
    # The load has halved, which shares do not see and rates do.
    answer = json.loads(compared(data, 'profile{job="a"}', '--format=json', '--by=rate'))
    assert answer['total']['sure'] and abs(answer['total']['b'] / answer['total']['a'] - 0.5) < 0.1, answer['total']
    assert abs(answer['total']['a'] / (400 * total * PERIOD / 10) - 1) < 0.05, answer['total']
    # Nothing has changed in b, and the same is said twice.
    first = compared(data, 'profile{job="b"}', '--format=json')
    assert sure_of(json.loads(first)) == [] and first == compared(data, 'profile{job="b"}', '--format=json')
    text = compared(data, 'profile{job="a"}')
    assert '1 function changed by more than noise.' in text and text.index(' f3\n') < text.index('-- no more'), text
    assert 'No function changed by more than noise' in compared(data, 'profile{job="b"}')
    # Within a focus, all is of the function, so its share cannot change.
    assert sure_of(json.loads(compared(data, 'profile{job="a"}', '--format=json', '--focus=^f3$'))) == []
    # Memory in use grows, which is a drift: nothing is called a change, and no gate can decide.
    heap = json.loads(compared(data, 'heap{job="a"}', '--format=json'))
    assert heap['drift'] and heap['by'] == 'level' and heap['kind'] == 'state' and sure_of(heap) == [], heap
    assert heap['rows'][0]['name'] == 'f' and 33 < heap['rows'][0]['flat']['a'] < 37, heap['rows']
    compared(data, 'heap{job="a"}', '--fail-on=cum>5%', code=2)
    # Too short a range says so, and calls nothing a change.
    short = json.loads(compared(data, 'profile{job="a"}', '--format=json', '--block=1m'))
    assert short['few_buckets'] and sure_of(short) == [], short


def paths_of(tree, strings):
    """The path of each box, from the outermost frame on, with its numbers."""
    paths = []
    for i, parent in enumerate(tree['parent']):
        paths.append((paths[parent] if parent >= 0 else ()) + (strings[tree['name'][i]],))
    return {p: i for i, p in enumerate(paths)}


def rates_are_those_of_the_table(get):
    """Values in a second of one series, which are half as large after the load has halved."""
    flame = get(report='flamegraph', errors=1, by='rate').data()
    plain = get(report='flamegraph', normalize='rate').data()
    top = get(report='top', normalize='rate', trim='false').data()
    table = {r['name']: r for r in get(report='compare', by='rate').data()['rows']}
    boxes, others = paths_of(flame, flame['strings']), paths_of(plain, plain['strings'])
    assert flame['seconds'] == plain['seconds'] == top['seconds'] == 500, (flame['seconds'], plain['seconds'])
    assert boxes.keys() == others.keys() and abs(flame['total_of'][0] / flame['total_of_a'][0] - 0.5) < 0.1, flame[
        'total_of'
    ]
    of_top = {r['name']: r for r in top['rows']}
    for path, i in boxes.items():
        other = others[path]
        assert flame['total_of_a'][i] == plain['total_of_a'][other], path
        assert abs(flame['total_of'][i] - plain['total_of'][other]) <= 1e-6 * flame['total'], path
        row = table.get(path[-1])
        if row and len(path) > 2:
            before, after = flame['total_of_a'][i], flame['total_of'][i]
            assert abs(before / 500 - row['cum']['a']) <= 1e-3 * row['cum']['a'] + 1, path
            assert abs(after / 500 - row['cum']['b']) <= 1e-3 * row['cum']['b'] + 1, path
            assert (
                of_top[path[-1]]['cum_a'] == before
                and abs(of_top[path[-1]]['cum'] - (after - before)) <= 2e-6 * flame['total']
            ), path
        if row and row['cum'].get('tested') and len(path) > 2:
            assert abs(flame['interval'][i] / (row['cum']['interval'] * 500) - 1) < 1e-3, path


@suite.test
def boxes_of_a_flame_graph_have_error_bars(d):
    stored(d)
    server = Everprof(d, flags=['--storage.tsdb.retention.time=0']).ready()
    middle = BEGIN + 750000

    def get(**params):
        return server.get('/api/v1/query', **{**sides, **params})

    sides = {
        'query_a': 'profile{job="a"}',
        'from_a': BEGIN,
        'to_a': middle - 1,
        'query_b': 'profile{job="a"}',
        'from_b': middle,
        'to_b': middle + 750000,
        'mode': 'diff',
    }
    flame = get(report='flamegraph', errors=1).data()
    plain = get(report='flamegraph', normalize=1).data()
    table = {r['name']: r for r in get(report='compare').data()['rows']}
    # It is the picture of the two sides by share, box by box; scaling rounds.
    boxes, others = paths_of(flame, flame['strings']), paths_of(plain, plain['strings'])
    assert boxes.keys() == others.keys() and flame['total'] == plain['total_of_a'][0], flame['total']
    for path, i in boxes.items():
        assert flame['total_of_a'][i] == plain['total_of_a'][others[path]], path
        assert abs(flame['total_of'][i] - plain['total_of'][others[path]]) <= 1e-6 * flame['total'], path
    # Each function is on one path, so the interval of its box is that of the function.
    sure = {p[-1] for p, i in boxes.items() if flame['sure'][i]}
    assert 'f3' in sure, sure
    for path, i in boxes.items():
        row = table.get(path[-1])
        if row and row['cum'].get('tested') and len(path) > 2:
            assert abs(flame['interval'][i] / (row['cum']['interval'] * flame['total']) - 1) < 1e-3, path
    assert not flame['few_buckets'] and not flame['drift'], flame['few_buckets']
    rates_are_those_of_the_table(get)
    # A graph from one function on, and another way round, have their own verdicts.
    pivot = get(report='flamegraph', errors=1, pivot='^f3$').data()
    assert len(pivot['sure']) == len(pivot['name']) and any(pivot['callers']['sure']), pivot['callers']
    # Memory in use is not compared by share unless that is asked for: the graph has no error bars.
    sides.update({'query_a': 'heap{job="a"}', 'query_b': 'heap{job="a"}'})
    assert 'sure' not in get(report='flamegraph', errors=1).data()
    heap = get(report='flamegraph', errors=1, by='share').data()
    assert heap['drift'] and not any(heap['sure']), heap
    assert 'seconds' not in get(report='flamegraph', normalize='auto').data()
    for more, message in (
        ({'normalize': 'rate'}, 'such as memory in use, have no rate'),
        ({'errors': 1, 'by': 'rate'}, 'such as memory in use, have no rate'),
    ):
        answer = get(report='flamegraph', **more)
        assert answer.status == 400 and message in answer.body.decode(), answer.body
    for more, message in (
        ({'report': 'top'}, 'only for report=flamegraph'),
        ({'report': 'flamegraph', 'by': 'level'}, 'by=share'),
        ({'report': 'flamegraph', 'mode': 'merge'}, 'needs mode=diff'),
    ):
        answer = get(errors=1, **more)
        assert answer.status == 400 and message in answer.body.decode(), answer.body
    sides.update({'query_a': 'profile{job="a"}', 'query_b': 'profile{job="a"}'})
    for more, message in (
        ({'aggregate': 'mean'}, 'use aggregate=auto'),
        ({'from_a': '', 'to_a': '', 'time_a': BEGIN}, 'a time range on both sides'),
    ):
        answer = get(report='flamegraph', normalize='rate', **more)
        assert answer.status == 400 and message in answer.body.decode(), answer.body
    server.finish()


@suite.test
def a_gate_fails_passes_or_cannot_decide(d):
    data = stored(d)
    out = compared(data, 'profile{job="a"}', '--fail-on=flat>20% of ^f3$', code=1)
    assert re.search(r'changed: .*: 1 function, the largest change is that of f3, by \+\d', out), out
    out = compared(data, 'profile{job="a"}', '--fail-on=flat>5pp of ^f9$', code=0)
    assert 'passed:' in out, out
    out = compared(data, 'profile{job="b"}', '--fail-on=flat>1%', code=3)
    assert re.search(r'undecided: .* times as many samples', out), out
    compared(data, 'profile{job="b"}', '--fail-on=flat>1%', '--undecided=pass', code=0)
    # A gate sees all functions, however many rows are wanted.
    compared(data, 'profile{job="b"}', '--fail-on=flat>1%', '--nodecount=1', code=3)
    # f3 has nearly doubled: it is more than 40 %, less than 200 %, and who knows about 88 %.
    for limit, code in (40, 1), (200, 0), (88, 3):
        out = compared(data, 'profile{job="a"}', f'--fail-on=flat>{limit}% of ^f3$', code=code)
    assert 'undecided' in out and 'f3 needs' in out, out
    # A change counts for more than what cannot be decided.
    compared(data, 'profile{job="a"}', '--fail-on=flat>1%', '--fail-on=cum>1pp', code=1)
    compared(data, 'profile{job="a"}', '--by=rate', '--fail-on=total>5%', code=0)
    for flag, message in (
        ('--fail-on=cum', 'must begin with'),
        ('--fail-on=cum>x%', 'a number'),
        ('--fail-on=cum>5', '% or pp'),
        ('--fail-on=cum>5% of (', 'cum>5% of ('),
        ('--fail-on=total>5%', 'add --by=rate'),
        ('--fail-on=cum>5% of ^nowhere$', 'no function'),
        ('--by=weight', 'share, rate or level'),
        ('--alpha=2', 'at most 0.5'),
        ('--format=xml', 'text, markdown or json'),
        ('--undecided=maybe', 'fail or pass'),
        ('--block=0s', 'longer than 0'),
        ('--base-time=now', 'unknown flag'),
    ):
        middle = BEGIN + 750000
        answer = run(
            'compare',
            'profile{job="a"}',
            data,
            f'--base-from={BEGIN}',
            f'--base-to={middle}',
            f'--from={middle}',
            f'--to={middle + 750000}',
            flag,
        )
        assert answer.returncode == 2 and message in answer.stderr, answer
    answer = run('compare', 'profile{job="a"}', data)
    assert answer.returncode == 2 and 'the base is missing' in answer.stderr, answer


@suite.test
def files_are_runs(d):
    luck = random.Random(5)
    write_series(d, 'old', 10, luck)
    write_series(d, 'new', 10, luck, changed='f1', factor=1.5)
    write_series(d, 'few', 4, luck, changed='f1', factor=1.5)
    files = [f'{d}/new/profile/{f}' for f in sorted(os.listdir(f'{d}/new/profile'))]
    answer = run('compare', f'--base-files={d}/old/profile', *files, '--fail-on=flat>5% of ^f1$')
    assert answer.returncode == 1 and '10 files against 10' in answer.stdout, answer
    answer = run('compare', f'--base-files={d}/old/profile', f'{d}/few/profile', '--fail-on=flat>5% of ^f1$')
    assert answer.returncode == 3 and 'Fewer than 5 files' in answer.stdout, answer
    # Values of other units were collected before anybody knew.
    for name, unit in ('ms', 'milliseconds'), ('odd', 'cpu</details>\n\n# @user |'):
        os.makedirs(f'{d}/{name}')
        for i in range(5):
            with open(f'{d}/{name}/{i}.pb.gz', 'wb') as f:
                f.write(packed(cpu_profile(BEGIN + i, {'wo\0rk': 5, **drawn(luck)}, unit)))
    for sides in ('ms', 'old/profile'), ('old/profile', 'ms'):
        answer = run('compare', f'--base-files={d}/{sides[0]}', f'{d}/{sides[1]}')
        assert answer.returncode == 2 and 'different sample types' in answer.stderr, answer
    # Names and units may be anything.
    for form in 'text', 'markdown', 'json':
        answer = run('compare', f'--base-files={d}/odd', f'{d}/odd', f'--format={form}', '--by=rate')
        assert answer.returncode == 0 and ('f3' in answer.stdout or form == 'json'), answer
        assert '@user' not in answer.stdout or form == 'json', answer.stdout
    answer = run('compare', f'--base-files={d}/old/profile', f'{d}/nowhere')
    assert answer.returncode == 2 and 'nowhere' in answer.stderr, answer


@suite.test
def markdown_is_of_the_comparison_alone(d):
    luck = random.Random(7)
    for side, weight in ('old', 100), ('new', 300):
        os.makedirs(f'{d}/{side}')
        for i in range(6):
            values = {**drawn(luck), HOSTILE: weight + i, **{f'long{"x" * 5000}{k}': 50 for k in range(60)}}
            with open(f'{d}/{side}/{i}.pb.gz', 'wb') as f:
                f.write(packed(cpu_profile(BEGIN + i, values)))
    out = run('compare', f'--base-files={d}/old', f'{d}/new', '--format=markdown', '--fail-on=flat>1pp')
    assert out.returncode == 1, out
    assert len(out.stdout.encode()) < 60000 and out.stdout.startswith('**'), len(out.stdout)
    row = next(line for line in out.stdout.splitlines() if 'evil' in line and line.startswith('| '))
    name = row.split('` |')[0]
    assert name.count('`') == 1 and '¦' in name and '#' in name and '|' not in name[2:], row
    assert not [line for line in out.stdout.splitlines() if line.startswith('# ')], out.stdout


@suite.test
def the_api_refuses_what_makes_no_sense(d):
    stored(d)
    os.makedirs(f'{d}/s')
    os.rename(f'{d}/data', f'{d}/s/data')
    e = Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0']).ready()
    sides = {
        'query_a': 'profile{job="a"}',
        'query_b': 'profile{job="a"}',
        'from_a': BEGIN,
        'to_a': BEGIN + 749999,
        'from_b': BEGIN + 750000,
        'to_b': BEGIN + 1500000,
        'report': 'compare',
    }
    answer = e.get('/api/v1/query', mode='diff', **sides)
    assert sure_of(answer.data()) == ['f3'], answer.body[:300]
    assert len(e.get('/api/v1/query', mode='diff', nodecount=5, **sides).data()['rows']) == 5
    for wrong, message in (
        ({'mode': 'merge'}, 'use mode=diff'),
        ({'by': 'x'}, 'share, rate or level'),
        ({'by': 'level'}, 'by=rate'),
        ({'alpha': '0'}, 'alpha'),
        ({'block': 'x'}, 'block'),
        ({'block': '1ms'}, 'a shorter time range'),
        ({'min_samples': '-1'}, 'min_samples'),
        ({'query_a': 'profile{job="z"}'}, 'side a'),
        ({'query_b': 'profile{job="z"}'}, 'side b'),
    ):
        answer = e.get('/api/v1/query', **{'mode': 'diff', **sides, **wrong})
        assert answer.status in (400, 404) and message in answer.json()['error'], (wrong, answer.body)
    answer = e.get(
        '/api/v1/query', query='profile{job="a"}', mode='merge', report='compare', **{'from': 0, 'to': 'now'}
    )
    assert answer.status == 400 and 'two sides' in answer.json()['error'], answer.body
    # Sums of unequal loads are compared by share, unless values are asked for.
    tops = {
        n: e.get('/api/v1/query', **{'mode': 'diff', **sides, 'report': 'top', 'normalize': n}).data()
        for n in ('auto', '1', '')
    }
    assert tops['auto'] == tops['1'] != tops[''], tops
    heaps = {'query_a': 'heap', 'query_b': 'heap', 'report': 'top'}
    heaps = [
        e.get('/api/v1/query', **{'mode': 'diff', **sides, **heaps, 'normalize': n}).data() for n in ('auto', '', '1')
    ]
    assert heaps[0] == heaps[1] != heaps[2], heaps
    single = {
        'query_a': 'profile{job="a"}',
        'query_b': 'profile{job="a"}',
        'time_a': BEGIN,
        'time_b': BEGIN,
        'report': 'compare',
    }
    answer = e.get('/api/v1/query', mode='diff', **single)
    assert answer.status == 400 and 'error bars' in answer.json()['error'], answer.body
    e.finish()


suite.main()
