# SPDX-License-Identifier: Apache-2.0
"""Documentation as it is printed: its commands and files, and a shell that runs them."""
import json
import os
import re
import subprocess
import urllib.error
import urllib.request

from harness import BINARY, ROOT, SLOW, Process, wait_until

PPROF = ('go tool pprof ', '/usr/bin/go tool pprof ')


def text_of(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def section(text, begin, end):
    assert begin in text and end in text, (begin, end)
    return text[text.index(begin) : text.index(end)]


def commands(text, *starts):
    """Indented lines that begin so, without the comments behind them."""
    found = []
    for line in text.splitlines():
        line = line.removeprefix('    ') if line.startswith('    ') else ''
        line = line.removeprefix('$ ')
        if line.startswith(starts):
            found.append(re.sub(r'\s{2,}# .*', '', line))
    return found


def blocks(text):
    """The YAML in a text, with the names of their files where they say one."""
    return [(re.match(r'# (\S+\.yml|\S+\.yaml)', b), b) for b in re.findall(r'```yaml\n(.*?)```', text, re.S)]


class Shell:
    """A folder in which commands are typed, as a user would."""

    def __init__(self, d):
        self.d = d
        tools = f'{d}/tools'
        os.makedirs(tools)
        os.symlink(BINARY, f'{tools}/everprof')
        self.env = {
            **os.environ,
            'PATH': f'{tools}:/usr/bin:/bin',
            'HOME': d,
            'PPROF_TMPDIR': d,
            'BROWSER': 'true',
            'GOTOOLCHAIN': 'local',
        }

    def write(self, name, text):
        path = os.path.join(self.d, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb' if isinstance(text, bytes) else 'w') as f:
            f.write(text)

    def run(self, command, stdin=''):
        r = subprocess.run(
            ['bash', '-c', command],
            cwd=self.d,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120 * SLOW,
        )
        assert r.returncode == 0, (command, r)
        return r.stdout + r.stderr

    def serve(self, command):
        """In the background, until stopped."""
        return Process(['bash', '-c', 'exec ' + command], f'{self.d}/serve.log', cwd=self.d, env=self.env)


def ready(url, **options):
    def asked():
        try:
            return urllib.request.urlopen(f'{url}/-/ready', timeout=5, **options).status == 200
        except urllib.error.HTTPError as e:
            return e.code == 401
        except OSError:
            return False

    wait_until(f'{url} is ready', 30, asked)


def finish(server):
    code, text = server.stop(), server.text()
    assert code == 0 and 'Sanitizer' not in text, (code, text[-3000:])


def stored(query):
    url = 'http://127.0.0.1:10902/api/v1/query_range?from=now-10m&to=now&query=' + query
    data = json.load(urllib.request.urlopen(url))['data']
    return sum(len(s['timestamps']) for s in data)
