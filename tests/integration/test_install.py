#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed, and packaged: it is all there, it works from where it is,
and manual page and completions know every command and flag."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess

from harness import BINARY, ROOT, Everprof, Suite, heap_job, run, wait_until

suite = Suite()
BUILD = os.path.dirname(BINARY)


def done(argv, **options):
    r = subprocess.run(argv, capture_output=True, text=True, timeout=300, **options)
    assert r.returncode == 0, (argv, r.stdout, r.stderr)
    return r.stdout


def installed(d):
    done(['cmake', '--install', BUILD, '--prefix', f'{d}/usr'])
    return f'{d}/usr'


def commands():
    """{command: its flags}, as --help lists them."""
    names = re.findall(r'^  (\S+(?: \S+)?)  +\S', run('--help').stdout, re.M)
    assert len(names) > 25, names
    return {
        name: re.findall(r'^  --(?:\[no-\])?([a-z0-9_.-]+)', run(*name.split(), '--help').stdout, re.M)
        for name in names
    }


@suite.test
def install_is_complete_and_runs(d):
    prefix = installed(d)
    for path in (
        'bin/everprof',
        'share/man/man1/everprof.1',
        'lib/systemd/system/everprof.service',
        'share/bash-completion/completions/everprof',
        'share/zsh/vendor-completions/_everprof',
        'share/fish/vendor_completions.d/everprof.fish',
        'share/doc/everprof/README.md',
        'share/doc/everprof/docs/configuration.md',
        'share/doc/everprof/copyright',
        'share/doc/everprof/examples/everprof.yaml',
    ):
        assert os.path.getsize(f'{prefix}/{path}'), path
    unit = open(f'{prefix}/lib/systemd/system/everprof.service').read()
    assert f'\nExecStart={prefix}/bin/everprof serve ' in unit, unit
    unit = open(f'{prefix}/lib/systemd/system/everprof-agent.service').read()
    assert f'\nExecStart={prefix}/bin/everprof agent ' in unit, unit
    assert done([f'{prefix}/bin/everprof', 'version']).startswith('everprof ')
    done([f'{prefix}/bin/everprof', 'check', 'config', f'{prefix}/share/doc/everprof/examples/everprof.yaml'])


@suite.test
def the_program_does_not_name_the_folder_that_it_was_built_in(d):
    """Not in its eBPF program or its debug information either: equal sources make equal programs."""
    with open(BINARY, 'rb') as f:
        program = f.read()
    for folder in (ROOT, BUILD):
        at = program.find(folder.encode())
        assert at < 0, program[at : at + 200].split(b'\0')[0]


@suite.test
def manual_page_has_every_command_and_flag(d):
    page = open(f'{installed(d)}/share/man/man1/everprof.1').read()
    sections = dict(re.findall(r'^\.SS "([^\n]*)"\n(.*?)(?=^\.S[SH])', page.replace('\\-', '-'), re.M | re.S))
    for command, flags in commands().items():
        text = [t for line, t in sections.items() if line.split(' ')[: command.count(' ') + 1] == command.split(' ')]
        assert text, command
        for flag in flags:
            assert any(re.search(rf'--(\\fR\[\\fBno-\\fR\]\\fB)?{re.escape(flag)}\\fR', t) for t in text), (
                command,
                flag,
            )


