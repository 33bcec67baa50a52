# SPDX-License-Identifier: Apache-2.0
"""Prometheus beside everprof: the same discoveries, and the targets that both find."""
import json
import os
import urllib.error
import urllib.request

from harness import Process, free_port, wait_until

PROMETHEUS = '/usr/bin/prometheus'
# Labels that only one of the two has by its nature.
OWN = (
    '__metrics_path__',
    '__profile_path__',
    '__name__',
    '__param_seconds',
    '__scrape_native_histograms__',
    '__always_scrape_classic_histograms__',
    '__convert_classic_histograms_to_nhcb__',
)
# The end of a job: nothing is scraped, and all targets differ, because Prometheus shows one of those with the same labels.
# Not for Prometheus 2.42, whose discovered labels change by relabelling.
NOT_SCRAPED = '\n  proxy_url: http://127.0.0.1:9\n  relabel_configs: [{action: labelmap, regex: __meta_(.+)}]'


def configuration(jobs):
    """A configuration of jobs {name: YAML of its discoveries, indented by two}."""
    return 'global: {scrape_interval: 1h, scrape_timeout: 10s}\nscrape_configs:\n' + ''.join(
        f'- job_name: {name}\n{text}\n' for name, text in jobs.items()
    )


class Prometheus(Process):
    def __init__(self, directory, jobs):
        self.port = free_port()
        path = os.path.join(directory, 'prometheus.yml')
        with open(path, 'w') as f:
            f.write(configuration(jobs))
        super().__init__(
            [
                PROMETHEUS,
                f'--config.file={path}',
                f'--storage.tsdb.path={directory}/prometheus',
                f'--web.listen-address=127.0.0.1:{self.port}',
            ],
            os.path.join(directory, 'prometheus.log'),
        )

    def targets(self):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/api/v1/targets', timeout=60) as r:
                return json.load(r)['data']
        except OSError:
            return {'activeTargets': [], 'droppedTargets': []}


def discovered(data, pools, more=()):
    """{(job, labels before relabelling)} of all targets, each profile type once."""
    found = set()
    for t in data['activeTargets'] + data['droppedTargets']:
        labels = t['discoveredLabels']
        if labels['job'] in pools and labels.get('__name__', 'heap') == 'heap':
            found.add(
                (labels['job'], tuple(sorted((k, v) for k, v in labels.items() if k not in OWN and k not in more)))
            )
    return found


def same_targets(everprof, prometheus, jobs, count, newer=(), seconds=60):
    """Wait until both have found `count` targets, the same ones. `newer`: labels that 2.42 lacks."""
    last = {}

    def compare():
        ours = discovered(everprof.get('/api/v1/targets').data(), jobs, newer)
        theirs = discovered(prometheus.targets(), jobs)
        # Of targets with the same final labels, Prometheus shows one; which one is not defined.
        shown = {(job, dict(labels).get('__address__')) for job, labels in theirs}
        more = {t for t in ours - theirs if (t[0], dict(t[1]).get('__address__')) not in shown}
        last.update(ours=more, theirs=theirs - ours, count=len(ours))
        return not more and theirs <= ours and len(ours) == count

    try:
        wait_until(f'the same {count} targets', seconds, compare, 0.2)
    except AssertionError as e:
        text = ''.join(
            f'\n{who}: {job} {dict(labels)}' for who in ('ours', 'theirs') for job, labels in sorted(last.get(who, ()))
        )
        raise AssertionError(f'{e}; {last.get("count")} of ours, and only{text}') from e


def request(url, data=None, method=None, headers=(), context=None):
    """(status, JSON)."""
    body = data.encode() if isinstance(data, str) else json.dumps(data).encode() if data is not None else None
    r = urllib.request.Request(
        url, data=body, method=method, headers={'Content-Type': 'application/json', **dict(headers)}
    )
    try:
        with urllib.request.urlopen(r, timeout=60, context=context) as a:
            return a.status, json.loads(a.read() or b'null')
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read() or b'null')


def wait_ready(what, is_ready):
    """Wait for a server, which may not listen yet."""

    def asked():
        try:
            return is_ready()
        except OSError:
            return False

    wait_until(what, 120, asked, 0.5)


def wait_same(e, p, jobs, at_least):
    """Wait until everprof and Prometheus have found the same targets, and so many; return their number."""
    found = [set(), set()]

    def compare():
        found[:] = [discovered(data, jobs) for data in (e.get('/api/v1/targets').data(), p.targets())]
        return found[0] == found[1] and len(found[0]) >= at_least

    try:
        wait_until(f'the same targets, at least {at_least}', 90, compare, 0.5)
    except AssertionError as error:
        both = ''.join(
            f'\n{who}: {dict(labels)}'
            for who, more in (('ours', found[0] - found[1]), ('theirs', found[1] - found[0]))
            for _, labels in sorted(more)
        )
        raise AssertionError(f'{error}; {len(found[0])} and {len(found[1])}{both}') from error
    return len(found[0])
