#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Targets: discovered and relabelled as Prometheus does it, reloaded live."""
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

from harness import (
    HEAP_ALONE,
    ROOT,
    SLOW,
    Everprof,
    Process,
    Server,
    Suite,
    free_port,
    packed,
    profile,
    run,
    send,
    wait_until,
)

suite = Suite()
PROMETHEUS = '/usr/bin/prometheus'

# What Prometheus' documentation and its own test configuration show, as far as
# it is about static, file and HTTP discovery and about relabelling.
EXAMPLES = r'''
global:
  scrape_interval: 15s
  scrape_timeout: 10s
  evaluation_interval: 30s
  external_labels: {monitor: codelab, foo: bar}
rule_files: [none.rules]
scrape_configs:
- job_name: prometheus
  static_configs:
  - targets: ['localhost:9090']
- job_name: labels
  honor_labels: true
  scrape_interval: 50s
  scrape_timeout: 5s
  metrics_path: /metrics
  static_configs:
  - targets: ['localhost:9090', 'localhost:9191', '[::1]:9100']
    labels: {my: label, your: label, empty: ''}
  - targets: ['one.example.org', 'two.example.org:443']
    labels: {job: other, instance: named, __scheme__: https, __hidden: 1}
- job_name: files
  file_sd_configs:
  - files: ['foo/*.slow.json', 'foo/*.slow.yml', 'single/file.yml']
    refresh_interval: 10m
  - files: ['bar/*.yaml']
- job_name: http
  http_sd_configs:
  - url: http://HTTP_SD/targets
    refresh_interval: 1s
- job_name: relabelled
  static_configs:
  - targets: ['a.example:1', 'b.example:2', 'c.example:3', 'd.example:4', 'skip.example:5']
    labels: {__meta_dc: eu-West, __meta_tag_team: red, __meta_tag_tier: web, x: X, y: Y}
  - targets: ['e.example:6']
    labels: {__meta_dc: us-east, foo: foo, meta: m}
  relabel_configs:
  - source_labels: [__meta_dc, __meta_tag_team]
    regex: '(..)-(.*);(.*)'
    target_label: place
    replacement: '${2}.$1 of $3'
  - source_labels: [__address__]
    regex: '([^:]+)(?::\d+)?'
    target_label: host
  - action: labelmap
    regex: __meta_tag_(.+)
  - action: labeldrop
    regex: y|none
  - action: drop
    source_labels: [__address__]
    regex: skip.*
  - action: hashmod
    source_labels: [__address__]
    modulus: 3
    target_label: __tmp_shard
  - action: replace
    source_labels: [__tmp_shard]
    target_label: shard
  - action: lowercase
    source_labels: [__meta_dc]
    target_label: dc
  - action: uppercase
    source_labels: [dc, host]
    separator: '/'
    target_label: loud
  - action: replace
    source_labels: [x]
    regex: (.*)
    target_label: '${1}_too'
    replacement: 'is $1'
- job_name: shard
  static_configs:
  - targets: [h0:1, h1:1, h2:1, h3:1, h4:1, h5:1, h6:1, h7:1, h8:1, h9:1]
  relabel_configs:
  - {source_labels: [__address__], modulus: 4, target_label: __tmp_hash, action: hashmod}
  - {source_labels: [__tmp_hash], regex: '1', action: keep}
- job_name: equal
  static_configs:
  - {targets: [a:1], labels: {port: '1', want: '1'}}
  - {targets: [b:1], labels: {port: '1', want: '2'}}
  relabel_configs:
  - {action: keepequal, source_labels: [port], target_label: want}
- job_name: unequal
  static_configs:
  - {targets: [a:1], labels: {port: '1', want: '1'}}
  - {targets: [b:1], labels: {port: '1', want: '2'}}
  relabel_configs:
  - {action: dropequal, source_labels: [port], target_label: want}
- job_name: labelkeep
  static_configs: [{targets: [a:1], labels: {keep: me, lose: me}}]
  relabel_configs:
  - {action: labelkeep, regex: '__.*|keep|job'}
- job_name: blackbox
  params: {module: [http_2xx, second], debug: ['true']}
  static_configs:
  - targets: ['http://prometheus.io', 'https://prometheus.io:8443/x?y=z', example.com]
  relabel_configs:
  - {source_labels: [__address__], target_label: __param_target}
  - {source_labels: [__param_target], target_label: instance}
  - {target_label: __address__, replacement: '127.0.0.1:9115'}
  - {source_labels: [__param_target], regex: https.*, target_label: __param_module,
     replacement: tls}
- job_name: nothing
  static_configs: [{targets: []}]
  relabel_configs: []
- job_name: times
  static_configs:
  - {targets: [a:1], labels: {__scrape_interval__: 1m, __scrape_timeout__: 3s}}
  relabel_configs:
  - {source_labels: [__scrape_interval__, __scrape_timeout__], target_label: both}
'''

