# SPDX-License-Identifier: Apache-2.0
"""Asks as Grafana's data source for Pyroscope does, and reads flame graphs as it does."""
import json

QUERIER = '/querier.v1.QuerierService/'


def call(e, method, body, headers=None, kind='application/json'):
    path = method if method.startswith('/') else QUERIER + method
    headers = {'Content-Type': kind, 'Connect-Protocol-Version': '1', **(headers or {})}
    return e.get(path, data=body, headers=headers, method='POST')


def ask(e, method, **message):
    """The answer to a request, as JSON."""
    answer = call(e, method, json.dumps(message).encode())
    assert answer.status == 200, (method, message, answer.status, answer.body)
    assert answer.headers['Content-Type'] == 'application/json', answer.headers
    return answer.json()


def levels_tree(flame, width=4):
    """{path: numbers} of a flame graph, built as Grafana does: a bar belongs to the bar above that
    contains its begin."""
    names, tree = flame['names'], {}
    above = []
    for level in flame['levels']:
        values = [int(v) for v in level['values']]
        assert len(values) % width == 0
        ends = [0] * (width // 3)
        bars = []
        for i in range(0, len(values), width):
            bar = values[i : i + width]
            begins = [ends[side] + bar[3 * side] for side in range(width // 3)]
            for side, begin in enumerate(begins):
                ends[side] = begin + bar[3 * side + 1]
            side = width // 3 - 1 if bar[-3] else 0  # one that has a weight
            owner = ()
            if above:
                [owner] = [path for path, b, n in above if n[side] and b[side] <= begins[side] < b[side] + n[side]]
            path = (*owner, names[bar[-1]])
            totals = [bar[3 * side + 1] for side in range(width // 3)]
            bars.append((path, begins, totals))
            assert path not in tree, path
            tree[path] = tuple(n for side in range(width // 3) for n in bar[3 * side + 1 : 3 * side + 3])
        above = bars
    return tree
