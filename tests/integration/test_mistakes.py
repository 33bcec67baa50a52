#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people type wrongly: every answer says what is wrong and what to do
instead, and nothing is written, shown or added up by mistake."""
import json
import os
import subprocess
import time

from certs import Authority
from harness import Everprof, Server, Suite, free_port, heap_job, packed, profile, run, send, varint, wait_until
from pprof_peer import ENV, PPROF
from query_data import ALL, CORPUS_BEGIN, corpus
from users import hashed, rewrite

suite = Suite()


def refused(*argv, code=(1, 2), **options):
    r = run(*argv, **options)
    assert r.returncode in code, (argv, r)
    return r.stderr


def says(text, *parts):
    for part in parts:
        assert part in text, (part, text)


@suite.test
def mistyped_commands_and_flags_get_suggestions(d):
    text = refused('serv')
    says(text, 'unknown command "serv"', 'did you mean everprof serve?')
    assert len(text.splitlines()) == 1, text
    says(refused('query', 'topp'), 'did you mean everprof query top?')
    says(refused('qurey', 'top', 'heap'), 'unknown command "qurey"', 'did you mean everprof query top?')
    says(refused('serv', 'everprof.yaml'), 'did you mean everprof serve?')
    says(refused('zzzzzz'), 'everprof --help lists all commands')
    says(refused('serve', '--config-file=x'), 'did you mean --config.file?')
    says(refused('serve', '../everprof.yaml'), 'unexpected argument "../everprof.yaml"')
    says(refused('query', 'top'), 'SELECTOR is missing')
    says(refused('query', 'diff', 'heap'), 'the base is missing', '--base-from')
    says(refused('query', 'diff', 'heap', '--time=now'), 'the base is missing')
    says(refused('query', 'diff', 'heap', '--base-time=now', '--base-from=now-1h'), '--base-time', '--base-from')
    says(refused('report', 'flame', 'x'), 'unknown report "flame"', 'flamegraph', 'speedscope')
    says(refused('querry'), 'did you mean everprof query?')
    says(refused('query', 'top', 'heap', '--top=5'), 'did you mean --nodecount?')
    says(refused('query', 'top', 'heap', '--since=now-1h'), 'did you mean --from?')
    says(refused('record', '-d', '5'), 'invalid duration "5": add a unit, such as 5s')
    says(
        refused('check', 'selector', 'heap{job=app}'),
        '1:10: parse error: expected a quoted label value, such as job="app"',
    )
    for argv in ('help', 'serve'), ('--help', 'serve'), ('serve', '--help'):
        assert run(*argv).stdout.startswith('usage: everprof serve [FLAGS]\n'), argv
    says(run('help', 'query').stdout, 'query top')
    says(run('help', 'query', 'top').stdout, 'usage: everprof query top SELECTOR')
    says(refused('help', 'serv'), 'did you mean everprof serve?')


@suite.test
def files_of_other_kinds_are_named(d):
    path, folded = f'{d}/p.pb.gz', f'{d}/x.folded'
    with open(path, 'wb') as f:
        f.write(packed(profile('a')))
    for argv in ('report', path), ('report', path, path):
        says(refused(*argv), f'there is no report {path}: try everprof report top {path}')
    says(refused('report', 'top'), 'FILE is missing')
    says(refused('report', 'flame'), 'unknown report "flame"')
    with open(folded, 'w') as f:
        f.write('main;run 3\nmain 1\n')
    says(refused('report', 'top', folded), 'not a profile', 'look like folded stacks')
    with open(folded, 'w') as f:
        f.write('something else\n')
    says(refused('report', 'top', folded), 'not a profile', 'expected a profile in a format that pprof reads')
    # The name of the output must not promise another format.
    for argv, format in (
        (('report', 'svg', path), 'PNG'),
        (('report', 'top', path), 'SVG'),
        (('record', '-d', '1s'), 'PDF'),
        (('query', 'flamegraph', 'heap'), 'JPEG'),
        (('query', 'profile', 'heap'), 'SVG'),
        (('query', 'export', 'heap'), 'HTML'),
    ):
        out = f'{d}/x.{format.lower()}'
        says(refused(*argv, '-o', out), f'--output={out}: the output is ', f', not {format}')
        assert not os.path.exists(out)
    for argv in ('report', 'top', path), ('record', '-d', '1s'):
        says(refused(*argv, '-o', f'{d}/none/x'), 'none/x: No such file or directory')
        says(refused(*argv, '-o', d), 'is a folder')


@suite.test
def credentials_are_asked_for_where_they_belong(d):
    rewrite(f'{d}/web.yml', f'basic_auth_users: {{u: "{hashed("secret")}"}}\n')
    rewrite(f'{d}/http.yml', 'basic_auth: {username: u, password: wrong}\n')
    e = Everprof(f'{d}/e', flags=[f'--web.config.file={d}/web.yml'])
    wait_until('the server', 30, lambda: 'everprof is ready' in e.text())
    says(refused('query', 'labels', f'--server={e.url}'), 'authentication is required', '--http.config.file')
    text = refused('query', 'labels', f'--server={e.url}', f'--http.config.file={d}/http.yml')
    says(text, 'does not accept the user and password', f'{d}/http.yml')
    rewrite(f'{d}/http.yml', 'basic_auth: {username: u, password: secret}\n')
    assert run('query', 'labels', f'--server={e.url}', f'--http.config.file={d}/http.yml').returncode == 0
    # A password in the address is not repeated.
    text = refused('query', 'labels', f'--server={e.url.replace("//", "//u:hidden@")}')
    assert 'hidden' not in text and '401' in text, text
    e.finish()


@suite.test
def configurations_say_what_was_probably_meant(d):
    def check(text, code=0):
        rewrite(f'{d}/c.yaml', text)
        r = run('check', 'config', f'{d}/c.yaml')
        assert r.returncode == code, r
        return r.stderr.replace(f'{d}/', '')

    jobs = 'scrape_configs:\n- job_name: a\n'
    says(
        check(jobs + '  static_config: []\n', 1),
        'c.yaml:3:3: field static_config not found',
        'did you mean static_configs?',
    )
    says(
        check(jobs + '  profiling_config: {pprof_config: {cpu: {enabled: true}}}\n', 1),
        'profile type cpu needs a path',
        'did you mean profile?',
    )
    says(check('remote_write:\n- url: http://central:10902\n'), 'c.yaml:2:8: warning: ', '/api/v1/write')
    says(check('remote_write:\n- url: http://central:10902/\n'), '/api/v1/write')
    assert not check('remote_write:\n- url: http://central:10902/api/v1/write\n')
    says(check('ebpf:\n  interval: 5s\n'), 'c.yaml:2:3: warning: ', 'does nothing without "enabled: true"')
    assert 'does nothing' not in check('ebpf:\n  enabled: false\n  interval: 5s\n')
    # Files that cannot be read: where they are named, or where the section begins.
    text = check(
        jobs + '  basic_auth: {username: u, password_file: none/p}\n'
        '- job_name: b\n  basic_auth:\n    username: u\n    password_file: none/p\n'
        '  file_sd_configs:\n  - files:\n    - none/x.json\n'
        'remote_write:\n- url: http://x/w\n  authorization: {credentials_file: none/c}\n'
    )
    for at in 'c.yaml:3:44: warning: job a', 'c.yaml:7:20: warning: job b', 'c.yaml:13:37: warning: remote_write':
        says(text, at)
    assert 'c.yaml:10:7: warning: ' in text and 'none/x.json' in text, text
    text = refused('serve', f'--storage.tsdb.path={d}/data', cwd=d)
    says(text, 'there is no file everprof.yaml', '--config.file=FILE', 'static_configs')
    assert not os.path.exists(f'{d}/data')
    _, e = corpus(f'{d}/corpus')
    says(refused('query', 'top', 'cpu{}', '--from=0', f'--server={e.url}'), 'did you mean profile?')
    e.finish()


@suite.test
def a_file_without_a_time_gets_no_labels_of_folders(d):
    os.mkdir(f'{d}/qs')
    with open(f'{d}/qs/heap.pb.gz', 'wb') as f:
        f.write(packed(profile('a') + varint(9 << 3) + varint(1700000000 * 10**9)))
    argv = 'tsdb', 'import', f'{d}/qs/heap.pb.gz', f'--storage.tsdb.path={d}/data'
    says(refused(*argv), 'unknown profile type', '--labels')
    r = run(*argv, '--labels=heap{job="a"}')
    assert r.returncode == 0 and r.stdout == '1 profiles imported, 0 refused\n', r


@suite.test
def an_import_that_finds_nothing_fails(d):
    data = f'--storage.tsdb.path={d}/data'
    r = run('tsdb', 'import', f'{d}/none', data)
    assert r.returncode == 1 and r.stderr.splitlines() == [f'everprof: {d}/none: No such file or directory'], r
    assert not r.stdout, r
    os.mkdir(f'{d}/empty')
    e = Everprof(f'{d}/e').ready()
    r = run('tsdb', 'import', f'{d}/empty', f'--storage.tsdb.path={e.data}')
    assert r.returncode == 1 and len(r.stderr.splitlines()) == 1 and 'no profiles' not in r.stderr and not r.stdout, r
    e.finish()
    r = run('tsdb', 'import', f'{d}/empty', data)
    assert r.returncode == 1 and 'no profiles found' in r.stderr and r.stdout == '0 profiles imported, 0 refused\n', r


@suite.test
def failed_starts_name_the_flag_and_write_nothing(d):
    config = f'{d}/c.yaml'
    open(config, 'w').close()
    taken = Server(lambda r: send(r, b''))
    flags = (f'--config.file={config}', f'--storage.tsdb.path={d}/data')
    for flag, parts in (
        ('--storage.tsdb.retention.size=10gx', ('--storage.tsdb.retention.size', '10gx')),
        ('--web.listen-address=127.0.0.1:80000', ('port 80000 is above 65535',)),
        ('--web.listen-address=nowhere', ('--web.listen-address', 'host:port')),
        (f'--web.listen-address={taken.address}', (f'--web.listen-address={taken.address}', 'Address already in use')),
    ):
        says(refused('serve', *flags, flag), *parts)
        assert not os.path.exists(f'{d}/data'), flag
    taken.stop()
    # In lower case it is the same size.
    e = Everprof(f'{d}/e', flags=['--storage.tsdb.retention.size=10gb']).ready()
    assert 'is so small' not in e.text()
    r = run('tsdb', 'snapshot', e.data)
    assert r.returncode == 1 and 'POST /api/v1/admin/tsdb/snapshot' in r.stderr, r
    e.finish()
    e = Everprof(f'{d}/e', flags=['--storage.tsdb.retention.size=1MB']).ready()
    says(e.text(), '--storage.tsdb.retention.size is so small')
    e.finish()
    assert 'larger than the file system' not in e.text()
    e = Everprof(f'{d}/e', flags=['--storage.tsdb.retention.size=1000000TB']).ready()
    says(e.text(), '--storage.tsdb.retention.size is larger than the file system', 'file_system_bytes=')
    e.finish()


@suite.test
def tools_refuse_foreign_folders(d):
    other = f'{d}/pictures'
    os.makedirs(other)
    with open(f'{other}/cat.jpg', 'w') as f:
        f.write('a cat')
    for tool in (('verify',), ('repair',), ('stats',), ('list',), ('snapshot',), ('dump',), ('recode',)):
        argv = ('tsdb', *tool, other)
        says(refused(*argv), 'not an everprof data directory')
        says(refused('tsdb', *tool, f'{d}/nowhere'), 'nowhere')
        assert os.listdir(other) == ['cat.jpg'], argv
        assert not os.path.exists(f'{d}/nowhere'), argv


@suite.test
def unreachable_and_foreign_servers_are_reported(d):
    port = free_port()
    says(
        refused('query', 'top', 'heap', f'--server=http://127.0.0.1:{port}'),
        'is an everprof server running at this address (--server)?',
    )
    stranger = Server(lambda r: send(r, b'{"status":"success","data":[]}', Content_Type='application/json'))
    for argv in (
        ('query', 'top', 'heap'),
        ('query', 'labels'),
        ('query', 'series', 'heap'),
        ('query', 'range', 'heap'),
    ):
        r = run(*argv, f'--server=http://{stranger.address}')
        says(r.stderr, 'not as everprof')
        assert r.returncode == 1 and not r.stdout, r
    stranger.stop()
    _, e = corpus(d)
    says(refused('query', 'labels', f'--server=https://127.0.0.1:{e.port}'), 'did you mean http?')
    e.finish()
    # A server of TLS closes a connection that does not begin with a handshake.
    authority = Authority(d)
    cert, key = authority.sign('server', 'IP:127.0.0.1')
    web = f'{d}/web.yml'
    with open(web, 'w') as f:
        f.write(f'tls_server_config: {{cert_file: {cert}, key_file: {key}}}\n')
    e = Everprof(f'{d}/tls', flags=[f'--web.config.file={web}'])
    wait_until('it listens', 30, lambda: f'url=https://127.0.0.1:{e.port}/' in e.text())
    says(refused('query', 'labels', f'--server=http://127.0.0.1:{e.port}'), 'did you mean https?')
    e.finish()


@suite.test
def queries_without_matches_explain_why(d):
    _, e = corpus(d)
    server = f'--server={e.url}'
    says(refused('query', 'labels', 'joob', server), 'no series has a label "joob"')
    says(refused('query', 'top', 'heap', '--from=0', '--unit=parsecs', server), 'unknown unit "parsecs"', 'MB')
    says(
        refused('query', 'top', '{job="prometheus"}', '--from=0', server),
        'different sample types',
        'select one profile type, such as heap{',
    )
    r = run('query', 'top', 'heap', '--from=0', '--focus=nosuch', server)
    assert r.returncode == 0 and 'focus expression matched no samples' in r.stderr, r
    says(
        refused('query', 'top', 'heap', '--time=1970-01-01T00:00:00Z', server),
        'no profile matches this selector within 5 minutes',
    )
    for selector, why in (
        ('heep', 'the stored profile types are allocs, block, goroutine, heap, mutex, ' 'profile, threadcreate\n'),
        ('heap{joob="x"}', 'no series has a label "joob"\n'),
        ('heap{job="nope"}', 'no series has job="nope"\n'),
        ('heap{job=~"n.*e"}', 'no series has job=~"n.*e"\n'),
        # Each label is there, or may be absent: there is nothing to say.
        ('heap{job!="etcd",joob=""}', 'Z\n'),
    ):
        for flag in ('--time=now', '--from=now-1h'):
            text = refused('query', 'top', selector, flag, server)
            assert text.startswith('everprof: no profile matches this selector ') and text.endswith(why), text
    # The flag that was typed is named, not the parameter that it becomes.
    says(refused('query', 'diff', 'heap', '--base-from=2x', '--base-to=now', server), '--base-from: invalid time "2x"')
    a = e.get('/api/v1/query', mode='diff', query_a='heap', time_a=0, query_b='heap', time_b=0)
    assert a.status == 404 and 'side a (the base)' in a.json()['error'], a.body
    e.finish()


@suite.test
def empty_database_is_reported(d):
    e = Everprof(d).ready()
    says(refused('query', 'top', 'heap', f'--server={e.url}'), 'no profile is stored yet')
    e.finish()
    r = run('tsdb', 'stats', e.data)
    assert r.returncode == 0 and 'no tables of disk usage yet' in r.stdout and 'CODEC' not in r.stdout, r


@suite.test
def import_warns_of_old_and_missing_profiles(d):
    """A profile older than serve keeps, files of other names, a foreign owner."""

    def imported(ms, name='heap'):
        folder = f'{d}/{ms}/job/{name}'
        os.makedirs(folder)
        with open(f'{folder}/{ms}.pb.gz', 'wb') as f:
            f.write(packed(profile('a')))
        return run('tsdb', 'import', f'{d}/{ms}', f'--storage.tsdb.path={d}/data')

    now = int(time.time() * 1000)
    assert not imported(now - 1000).stderr
    r = imported(1400000000000)
    assert r.returncode == 0 and '2014-05-13T16:53:20.000Z' in r.stderr, r
    says(r.stderr, '--storage.tsdb.retention.time (default 90d)', 'set it to 0')
    r = imported('no-time')
    assert 'no profiles found' in r.stderr and '<job>/<type>/<unix ms>.pb.gz' in r.stderr, r
    # The time is the profile's own: field 9, time_nanos.
    with open(f'{d}/now.pb.gz', 'wb') as f:
        f.write(packed(profile('b') + varint(9 << 3) + varint(now * 1000000)))
    r = run('tsdb', 'import', f'{d}/now.pb.gz', f'--storage.tsdb.path={d}/own', '--labels=heap{job="own"}')
    assert r.returncode == 0 and not r.stderr, r
    if os.geteuid() == 0:
        os.chown(f'{d}/data/lock', 65534, 65534)
        for argv in (('import', f'{d}/{now}'), ('repair', f'{d}/data'), ('snapshot', f'{d}/data')):
            r = run('tsdb', *argv, *((f'--storage.tsdb.path={d}/data',) if argv[0] == 'import' else ()))
            assert r.returncode == 1 and "setpriv --reuid=65534" in r.stderr, r
        assert run('tsdb', 'verify', f'{d}/data').returncode == 0, 'reading is for everybody'


@suite.test
def verify_accepts_a_running_server(d):
    e = Everprof(d, '', flags=['--storage.tsdb.retention.time=0']).ready()
    r = run('tsdb', 'verify', e.data)
    assert r.returncode == 0 and ': 0 problems' in r.stdout, r
    says(e.text(), 'no scrape jobs are configured', 'everprof.yaml')
    r = run('query', 'series', 'heap', f'--server={e.url}')
    assert r.returncode == 0 and not r.stdout and 'no series matches' in r.stderr, r
    e.finish()


@suite.test
def query_range_prints_readable_times(d):
    _, e = corpus(d)
    line = run('query', 'range', 'heap{job="etcd"}', '--from=0', f'--server={e.url}').stdout
    assert line.startswith('heap{job="etcd"}\t1795232202289\t2026-11-21T03:36:42.289Z\n'), line
    e.finish()


@suite.test
def query_delete_counts_first_and_deletes_with_yes(d):
    series, plain = corpus(d)
    count = len(series['prometheus/heap'])
    plain.finish()
    e = Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0', '--web.enable-admin-api']).ready()
    argv = ('query', 'delete', 'heap{job="prometheus"}', f'--server={e.url}')
    r = run(*argv)
    assert r.returncode == 0 and r.stdout.splitlines() == [
        f'{count:10}  heap{{job="prometheus"}}',
        f'{count:10}  profiles would be deleted; add --yes to delete them',
    ], r
    first = e.range('heap')
    r = run(*argv, f'--to={CORPUS_BEGIN - 10 ** 7}', '--yes')
    assert r.stdout == f'{0:10}  profiles deleted\n', r
    assert e.range('heap') == first
    r = run(*argv, '--yes')
    assert r.stdout.endswith(f'{count:10}  profiles deleted\n'), r
    assert [s['labels']['job'] for s in e.range('heap')] == [
        s['labels']['job'] for s in first if s['labels']['job'] != 'prometheus'
    ]
    assert run(*argv).stdout == f'{0:10}  profiles would be deleted; add --yes to delete them\n'
    says(refused('query', 'delete', f'--server={e.url}'), 'SELECTOR is missing')
    e.finish()
    plain = Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0']).ready()
    says(refused('query', 'delete', 'heap', '--yes', f'--server={plain.url}'), '--web.enable-admin-api')
    plain.finish()


@suite.test
def web_config_reports_each_missing_file_once(d):
    path = f'{d}/web.yml'
    with open(path, 'w') as f:
        f.write('tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n')
    lines = refused('check', 'web-config', path).splitlines()
    assert [line.split('open ')[1] for line in lines] == [
        f'{d}/{name}: No such file or directory' for name in ('cert.pem', 'key.pem')
    ], lines


@suite.test
def unknown_paths_answer_404(d):
    e = Everprof(d).ready()
    a = e.get('/api/v2/query')
    assert a.status == 404 and 'path not found' in a.json()['error'], a.body
    a = e.get('/graph', headers={'Accept': 'text/html,*/*;q=0.8'})
    assert a.status == 404 and a.headers['Content-Type'].startswith('text/html'), a.headers
    assert b'class=error' in a.body and b'path not found' in a.body
    e.finish()


@suite.test
def go_tool_pprof_shows_errors(d):
    """Of an error it shows the status alone, but for text that says it is for it."""
    _, e = corpus(d)
    r = subprocess.run(
        [PPROF, '-top', f'{e.url}/api/v1/query?query=heaps&time=now'],
        capture_output=True,
        text=True,
        env=ENV,
        timeout=120,
    )
    assert r.returncode and 'no profile matches this selector' in r.stderr, r.stderr
    a = e.get('/api/v1/query', query='heaps', time='now')
    assert a.status == 404 and a.json()['errorType'] == 'not_found', a.body
    e.finish()


@suite.test
def output_files_respect_the_umask(d):
    _, e = corpus(d)
    for mask, mode in ((0o022, 0o644), (0o077, 0o600)):
        path = f'{d}/heap.{mask}.pb.gz'
        r = run(
            'query',
            'profile',
            'heap{job="etcd"}',
            '--from=0',
            '-o',
            path,
            f'--server={e.url}',
            preexec_fn=lambda mask=mask: os.umask(mask),
        )
        assert r.returncode == 0, r
        assert os.stat(path).st_mode & 0o777 == mode, oct(os.stat(path).st_mode)
    e.finish()


@suite.test
def query_time_finds_the_nearest_profile(d):
    series, e = corpus(d)
    files = series['prometheus/heap']
    times = [int(os.path.basename(f).split('.')[0]) for f in files]
    query = {'query': 'heap{job="prometheus"}', 'report': 'raw'}

    def found(time, **more):
        a = e.get('/api/v1/query', **query, time=time, **more)
        return int(a.headers['X-Everprof-Timestamp']) if a.status == 200 else a.status

    last = times[-1]
    assert found(last + 60000) == last, 'an earlier one is nearest'
    assert found(times[0] - 60000) == times[0], 'a later one is nearest'
    assert found(times[3] + 1) == times[3] and found(times[3] - 1) == times[3]
    assert found(last + 60000, match='after') == 404 and found(last + 60000, match='exact') == 404
    assert found(last + 60000, match='before') == last
    assert found(last + 6 * 60000) == 404, 'five minutes and no more'
    assert e.get('/api/v1/query', **query, time=last, match='soon').status == 400
    # From and to without a mode are many profiles; the header says how many.
    both = {'query': 'heap{job="prometheus"}', 'report': 'top'}
    merged = e.get('/api/v1/query', **both, **ALL)
    assert e.get('/api/v1/query', **both, **{'from': 0, 'to': 'now'}).body == merged.body
    assert int(merged.headers['X-Everprof-Profiles']) == len(files)
    delta = e.get('/api/v1/query', **both, aggregate='delta', **ALL)
    assert int(delta.headers['X-Everprof-Profiles']) == len(files), 'profiles, not runs'
    e.finish()


@suite.test
def steps_end_at_the_end_of_the_range(d):
    _, e = corpus(d)
    first = CORPUS_BEGIN
    for span, step, count in ((60, 60, 1), (120, 60, 2), (121, 60, 3), (30, 60, 1)):
        rows = e.get(
            '/api/v1/query_range',
            query='heap{job="prometheus"}',
            step=step,
            **{'from': first, 'to': first + span * 1000},
        ).data()
        assert len(rows[0]['timestamps']) == count, (span, rows[0]['timestamps'])
    e.finish()


@suite.test
def implausible_configurations_are_reported(d):
    config = f'{d}/c.yaml'

    def check(text):
        with open(config, 'w') as f:
            f.write('scrape_configs:\n' + text)
        r = run('check', 'config', config)
        assert r.returncode == 0, r
        return r.stdout + r.stderr

    says(check("- job_name: a\n  static_configs: [{targets: ['127.0.0.1']}]\n"), 'port')
    assert 'port' not in check("- job_name: a\n  static_configs: [{targets: ['127.0.0.1:80']}]\n")
    says(
        check(
            "- job_name: a\n  profiling_config: {pprof_config: {profile: {delta: true}}}\n"
            "  static_configs: [{targets: ['a:1']}]\n"
        ),
        'delta',
    )
    says(
        check(
            "- job_name: a\n  profiling_config: {pprof_config: {trace: {path: /debug/pprof/trace}}}\n"
            "  static_configs: [{targets: ['a:1']}]\n"
        ),
        'trace',
    )


@suite.test
def wal_damage_is_reported_in_every_response(d):
    """A merge over profiles that cannot be read any more: what is left, a
    warning, a metric, a log line; nothing left is an error, never a 404."""
    served = {'n': 0}

    def handler(request):
        if 'broken' in served:
            send(request, b'', status=503)
            return
        served['n'] += 1
        send(request, packed(profile(f'p{served["n"]}', served['n'], size=2000)))

    target = Server(handler)
    e = Everprof(d, 'scrape_configs:\n' + heap_job('app', [target.address], '200ms', '150ms')).ready()
    wait_until('15 heaps', 30, lambda: sum(len(r['timestamps']) for r in e.range('heap')) >= 15)
    # Connections that are open outlive the stop of the server, and scrapes that have begun still store profiles.
    served['broken'] = True
    wait_until('no more profiles', 30, lambda: {t['health'] for t in e.targets()} == {'down'})
    query = {'query': 'heap', 'mode': 'merge', 'from': 0, 'to': 'now', 'report': 'top'}
    whole = e.get('/api/v1/query', **query)
    assert whole.status == 200 and not whole.headers['X-Everprof-Warning']
    count = int(whole.headers['X-Everprof-Profiles'])
    wal = [os.path.join(e.data, 'wal', f) for f in os.listdir(os.path.join(e.data, 'wal')) if f.isdigit()]
    assert len(wal) == 1, wal
    size = os.path.getsize(wal[0])
    used = len(open(wal[0], 'rb').read().rstrip(b'\0'))
    with open(wal[0], 'r+b') as f:
        f.seek(used // 3)
        f.write(bytes(used // 3))
    assert os.path.getsize(wal[0]) == size
    part = e.get('/api/v1/query', **query)
    assert part.status == 200 and int(part.headers['X-Everprof-Profiles']) < count
    left_out = part.headers['X-Everprof-Warning']
    assert 'could not be read and are left out' in left_out, left_out
    assert part.json()['warnings'] == [left_out]
    assert e.metric('everprof_tsdb_profiles_damaged_total') > 0
    assert 'could not be read' in e.text(), e.text()
    r = run('query', 'top', 'heap', '--from=0', f'--server={e.url}')
    assert 'everprof: warning: ' in r.stderr and 'are left out' in r.stderr, r
    with open(wal[0], 'r+b') as f:
        f.seek(4096 if used > 8192 else 512)
        f.write(bytes(used - (4096 if used > 8192 else 512)))
    times = e.range('heap')[0]['timestamps']
    a = e.get('/api/v1/query', **{**query, 'from': times[-2], 'to': times[-1]})
    assert a.status == 500 and 'damaged' in a.json()['error'], (a.status, a.body)
    assert json.loads(a.body)['status'] == 'error'
    e.stop()
    target.stop()


suite.main()