FILES = {
    'foo/a.slow.json': '[{"targets": ["f1:1", "f2:1"], "labels": {"from": "json"}}, '
    '{"targets": []}, {"labels": {"a": "b"}}]',
    'foo/b.slow.yml': '- targets: [f3:1]\n  labels: {from: yaml, n: 3, t: true}\n- targets: [f4:1]\n',
    'foo/c.json': '[{"targets": ["not-matched:1"]}]',
    'single/file.yml': '- targets: [single:1]\n',
    'bar/x.yaml': "# nothing but one\n- {targets: ['bar:1']}\n",
}
GROUPS = [
    {'targets': ['h1:1', 'h2:1'], 'labels': {'__meta_datacenter': 'london', '__meta_prometheus_job': 'node'}},
    {'targets': ['h3:1'], 'labels': {'x': 'ä'}},
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + '.tmp', 'w') as f:
        f.write(text)
    os.rename(path + '.tmp', path)


def ask(url):
    with urllib.request.urlopen(url, timeout=60) as r:
        return json.load(r)['data']


def without(labels, *names):
    return {k: v for k, v in labels.items() if k not in names}


def frozen(labels):
    return tuple(sorted(labels.items()))


def instance(labels):
    """Prometheus 3 does not write :80 and :443 into instance, nor do we."""
    value = labels.get('instance', '')
    for port in (':80', ':443'):
        if value.endswith(port) and '//' not in value:
            return {**labels, 'instance': value[: -len(port)]}
    return labels


def address(url):
    u = urllib.parse.urlsplit(url)
    default = {'http': ':80', 'https': ':443'}[u.scheme]
    host = u.netloc[: -len(default)] if u.netloc.endswith(default) else u.netloc
    return (u.scheme, host, tuple(sorted(urllib.parse.parse_qsl(u.query))))


def whole_url(config, t):
    """Ours: the API hides parameters, which may be secrets; `check relabel` shows them."""
    if '?' not in t['scrapeUrl']:
        return t['scrapeUrl']
    assert t['scrapeUrl'].endswith('?…'), t['scrapeUrl']
    labels = '{__address__=%s}' % json.dumps(t['discoveredLabels']['__address__'])
    out = run('check', 'relabel', config, t['scrapePool'], labels, '--type=heap')
    return re.search(r'url (\S+)', out.stdout)[1]


def as_prometheus(config, active):
    """Ours: a target has several types, which differ in these alone."""
    return {
        (t['scrapePool'], frozen(without(t['labels'], '__name__')), address(whole_url(config, t)))
        for t in active
        if t['labels']['__name__'] == 'heap'
    }


