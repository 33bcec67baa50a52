#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in Python, Node.js and Java push profiles by Datadog's libraries, set up by the lines
of docs/integrations.md, through a proxy that records their requests and loses some of the
answers. What is stored are the bytes and the events that they sent. EVERPROF_SECONDS: how
long (600). tests/datadog.sh has fetched the libraries."""
import collections
import hashlib
import json
import os
import re
import subprocess

from harness import ROOT, SLOW, Everprof, Process, Suite
from push_recorder import Recorder
from recorded_push import parts

suite = Suite()
SENDERS = os.path.join(ROOT, 'build/senders')
SECONDS = int(os.environ.get('EVERPROF_SECONDS', '600'))

PYTHON = '''import sys
import time

def pay():
    return sum(i * i for i in range(50000))

def sell():
    kept = [bytearray(10000) for _ in range(100)]
    return pay(), kept

end = time.time() + float(sys.argv[1])
while time.time() < end:
    sell()
    time.sleep(0.02)
'''
NODE = '''require('dd-trace').init({profiling: true});
const end = Date.now() + 1000 * Number(process.argv[2]);
let kept = [];
function pay() {
  let x = 0;
  for (let i = 0; i < 2e6; i++) x += i * i;
  return x;
}
function sell() {
  pay();
  kept.push(new Array(10000).fill(1));
  if (kept.length > 50) kept = [];
  if (Date.now() < end) setTimeout(sell, 20);
}
sell();
'''
JAVA = '''public class Till {
    static volatile long total;

    static void pay() {
        for (int i = 0; i < 100; i++) total += new byte[10000].length;
        long x = 1;
        for (long end = System.nanoTime() + 3000000; System.nanoTime() < end;) x = x * 31 + end;
        total += x;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        while (System.nanoTime() < end) pay();
    }
}
'''


def python(d):
    with open(f'{d}/shop.py', 'w') as f:
        f.write(PYTHON)
    return f'{SENDERS}/ddtrace/bin/ddtrace-run {SENDERS}/ddtrace/bin/python {d}/shop.py'


def node(d):
    path = f'{SENDERS}/dd-trace/shop.js'
    with open(path, 'w') as f:
        f.write(NODE)
    return f'node {path}'


def java(d):
    with open(f'{d}/Till.java', 'w') as f:
        f.write(JAVA)
    subprocess.run(['javac', '-d', d, f'{d}/Till.java'], check=True)
    return f'java -javaagent:{SENDERS}/java/dd-java-agent-1.68.1.jar -Ddd.profiling.enabled=true -Ddd.profiling.ddprof.enabled=true -cp {d} Till'


# Of each program: how it is started, and the profiles that it sends at least.
PROGRAMS = {'python': (python, {'process_cpu'}), 'node': (node, {'wall', 'memory'}), 'java': (java, {'process_cpu'})}


def documented(address, service):
    """The lines of docs/integrations.md but the last, which starts a program."""
    with open(f'{ROOT}/docs/integrations.md') as f:
        section = f.read().split("\n## Datadog's libraries\n")[1]
    lines = re.search(r'((?: {4}.*\n)+)', section)[1].splitlines()
    assert 'shop.py' in lines[-1] and 'DD_SERVICE=shop ' in ''.join(lines), lines
    return '\n'.join(lines[:-1]).replace('everprof:10902', address).replace('=shop ', f'={service} ')


def start(d, name, address):
    script = f'{documented(address, f"shop-{name}")}\nexport DD_TAGS=region:eu\nexec {PROGRAMS[name][0](d)} {SECONDS}'
    return Process(['sh', '-c', script], f'{d}/{name}.log')


def service_of(files):
    [event] = [json.loads(f) for f in files if b'"tags_profiler"' in f]
    return dict(tag.split(':', 1) for tag in event['tags_profiler'].split(','))['service']


def chunks(recording):
    """The chunks of a recording, each of which is one, too: `jfr print` looks for events in one."""
    at = 0
    while at < len(recording):
        size = int.from_bytes(recording[at + 8 : at + 16], 'big')
        yield recording[at : at + size]
        at += size


def samples_of(d, recording):
    """The sum of the weights of the samples of the CPU, by the tool of Java."""
    total = 0
    for chunk in chunks(recording):
        with open(f'{d}/sent.jfr', 'wb') as f:
            f.write(chunk)
        command = ['jfr', 'print', '--json', '--events', 'datadog.ExecutionSample', f'{d}/sent.jfr']
        printed = subprocess.run(command, check=True, capture_output=True)
        total += sum(event['values']['weight'] for event in json.loads(printed.stdout)['recording']['events'])
    return total


def sum_of(e, query, sample_type):
    answer = e.get(
        '/api/v1/query',
        query=query,
        mode='merge',
        report='top',
        aggregate='sum',
        sample_index=sample_type,
        **{'from': 0, 'to': 'now'},
    )
    assert answer.status == 200, answer.body
    return answer.data()['total']


def sent_files(recorder):
    """{service: {hash: file}} of the profiles and recordings of all requests."""
    sent = collections.defaultdict(dict)
    for _, headers, body, _, _ in recorder.requests:
        files = parts(body, headers)
        for data in files:
            # Files of JSON say which threads and endpoints there are.
            if data[:1] not in b'{[':
                sent[service_of(files)][hashlib.sha256(data).hexdigest()] = data
    return sent


def check_bytes(e, service, sent):
    stored = {
        hashlib.sha256(e.raw(series['labels'], at).body).hexdigest()
        for series in e.range(f'{{service_name="{service}"}}')
        for at in series['timestamps']
    }
    assert stored and stored == set(sent), (service, len(stored), len(sent))
    return len(stored)


@suite.test
def what_programs_send_is_stored(d):
    e = Everprof(f'{d}/e', flags=['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
    recorder = Recorder(e.port, '/profiling/')
    programs = {name: start(d, name, recorder.address) for name in PROGRAMS}
    for name, p in programs.items():
        code = p.child.wait(timeout=(SECONDS + 120) * SLOW)
        assert code == 0, (name, code, p.text()[-2000:])
        p.stop()
    recorder.server.stop()
    recorder.check_refusals()
    sent = sent_files(recorder)
    assert set(sent) == {f'shop-{name}' for name in PROGRAMS}, list(sent)
    for name, (_, least) in PROGRAMS.items():
        found = e.range(f'{{service_name="shop-{name}"}}')
        assert least <= {s['labels']['__name__'] for s in found}, (name, found)
        assert {(s['labels']['env'], s['labels']['version'], s['labels']['region']) for s in found} == {
            ('prod', '1.2', 'eu')
        }, found
    kept = [check_bytes(e, f'shop-{name}', sent[f'shop-{name}']) for name in ('python', 'node')]
    samples = sum(samples_of(d, data) for data in sent['shop-java'].values())
    total = sum_of(e, 'process_cpu{service_name="shop-java"}', 'cpu')
    assert samples and total == samples * 10_000_000, (samples, total)
    print(f'{len(recorder.requests)} requests, {sum(kept)} profiles byte for byte, {samples} samples of recordings')
    e.finish()


suite.main()