@suite.test
def shells_complete_every_command_and_flag(d):
    prefix = installed(d)
    bash = f'{prefix}/share/bash-completion/completions/everprof'
    fish = f'{prefix}/share/fish/vendor_completions.d/everprof.fish'

    def by_bash(*words):
        script = (
            f'. {bash}; COMP_WORDS=(everprof {" ".join(words)} ""); '
            f'COMP_CWORD={len(words) + 1}; _everprof; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        return done(['bash', '-c', script]).split()

    def by_fish(*words):
        line = ' '.join(('everprof',) + words)
        text = done(['fish', '--no-config', '-c', f"source {fish}; complete -C'{line}'"], env={**os.environ, 'HOME': d})
        return [row.split('\t')[0] for row in text.splitlines()]

    known = commands()
    for command, flags in known.items():
        *group, name = command.split()
        assert name in by_bash(*group) and name in by_fish(*group, ''), command
        assert not group or group[0] in by_bash()
        found = by_bash(*command.split())
        for flag in flags:
            assert f'--{flag}' in found or f'--{flag}=' in found, (command, flag)
    for command in ('serve', 'query top'):
        found = by_fish(command, '--')
        for flag in known[command]:
            assert f'--{flag}' in found or f'--{flag}=' in found, (command, flag, found)
    assert '--ingest.memory' not in ' '.join(by_fish('query top', '--'))
    zsh = f'{prefix}/share/zsh/vendor-completions/_everprof'
    done(['zsh', '-n', zsh])
    text = open(zsh).read()
    assert all(f"'--{flag}" in text for flags in known.values() for flag in flags)


@suite.test
def debian_package_is_complete(d):
    done(
        ['cpack', '-G', 'DEB', '-B', d],
        cwd=BUILD,
        env={**os.environ, 'DEBFULLNAME': 'Ada Example', 'DEBEMAIL': 'ada@packages.example'},
    )
    (package,) = glob.glob(f'{d}/everprof_*.deb')
    done(['dpkg-deb', '-R', package, f'{d}/root'])
    control = open(f'{d}/root/DEBIAN/control').read()
    assert re.search(r'^Depends: .*libcurl', control, re.M), control
    assert '\nMaintainer: Ada Example <ada@packages.example>\n' in control, control
    assert open(f'{d}/root/DEBIAN/conffiles').read() == '/etc/everprof/everprof.yaml\n'
    # Without systemd nothing is started, and nothing fails.
    if not os.path.isdir('/run/systemd/system'):
        for script, *argv in (
            ('postinst', 'configure', ''),
            ('postinst', 'configure', '0.0.1'),
            ('prerm', 'remove'),
            ('prerm', 'upgrade', '9'),
            ('postrm', 'purge'),
        ):
            done([f'{d}/root/DEBIAN/{script}', *argv])
    binary, config = f'{d}/root/usr/bin/everprof', f'{d}/root/etc/everprof/everprof.yaml'
    done([binary, 'check', 'config', config])
    e = Everprof(f'{d}/e', open(config).read()).ready()
    assert e.targets() == []
    e.finish()
    unit = open(f'{d}/root/usr/lib/systemd/system/everprof.service').read()
    assert '\nExecStart=/usr/bin/everprof serve ' in unit


@suite.test
def equal_files_make_equal_packages(d):
    for kind, pattern in (('DEB', '*.deb'), ('TGZ', '*.tar.gz')):
        made = []
        for folder in ('a', 'b'):
            done(
                ['cpack', '-G', kind, '-B', f'{d}/{folder}'],
                cwd=BUILD,
                env={**os.environ, 'SOURCE_DATE_EPOCH': '1700000000'},
            )
            (package,) = glob.glob(f'{d}/{folder}/{pattern}')
            with open(package, 'rb') as f:
                made.append(f.read())
        assert made[0] == made[1], kind
    assert not re.search(r' (?!2023-11-14)\d{4}-\d\d-\d\d ', done(['tar', '-tvzf', package]))
    done(['tar', '-xzf', package, '-C', d, '--strip-components=1'])
    assert done([f'{d}/usr/bin/everprof', 'version']).startswith('everprof ')
    with open(f'{d}/usr/lib/systemd/system/everprof.service') as f:
        assert '\nExecStart=/usr/bin/everprof serve ' in f.read()


@suite.test
def the_copyright_file_names_all_parts_of_the_program(d):
    """Also the libraries of the web UI, whose licenses require it."""
    with open(f'{ROOT}/packaging/copyright') as f:
        text = f.read()
    with open(f'{ROOT}/web/ui/package-lock.json') as f:
        locked = json.load(f)['packages']
    parts, todo = set(), ['preact', 'uplot', '@dagrejs/dagre']
    assert set(locked['']['dependencies']) - {'esbuild'} == set(todo), 'esbuild makes the UI; the others are in it'
    while todo:
        name = todo.pop()
        parts.add(name)
        todo += locked[f'node_modules/{name}'].get('dependencies', {})
    for name in parts:
        assert f'web/ui/node_modules/{name}/*' in text, name
        assert locked[f'node_modules/{name}']['license'] == 'MIT', name
    sources = done(['git', '-C', ROOT, 'grep', '-lE', 'SPDX-License-Identifier: .*GPL', '--', '*.c', '*.h']).split()
    assert len(sources) == 5 and all(name in text for name in sources), sources
    # Each license that is named has its text.
    named = {name for line in re.findall(r'^License: (.+)$', text, re.M) for name in line.split(' or ')}
    for name in named:
        assert re.search(rf'^License: {re.escape(name)}\n ', text, re.M), name


@suite.test
def alert_rules_and_dashboard_use_existing_metrics(d):
    rules = os.path.join(ROOT, 'examples/alerts.yml')
    done(['promtool', 'check', 'rules', rules])
    with open(os.path.join(ROOT, 'examples/grafana-dashboard.json')) as f:
        panels = json.load(f)['panels']
    queries = [t['expr'] for p in panels for t in p['targets']]
    with open(f'{d}/dashboard.yml', 'w') as f:
        json.dump(
            {'groups': [{'name': 'd', 'rules': [{'record': f'q:{i}', 'expr': q} for i, q in enumerate(queries)]}]}, f
        )
    done(['promtool', 'check', 'rules', f'{d}/dashboard.yml'])
    e = Everprof(
        f'{d}/e',
        'scrape_configs:\n'
        + heap_job('app', ['127.0.0.1:1'])
        + '  file_sd_configs: [{files: ["*.json"]}]\n'
        + 'remote_write: [{url: "http://127.0.0.1:1/"}]\n',
    ).ready()
    wait_until('a target is down', 30, lambda: 'everprof_targets{job="app",health="down"} 1' in metrics_of(e))
    there = set(re.findall(r'^# TYPE (\S+)', metrics_of(e), re.M))
    named = set(re.findall(r'(?:everprof|process)_\w+', '\n'.join(queries) + open(rules).read()))
    missing = {n for n in named if re.sub('_bucket$', '', n) not in there}
    assert len(named) > 20 and not missing, missing
    # A job that is not there any more has no targets.
    with open(f'{d}/e/everprof.yaml', 'w') as f:
        f.write('scrape_configs: []\n')
    e.child.send_signal(signal.SIGHUP)
    wait_until('the job is gone', 30, lambda: 'everprof_targets{job="app",health="down"} 0' in metrics_of(e))
    e.finish()


@suite.test
def dev_run_scrapes_the_address_that_it_serves(d):
    shutil.copytree(f'{ROOT}/examples', f'{d}/examples')
    functions = re.findall(r'^run_(?:address|config)\(\) \{.*?^\}', open(f'{ROOT}/dev').read(), re.M | re.S)
    assert len(functions) == 2, functions
    for flags, target in (
        ([], '127.0.0.1:10902'),
        (['--log.level=debug'], '127.0.0.1:10902'),
        (['--web.listen-address=127.0.0.1:11902'], '127.0.0.1:11902'),
        (['--web.listen-address', '10.1.2.3:80'], '10.1.2.3:80'),
        (['--web.listen-address=:11902', '--log.level=debug'], '127.0.0.1:11902'),
        (['--web.listen-address=0.0.0.0:11902'], '127.0.0.1:11902'),
    ):
        script = 'set -euo pipefail\n' + '\n'.join(functions) + '\nrun_config "$(run_address "$@")"'
        path = done(['bash', '-c', script, 'dev', *flags], cwd=d).strip()
        with open(f'{d}/{path}') as f:
            assert f"static_configs: [{{targets: ['{target}']}}]" in f.read(), (flags, path)
        assert (path == 'examples/everprof.yaml') == (target == '127.0.0.1:10902'), path
        assert run('check', 'config', f'{d}/{path}').returncode == 0


def metrics_of(e):
    return e.get('/metrics').body.decode()


suite.main()