@suite.test
def target_sets_equal_those_of_prometheus(d):
    sd = Server(lambda r: send(r, json.dumps(GROUPS).encode(), Content_Type='application/json'))
    config = EXAMPLES.replace('HTTP_SD', sd.address)
    for name, text in FILES.items():
        write(f'{d}/{name}', text)
    write(f'{d}/everprof.yaml', config)
    port = free_port()
    Process(
        [
            PROMETHEUS,
            f'--config.file={d}/everprof.yaml',
            f'--storage.tsdb.path={d}/prom',
            f'--web.listen-address=127.0.0.1:{port}',
        ],
        f'{d}/prometheus.log',
    )
    e = Everprof(d, config).ready()

    def theirs():
        try:
            t = ask(f'http://127.0.0.1:{port}/api/v1/targets')
        except OSError:
            return None
        # Each job comes when its turn is, files and HTTP last.
        return t if pools <= {a['scrapePool'] for a in t['activeTargets']} else None

    def ours():
        found = {t['scrapePool'] for t in e.targets()}
        return found if {'files', 'http'} <= found else None

    pools = wait_until('our targets', 30, ours)
    want = wait_until('targets of prometheus', 30, theirs, 0.2)
    have = e.get('/api/v1/targets').data()

    expected = {
        (t['scrapePool'], frozen(instance(t['labels'])), address(t['scrapeUrl'])) for t in want['activeTargets']
    }
    # Two targets with the same labels would write one series: ours are one.
    dropped = {
        t['discoveredLabels']['__address__']
        for t in have['droppedTargets']
        if t['reason'].startswith('duplicate target')
    }
    assert dropped == {'two.example.org:443'}, dropped
    expected = {t for t in expected if t[2][1] != 'two.example.org'}
    found = as_prometheus(f'{d}/everprof.yaml', have['activeTargets'])
    assert found == expected, ('only ours', found - expected, 'only theirs', expected - found)
    assert len(expected) > 25

    def discovered(targets):
        return {
            frozen(
                without(t['discoveredLabels'], '__metrics_path__', '__profile_path__', '__name__', '__param_seconds')
            )
            for t in targets
        }

    rules = [t for t in have['droppedTargets'] if t['reason'].startswith('dropped by relabel_configs')]
    same = [t for t in have['droppedTargets'] if t not in rules]
    answer = e.get('/api/v1/targets').body.decode()
    for text in (
        'dropped by relabel_configs rule',
        'duplicate target: after relabelling, another target of the job has the same labels',
        '"__meta_dc":"eu-West"',
    ):
        assert text in answer, text
    # 2.42 writes what rules add over what was discovered: only jobs without rules agree, and
    # of dropped targets their addresses.
    plain = ('prometheus', 'labels', 'files', 'http')
    a = discovered(t for t in have['activeTargets'] + same if t['scrapePool'] in plain)
    b = discovered(t for t in want['activeTargets'] if t['scrapePool'] in plain)
    assert a == b, ('only ours', a - b, 'only theirs', b - a)
    a, b = ({t['discoveredLabels']['__address__'] for t in l} for l in (rules, want['droppedTargets']))
    assert a == b and len(b) > 5, (a, b)
    assert have['droppedTargetCounts']['shard'] == 7 * sum(
        t['discoveredLabels']['job'] == 'shard' for t in want['droppedTargets']
    )
    sd.stop()


class Counter:
    """A target that remembers who asked when."""

    def __init__(self):
        self.asked = {}
        self.server = Server(self.answer)
        self.address = self.server.address

    def answer(self, r):
        path = urllib.parse.urlsplit(r.path).path
        self.asked.setdefault(path, []).append(time.monotonic())
        send(r, packed(profile(path)))


def jobs(*entries):
    return 'global: {scrape_interval: 200ms}\nscrape_configs:\n' + ''.join(
        f'- job_name: {name}\n  profiling_config:\n    path_prefix: /{name}\n'
        f'    pprof_config:\n{HEAP_ALONE}  {rest}\n'
        for name, rest in entries
    )


def pools(e):
    return {t['scrapePool']: t for t in e.targets()}


@suite.test
def reload_keeps_unchanged_jobs(d):
    c = Counter()
    stays = ('stays', f'static_configs: [{{targets: ["{c.address}"]}}]')
    goes = ('goes', f'static_configs: [{{targets: ["{c.address}"]}}]')
    comes = ('comes', f'static_configs: [{{targets: ["{c.address}"], labels: {{new: "1"}}}}]')
    e = Everprof(d, jobs(stays, goes), ['--web.enable-lifecycle']).ready()
    wait_until(
        'scrapes',
        10,
        lambda: len(c.asked.get('/stays/debug/pprof/heap', [])) > 2 and '/goes/debug/pprof/heap' in c.asked,
    )
    last = pools(e)['stays']['lastScrape']

    # A bad file changes nothing, and says all that is wrong with it.
    write(f'{d}/everprof.yaml', 'scrape_configs:\n- job_name: a\n  tarets: []\n  scheme: ftp\n')
    answer = e.get('/-/reload', method='POST')
    text = answer.body.decode()
    assert answer.status == 500 and 'failed to reload config: ' in text, text
    assert (
        '.yaml:3:3: field tarets not found in scrape_config (and 1 more; "everprof check config" lists them all)'
        in text
    ), text
    assert e.metric('everprof_config_last_reload_successful') == 0
    assert set(pools(e)) == {'stays', 'goes'}
    assert 'job_name: goes' in e.get('/api/v1/status/config').data()['yaml']

    write(f'{d}/everprof.yaml', jobs(comes, stays))
    assert e.get('/-/reload', method='PUT').status == 200
    assert e.metric('everprof_config_last_reload_successful') == 1
    now = pools(e)
    assert set(now) == {'stays', 'comes'}
    assert now['stays']['lastScrape'] >= last and now['stays']['health'] == 'up'
    wait_until('the new job', 10, lambda: '/comes/debug/pprof/heap' in c.asked)
    count = len(c.asked['/goes/debug/pprof/heap'])
    before = len(c.asked['/stays/debug/pprof/heap'])
    wait_until('more', 10, lambda: len(c.asked['/stays/debug/pprof/heap']) > before + 5)
    assert len(c.asked['/goes/debug/pprof/heap']) <= count + 1, 'a removed job is left alone'
    assert 'job_name: comes' in e.get('/api/v1/status/config').data()['yaml']

    # SIGHUP does the same.
    write(f'{d}/everprof.yaml', jobs(stays))
    e.child.send_signal(signal.SIGHUP)
    wait_until('reload', 10, lambda: set(pools(e)) == {'stays'})
    assert e.get('/-/reload').status == 405
    c.server.stop()


@suite.test
def reload_and_quit_need_the_lifecycle_flag(d):
    e = Everprof(d, jobs()).ready()
    for path in ('/-/reload', '/-/quit'):
        answer = e.get(path, method='POST')
        assert answer.status == 403 and b'--web.enable-lifecycle' in answer.body, answer.body
    e.finish()
    e = Everprof(d, jobs(), ['--web.enable-lifecycle']).ready()
    assert e.get('/-/quit', method='POST').status == 200
    assert e.child.wait(timeout=60) == 0


@suite.test
def systemd_is_notified(d):
    for address in (f'{d}/notify', f'\0everprof-test-{os.getpid()}'):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(address)
        listener.settimeout(30)
        os.environ['NOTIFY_SOCKET'] = address.replace('\0', '@')
        try:
            e = Everprof(f'{d}/{len(address)}', jobs())
        finally:
            del os.environ['NOTIFY_SOCKET']
        assert listener.recv(1000).startswith(b'READY=1'), 'ready when it answers'
        assert e.get('/-/ready').status == 200
        e.child.send_signal(signal.SIGHUP)
        assert listener.recv(1000).startswith(b'RELOADING=1\nMONOTONIC_USEC=')
        assert listener.recv(1000).startswith(b'READY=1')
        e.child.send_signal(signal.SIGTERM)
        assert listener.recv(1000) == b'STOPPING=1'
        assert e.child.wait(timeout=60) == 0
        listener.close()


@suite.test
def systemd_unit_has_low_exposure(d):
    unit = os.path.join(ROOT, 'examples/everprof.service')
    out = subprocess.run(
        ['systemd-analyze', 'security', '--offline=true', '--threshold=15', '--no-pager', unit],
        capture_output=True,
        text=True,
    )
    assert out.returncode == 0 and 'Overall exposure level' in out.stdout, (out.stdout[-300:], out.stderr)


@suite.test
def changed_configuration_is_reloaded_automatically(d):
    one = ('one', 'static_configs: [{targets: ["127.0.0.1:1"]}]')
    two = ('two', 'static_configs: [{targets: ["127.0.0.1:1"]}]')
    e = Everprof(d, jobs(one), ['--config.auto-reload', '--config.auto-reload-interval=100ms']).ready()
    assert set(pools(e)) == {'one'}
    write(f'{d}/everprof.yaml', jobs(one, two))
    wait_until('reload', 10, lambda: set(pools(e)) == {'one', 'two'})
    write(f'{d}/everprof.yaml', 'nonsense')
    wait_until('refusal', 10, lambda: e.metric('everprof_config_last_reload_successful') == 0)
    assert set(pools(e)) == {'one', 'two'}
    write(f'{d}/everprof.yaml', jobs(two))
    wait_until('reload', 10, lambda: set(pools(e)) == {'two'})
    assert e.text().count('the previous one stays in effect') == 1, 'logged once'


@suite.test
def http_sd_keeps_targets_after_a_failure(d):
    answers = {
        'status': 200,
        'type': 'application/json; charset=utf-8',
        'body': b'[{"targets": ["a:1"]}]',
        'headers': None,
    }

    def answer(r):
        answers['headers'] = dict(r.headers)
        send(r, answers['body'], answers['status'], Content_Type=answers['type'])

    sd = Server(answer)
    e = Everprof(
        d, jobs(('web', f'http_sd_configs: [{{url: "http://{sd.address}/t", ' 'refresh_interval: 100ms}]'))
    ).ready()

    def instances():
        return {t['labels']['instance'] for t in e.targets()}

    def failures():
        return e.metric('everprof_discovery_failures_total') or 0

    wait_until('targets', 10, lambda: instances() == {'a:1'})
    assert answers['headers']['X-Prometheus-Refresh-Interval-Seconds'] == '0.1'
    assert answers['headers']['Accept'] == 'application/json'
    meta = e.targets()[0]['discoveredLabels']
    assert meta['__meta_url'] == f'http://{sd.address}/t', meta
    for change in (
        {'status': 500},
        {'status': 200, 'type': 'text/html'},
        {'type': 'application/json', 'body': b'[{"targets": '},
        {'body': b'{}'},
        {'body': b''},
    ):
        answers.update(change)
        seen = failures()
        wait_until('failures', 10, lambda: failures() > seen + 1)
        assert instances() == {'a:1'}, change
    answers['body'] = b'[{"targets": ["b:1"]}, {"targets": ["c:1"]}]'
    wait_until('new targets', 10, lambda: instances() == {'b:1', 'c:1'})
    answers['body'] = b'[]'
    wait_until('none', 10, lambda: instances() == set())
    sd.stop()


@suite.test
def auto_profile_types_follow_the_profile_list(d):
    """pprof_config: auto, with a target whose index changes, breaks and comes back."""
    names, broken, asked = ['heap', 'cmdline', 'a+b%27c'], [], []

    def answer(r):
        asked.append(r.path)
        if r.path != '/debug/pprof/':
            send(r, packed(profile(r.path)))
        elif broken:
            send(r, broken[0], 500 if broken[0] == b'500' else 200)
        else:
            send(r, ''.join(f"<a href='{n}?debug=1'>{n}</a>" for n in names).encode())

    c = Server(answer)
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: auto\n  scrape_interval: 200ms\n'
        '  profiling_config: {pprof_config: auto}\n'
        f'  static_configs: [{{targets: ["{c.address}"]}}]\n',
    ).ready()

    def types():
        return {t['labels']['__name__']: t['health'] for t in e.targets()}

    wait_until('types', 20, lambda: types() == {'index': 'up', 'heap': 'up', "a+b'c": 'up'})
    odd, heap = e.range('{job="auto"}')
    assert (odd['labels']['__name__'], heap['labels']['__name__']) == ("a+b'c", 'heap')
    assert e.raw(odd['labels'], odd['timestamps'][0]).body == profile('/debug/pprof/a+b%27c')
    assert '/debug/pprof/cmdline' not in asked
    names.append('fresh')
    wait_until('one more', 20, lambda: types().get('fresh') == 'up')
    for page, why in ((b'500', '500 Internal Server Error'), (b'<p>log in', 'the page links no profiles')):
        broken[:] = [page]
        wait_until(
            why, 20, lambda: [1 for t in e.targets() if t['labels']['__name__'] == 'index' and why in t['lastError']]
        )
        assert set(types()) == {'index', 'heap', "a+b'c", 'fresh'}, 'the others go on'
    broken.clear()
    names[:] = ['heap']
    wait_until('fewer', 20, lambda: types() == {'index': 'up', 'heap': 'up'})
    now = e.get('/api/v1/targets/profile', method='POST', query='index{job="auto"}')
    assert now.status == 404 and b'0 targets match' in now.body, now.body
    c.stop()


@suite.test
def added_target_does_not_reschedule_the_others(d):
    """Two thousand targets of a file; those that were there are not asked anew."""
    c = Counter()
    many = [{'targets': [c.address], 'labels': {'n': str(i)}} for i in range(2000)]
    write(f'{d}/t.json', json.dumps(many))
    config = jobs(('many', 'file_sd_configs: [{files: [t.json]}]')).replace('200ms', '1h')
    e = Everprof(d, config).ready()
    wait_until('targets', 30, lambda: len(e.targets()) == 2000)
    due = {t['labels']['n']: t['nextScrape'] for t in e.targets()}
    many.append({'targets': [c.address], 'labels': {'n': 'new'}})
    write(f'{d}/t.json', json.dumps(many))
    wait_until('one more', 30, lambda: len(e.targets()) == 2001)
    later = e.targets()
    # Those whose turn has come may be being scraped.
    now = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(time.time() + 1))
    kept = [t for t in later if t['labels']['n'] in due and due[t['labels']['n']] > now]
    assert len(kept) > 1900
    for t in kept:
        assert t['nextScrape'] == due[t['labels']['n']], t
    c.server.stop()


@suite.test
def check_relabel_shows_each_rule(d):
    write(f'{d}/c.yaml', EXAMPLES.replace('HTTP_SD', '127.0.0.1:1'))
    out = run('check', 'relabel', f'{d}/c.yaml', 'relabelled')
    assert out.returncode == 0, out.stderr
    assert 'rule 5, drop at' in out.stdout and 'the target is dropped' in out.stdout
    out = run('check', 'relabel', f'{d}/c.yaml', 'shard', '{__address__="h1:1"}')
    assert '+ __tmp_hash="' in out.stdout, out.stdout
    out = run('check', 'relabel', f'{d}/c.yaml', 'blackbox', '{__address__="x"}', '--type=profile')
    assert 'target: profile{instance="x",job="blackbox"}' in out.stdout, out.stdout
    assert (
        'url http://127.0.0.1:9115/debug/pprof/profile?debug=true&module=http_2xx&module=second'
        '&seconds=10&target=x\n  interval 15000 ms, timeout 20000 ms'
    ) in out.stdout, out.stdout
    for arguments in (
        ('none',),
        ('shard', '{a=~"b"}'),
        ('shard', 'x{'),
        ('files',),
        ('shard', 'h1:1'),
        ('shard', '--type=none'),
    ):
        out = run('check', 'relabel', f'{d}/c.yaml', *arguments)
        assert out.returncode == 1 and out.stderr, arguments


@suite.test
def check_config_reads_referenced_files(d):
    write(f'{d}/bad.json', '[{"targets": "h:1"}]')
    write(
        f'{d}/c.yaml',
        'scrape_configs:\n- job_name: a\n  metrics_path: /m\n'
        '  basic_auth: {username: u, password_file: none}\n'
        '  file_sd_configs: [{files: [none/*.json, bad.json]}]\n',
    )
    piped = run('check', 'config', '/dev/stdin', input='scrape_configs: [{job_name: a}]')
    assert piped.returncode == 0 and '1 jobs, no errors' in piped.stdout, piped.stderr
    out = run('check', 'config', f'{d}/c.yaml')
    assert out.returncode == 0 and '1 jobs, no errors' in out.stdout, out.stderr
    for why in (
        'c.yaml:3:3: warning: metrics_path is ignored',
        'none: No such file or directory',
        'warning: file_sd_configs in line 5: no file matches',
        'bad.json: targets must be a list',
    ):
        assert why in out.stderr, (why, out.stderr)


@suite.test
def the_api_shows_which_discoveries_fail(d):
    """Each kind of failure: shown while it lasts, and over as soon as the source is mended."""
    answers = {'status': 200}
    sd = Server(lambda r: send(r, b'[{"targets": ["h:1"]}]', status=answers['status'], Content_Type='application/json'))
    write(f'{d}/a.json', '[{"targets": ["h:2"]}]')
    write(f'{d}/b.json', 'x')
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: mixed\n  scrape_interval: 1d\n'
        f'  http_sd_configs: [{{url: "http://u:geheim@{sd.address}/", refresh_interval: 100ms}}]\n'
        '  file_sd_configs:\n  - files: [a.json, b.json]\n'
        '- job_name: plain\n  static_configs: [{targets: []}]\n',
    ).ready()

    def shown():
        text = e.get('/api/v1/targets?state=active').body.decode()
        assert 'geheim' not in text
        return {x['discovery']: x for x in json.loads(text)['data']['discoveries']}

    wait_until('both have answered', 20, lambda: [x['health'] for x in shown().values()] == ['up', 'down'])
    http, files = shown()['http_sd_configs'], shown()['file_sd_configs']
    assert (http['scrapePool'], http['configLine'], http['targets'], http['source'], http['lastError']) == (
        'mixed',
        4,
        1,
        '',
        '',
    ), http
    assert (files['configLine'], files['targets'], files['source']) == (6, 1, f'{d}/b.json'), files
    assert 'b.json:1:1: invalid token' in files['lastError'] and files['lastErrorTime'] > '2020', files
    answers['status'] = 503
    wait_until('a failure', 20, lambda: '503' in shown()['http_sd_configs']['lastError'])
    assert shown()['http_sd_configs']['targets'] == 1
    answers['status'] = 200
    write(f'{d}/b.json', '[]')
    wait_until('all is well', 20, lambda: all(x['health'] == 'up' and not x['lastError'] for x in shown().values()))
    e.finish()


@suite.test
def expanding_discovery_responses_are_limited(d):
    answers = {}
    sd = Server(lambda r: send(r, answers['body'], Content_Type='application/json'))

    def group(targets, labels):
        return json.dumps([{'targets': [f'h{i}:1' for i in range(targets)], 'labels': labels}]).encode()

    answers['body'] = group(1, {})
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: sd\n  scrape_interval: 1d\n'
        f'  http_sd_configs: [{{url: "http://{sd.address}/", refresh_interval: 100ms}}]\n',
    ).ready()
    wait_until('targets', 10, lambda: len(e.targets()) == 7)
    before = e.memory()
    for body, why in (
        (group(1, {f'l{i}': 'x' for i in range(100000)}), 'more than 500 labels'),
        (
            group(100000, {f'l{i}': 'x' for i in range(100)}),
            'because a label of a group counts once for each of its targets',
        ),
        (group(50000, {'l': 'x' * 60000}), 'because a label of a group counts once for each of its targets'),
        (group(1, {'l': 'x' * 70000}), 'the value of l is longer than 65536 bytes'),
        (b'[' + b'{},' * 3000000 + b'{}]', 'more than 500000'),
    ):
        answers['body'] = body
        wait_until(why, 30, lambda: why in e.text())
        assert len(e.targets()) == 7, why
        assert SLOW != 1 or e.memory() < before + 80, (why, e.memory())
    answers['body'] = group(1, {'__param_x': 'y' * 20000})
    wait_until('dropped', 30, lambda: e.targets() == [])
    assert {t['reason'] for t in e.get('/api/v1/targets').data()['droppedTargets']} == {
        "the target's URL is longer than 16384 bytes"
    }
    # Within the bounds of a file, but for every type.
    answers['body'] = group(1000, {'l': 'x' * 60000})
    wait_until('refused', 60, lambda: 'take more than 256 MB' in e.text())
    assert SLOW != 1 or e.memory() < before + 500, e.memory()
    answers['body'] = group(1, {})
    wait_until('scraped again', 30, lambda: 'job is within its limits again' in e.text())
    wait_until('targets again', 30, lambda: [t['lastError'] for t in e.targets()] == [''] * 7)
    # Small ones in masses: what each takes counts, too.
    answers['body'] = group(99000, {})
    wait_until('refused', 60, lambda: e.text().count('take more than 256 MB') == 2)
    assert SLOW != 1 or e.memory() < before + 500, e.memory()
    e.finish()
    sd.stop()


@suite.test
def unreadable_folder_keeps_its_targets(d):
    os.mkdir(f'{d}/now')
    os.symlink('now', f'{d}/targets')
    write(f'{d}/now/t.json', '[{"targets": ["h:1"]}]')
    e = Everprof(d, jobs(('a', 'file_sd_configs: [{files: ["targets/*.json"], ' 'refresh_interval: 200ms}]'))).ready()
    wait_until('targets', 10, lambda: len(e.targets()) == 1)
    os.symlink('targets', f'{d}/loop')
    os.replace(f'{d}/loop', f'{d}/targets')
    wait_until('told', 10, lambda: 'cannot read the folder' in e.text())
    assert len(e.targets()) == 1
    os.unlink(f'{d}/targets')
    wait_until('gone', 10, lambda: e.targets() == [])


suite.main()
