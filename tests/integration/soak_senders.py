#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that push, and Grafana's client that reads.

Programs in Go, Python, Rust and Node.js push profiles by Pyroscope's libraries, set up by
the lines of docs/integrations.md, through a proxy that records their requests and
loses some of the answers. Every profile must be stored, byte for byte, with the
labels that Pyroscope would give it, and Grafana's client must read the numbers of
everprof's own API. EVERPROF_SECONDS: how long (600).

A Java program pushes recordings of Java Flight Recorder in the same way. The profiles
that they become have as many samples as the tool jfr of Java counts events.

The encoders of OpenTelemetry's releases make requests, which become the same profile. The
exporters of its Collector send files by HTTP and gRPC, and nothing of them is lost.

200 replicas with equal labels and times lose nothing.

Then all of them, a scraped Prometheus and the eBPF collector are found in one server.

A Go program allocates at a known rate, and is scraped, pushes, and has its increments
pushed as Grafana Alloy does: the rates that Grafana shows are the known one.

tests/senders.sh has fetched the libraries."""
import collections
import concurrent.futures
import glob
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import yaml
from harness import ROOT, SLOW, Everprof, Process, Suite, field, free_port, heap_job, profile, run, wait_until
from programs import start_programs
from push_recorder import Recorder
from recorded_push import V1, parts, plain, pushed
from remote_nodes import Node

suite = Suite()
SENDERS = os.path.join(ROOT, 'build/senders')
SECONDS = int(os.environ.get('EVERPROF_SECONDS', '600'))

# Programs that compute for some seconds, with the lines of the documentation.
GO = '''package main

import (
	"os"
	"strconv"
	"time"

	"github.com/grafana/pyroscope-go"
)

var kept [][]byte

func work() {
	for i := 0; i < 2000; i++ {
		kept = append(kept, make([]byte, 1000))
	}
	kept = nil
	time.Sleep(20 * time.Millisecond)
}

func main() {
    LINES
	seconds, _ := strconv.Atoi(os.Args[1])
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
		work()
	}
}
'''
PYTHON = '''import sys
import time
import pyroscope
if True:
    LINES
end = time.time() + int(sys.argv[1])
while time.time() < end:
    sum(i * i for i in range(50000))
    time.sleep(0.02)
pyroscope.shutdown()
'''
RUST = '''use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;

fn work() -> u64 {
    (0..2_000_000u64).fold(1, |x, i| x.wrapping_mul(31) ^ i)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    LINES
    let seconds: u64 = std::env::args().nth(1).unwrap().parse()?;
    let start = std::time::Instant::now();
    let mut sum = 0;
    while start.elapsed().as_secs() < seconds {
        sum ^= work();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    println!("{sum}");
    agent.stop()?.shutdown();
    Ok(())
}
'''
NODE = '''const Pyroscope = require('@pyroscope/nodejs');
    LINES
const end = Date.now() + 1000 * Number(process.argv[2]);
function work() {
  for (let i = 0, x = 0; i < 2e6; i++) x += i * i;
  if (Date.now() < end) setTimeout(work, 20);
  else Pyroscope.stop().then(() => process.exit(0));
}
work();
'''
# Allocates a number of bytes each second, also on a busy machine, and keeps those of one second.
ALLOCATES = '''package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/grafana/pyroscope-go"
	_ "github.com/grafana/pyroscope-go/godeltaprof/http/pprof"
)

const size = 8192

var kept [][]byte
var last []byte

func allocate(n int) {
	for i := 0; i < n; i++ {
		last = make([]byte, size)
	}
}

func keep(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, size))
	}
}

func main() {
	runtime.MemProfileRate = 16384
	rate, _ := strconv.Atoi(os.Args[1])
	keep(rate / size)
	go http.ListenAndServe(os.Args[2], nil)
	_, err := pyroscope.Start(pyroscope.Config{ApplicationName: "pushed", ServerAddress: os.Args[3],
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileAllocSpace, pyroscope.ProfileInuseSpace}})
	if err != nil {
		panic(err)
	}
	start, done := time.Now(), 0
	for {
		due := int(time.Since(start).Seconds()*float64(rate)) / size
		allocate(due - done)
		done = due
		time.Sleep(10 * time.Millisecond)
		fmt.Sprint(len(kept), len(last))
	}
}
'''
READER = '''package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"connectrpc.com/connect"
	querier "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
)

// Prints the total of each profile type of each service.
func main() {
	ctx := context.Background()
	c := querierv1connect.NewQuerierServiceClient(http.DefaultClient, os.Args[1])
	var start, end int64
	json.Unmarshal([]byte(os.Args[2]), &start)
	json.Unmarshal([]byte(os.Args[3]), &end)
	series, err := c.Series(ctx, connect.NewRequest(&querier.SeriesRequest{
		LabelNames: []string{"service_name", "__profile_type__"}, Start: start, End: end}))
	if err != nil {
		panic(err)
	}
	for _, s := range series.Msg.LabelsSet {
		of := map[string]string{}
		for _, l := range s.Labels {
			of[l.Name] = l.Value
		}
		flame, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(&querier.SelectMergeStacktracesRequest{
			ProfileTypeID: of["__profile_type__"], LabelSelector: `{service_name="` + of["service_name"] + `"}`,
			Start: start, End: end}))
		if err != nil {
			panic(err)
		}
		json.NewEncoder(os.Stdout).Encode([]any{of["__profile_type__"], of["service_name"], flame.Msg.Flamegraph.GetTotal()})
	}
}
'''
# The exporters of the OpenTelemetry Collector, with their configuration as JSON, send files.
COLLECTOR = '''package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	factories := map[string]exporter.Factory{
		"otlp": otlpexporter.NewFactory(), "otlp_http": otlphttpexporter.NewFactory()}
	var configs map[string]map[string]any
	check(json.Unmarshal([]byte(os.Args[1]), &configs))
	for name, config := range configs {
		f := factories[name]
		c := f.CreateDefaultConfig()
		check(confmap.NewFromStringMap(config).Unmarshal(c))
		e, err := f.(xexporter.Factory).CreateProfiles(ctx, exportertest.NewNopSettings(f.Type()), c)
		check(err)
		check(e.Start(ctx, componenttest.NewNopHost()))
		for _, path := range os.Args[2:] {
			text, err := os.ReadFile(path)
			check(err)
			profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(text)
			check(err)
			check(e.ConsumeProfiles(ctx, profiles))
		}
		// What gets no answer is sent again after some five seconds.
		time.Sleep(12 * time.Second)
		check(e.Shutdown(ctx))
	}
}
'''
JAVA = '''public class Shop {
    static volatile long total;
    static final Object counter = new Object();

    static void work() {
        for (int i = 0; i < 100; i++) total += new byte[10000].length;
        synchronized (counter) {
            long x = 1;
            for (long end = System.nanoTime() + 3000000; System.nanoTime() < end;) x = x * 31 + end;
            total += x;
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        Runnable work = () -> {
            while (System.nanoTime() < end) work();
        };
        Thread other = new Thread(work);
        other.start();
        work.run();
        other.join();
    }
}
'''
# Of each client: its section, its program, and the names of the profiles that it sends at least.
CLIENTS = {
    'go': ('Go', GO, {'process_cpu', 'memory'}),
    'python': ('Python', PYTHON, {'process_cpu'}),
    'rust': ('Rust', RUST, {'process_cpu'}),
    'node': ('Node.js', NODE, {'wall'}),
}


def documented(heading):
    """The lines of a section of docs/integrations.md that set a client up."""
    with open(f'{ROOT}/docs/integrations.md') as f:
        [section] = re.findall(rf'\n## {re.escape(heading)}\n\n((?: {{4}}.*\n)+)', f.read())
    return section


def command(d, name, address):
    """The command that runs a client's program."""
    heading, program, _ = CLIENTS[name]
    lines = documented(heading)
    assert '"shop"' in lines or "'shop'" in lines, lines
    lines = lines.replace('everprof:10902', address).replace('shop', f'shop-{name}')
    text = program.replace('    LINES\n', lines)
    home = f'{SENDERS}/{name}'
    if name == 'go':
        return [build(d, home, text, 'shop')]
    if name == 'rust':
        return [build_rust(home, text)]
    path = f'{home}/shop.js' if name == 'node' else f'{d}/shop.py'
    with open(path, 'w') as f:
        f.write(text)
    return ['node', path] if name == 'node' else [f'{home}/bin/python', path]


def java_command(address, service, seconds):
    """The lines of the documentation that run the program."""
    home = f'{SENDERS}/java'
    with open(f'{home}/Shop.java', 'w') as f:
        f.write(JAVA)
    subprocess.run(['javac', '-d', home, f'{home}/Shop.java'], check=True)
    lines = documented('Java').replace('everprof:10902', address).replace('NAME=shop\n', f'NAME={service}\n')
    lines = lines.replace('-jar shop.jar', f'-cp {home} Shop {seconds}').replace('agent.jar', f'{home}/agent-2.9.2.jar')
    return ['sh', '-c', lines]


def build(d, home, text, name):
    """Build a Go program in the folder of its module."""
    with open(f'{home}/main.go', 'w') as f:
        f.write(text)
    # The module needs what the packages of its libraries import.
    env = {**os.environ, 'GOFLAGS': '-mod=mod', 'GOWORK': 'off'}
    subprocess.run(['go', 'build', '-o', f'{d}/{name}', '.'], cwd=home, env=env, check=True)
    return f'{d}/{name}'


def build_rust(home, text):
    """Build a Rust program in the folder of its package."""
    with open(f'{home}/src/main.rs', 'w') as f:
        f.write(text)
    subprocess.run(['cargo', 'build', '--quiet', '--release', '--offline'], cwd=home, check=True)
    return f'{home}/target/release/shop'


def sent_labels(path, labels):
    """The labels that a stored profile of a request must have, but for its name."""
    if labels is None:
        given = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        application, _, tags = given['name'][0].partition('{')
        labels = dict(tag.split('=', 1) for tag in tags.rstrip('}').split(',') if tag)
        labels['service_name'] = application
        labels['pyroscope_spy'] = given['spyName'][0]
    kept = {k: v for k, v in labels.items() if not k.startswith('__') or k == '__session_id__'}
    return {'job': kept['service_name'], 'instance': '127.0.0.1', **kept}


def key(labels, body):
    compared = {k: v for k, v in labels.items() if k not in ('__name__', '__delta__')}
    return json.dumps(compared, sort_keys=True), hashlib.sha256(body).hexdigest()


def stored(e):
    """(labels, profile) of everything in the database."""
    for series in e.range('{__name__=~".+"}'):
        for at in series['timestamps']:
            yield series['labels'], e.raw(series['labels'], at).body


@suite.test
def what_programs_send_is_stored_and_read(d):
    e = Everprof(f'{d}/e', flags=['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
    recorder = Recorder(e.port)
    begin = int(1000 * time.time())
    # Two replicas of one program have the same labels and round their times.
    programs = [
        Process([*command(d, name, recorder.address), str(SECONDS)], f'{d}/{name}{i}.log')
        for name in CLIENTS
        for i in range(2 if name == 'python' else 1)
    ]
    for p in programs:
        code = p.child.wait(timeout=(SECONDS + 120) * SLOW)
        assert code == 0, (p.log, code, p.text()[-2000:])
        p.stop()
    recorder.server.stop()
    recorder.check_refusals()
    check_profiles(e, recorder)
    services = check_reader(d, e, begin, int(1000 * time.time()) + 1000)
    assert services == {f'shop-{name}' for name in CLIENTS}, services
    e.finish()


def check_profiles(e, recorder):
    """What is stored is what was sent."""
    wanted = {
        key(sent_labels(path, labels), body)
        for path, headers, request, _, _ in recorder.requests
        for labels, body in pushed(path, headers, request)
    }
    found, names = collections.Counter(), collections.defaultdict(set)
    for labels, body in stored(e):
        found[key(labels, body)] += 1
        names[labels['service_name']].add(labels['__name__'])
        is_delta = labels.get('pyroscope_spy') == 'gospy' and labels['__name__'] == 'memory'
        assert labels.get('__delta__') == ('false' if is_delta else None), labels
    assert set(found) == wanted, (sorted(wanted - set(found))[:3], sorted(set(found) - wanted)[:3])
    assert max(found.values()) == 1, found.most_common(3)
    for name, (_, _, least) in CLIENTS.items():
        assert least <= names[f'shop-{name}'], (name, names)
    print(f'{len(recorder.requests)} requests with {len(wanted)} profiles, all stored: {dict(names)}')


REPLICAS, ROUND = 200, 15


def send_surely(address, body, at):
    """As a client that rounds times, and that sends a request again if it gets no answer."""
    query = urllib.parse.urlencode({'name': 'replica{region=eu}', 'format': 'pprof', 'from': at, 'until': at + 10})
    for attempt in range(10):
        time.sleep(attempt / 4)
        connection = http.client.HTTPConnection(address, timeout=60 * SLOW)
        try:
            connection.request('POST', f'/ingest?{query}', body)
            answer = connection.getresponse()
            assert answer.status == 200, (answer.status, answer.read())
            return
        except (http.client.HTTPException, ConnectionError):
            pass
        finally:
            connection.close()
    raise AssertionError('no answer to ten requests')


@suite.test
def replicas_with_equal_tags_and_times_lose_nothing(d):
    """Once with the address of the client as a label, and once without. The proxy loses every seventh answer."""
    servers = []
    for name, config in (('addressed', 'push: {}\n'), ('nameless', 'push: {instance: none}\n')):
        e = Everprof(f'{d}/{name}', config, ['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
        servers.append((name, e, Recorder(e.port, '/ingest')))
    sent = {}
    begin = time.time()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for i in range(max(SECONDS // ROUND, 2)):
            time.sleep(max(0.0, begin + i * ROUND - time.time()))
            at = int(time.time()) // 10 * 10 - 10
            bodies = {profile(f'replica {k} round {i}', k + 1): k + 1 for k in range(REPLICAS)}
            sent.update(bodies)
            jobs = [pool.submit(send_surely, r.address, body, at) for _, _, r in servers for body in bodies]
            for job in jobs:
                job.result()
    for name, e, recorder in servers:
        recorder.server.stop()
        recorder.check_refusals()
        assert len(recorder.requests) > len(sent), (len(recorder.requests), len(sent))
        [series] = e.get('/api/v1/query_range', query='{__name__=~".+"}', totals=1, **{'from': 0, 'to': 'now'}).data()
        assert ('instance' in series['labels']) == (name == 'addressed'), series['labels']
        assert len(series['timestamps']) == len(sent), (len(series['timestamps']), len(sent))
        assert sum(series['totals']['samples/count']) == sum(sent.values())
        assert {plain(body) for _, body in stored(e)} == set(sent)
        print(f'{name}: {len(recorder.requests)} requests, {len(sent)} profiles, none lost')
        e.finish()


# Of each kind of event of a recording: the profile, and the sample type that counts the events.
JAVA_EVENTS = {
    'jdk.ExecutionSample': ('process_cpu', 'cpu', 10_000_000),
    'jdk.ObjectAllocationInNewTLAB': ('memory', 'alloc_in_new_tlab_objects', 1),
    'jdk.ObjectAllocationOutsideTLAB': ('memory', 'alloc_outside_tlab_objects', 1),
    'jdk.JavaMonitorEnter': ('mutex', 'contentions', 1),
}


def counted_events(d, body, headers):
    """{event: number} of the recording in a request, by the tool of Java."""
    [recording] = [p for p in parts(body, headers) if p[:4] == b'FLR\0']
    with open(f'{d}/sent.jfr', 'wb') as f:
        f.write(recording)
    out = subprocess.run(['jfr', 'summary', f'{d}/sent.jfr'], check=True, capture_output=True, text=True).stdout
    return {event: int(n) for event, n in re.findall(r'^ (\S+) +(\d+) +\d+$', out, re.M)}


@suite.test
def recordings_of_a_java_program_are_stored(d):
    e = Everprof(f'{d}/e', flags=['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
    recorder = Recorder(e.port)
    program = Process(java_command(recorder.address, 'shop', SECONDS), f'{d}/java.log')
    code = program.child.wait(timeout=(SECONDS + 120) * SLOW)
    assert code == 0, (code, program.text()[-2000:])
    program.stop()
    recorder.server.stop()
    recorder.check_refusals()
    events = collections.Counter()
    bodies = {body: headers for _, headers, body, _, _ in recorder.requests}  # sent again: counts once
    for body, headers in bodies.items():
        events.update(counted_events(d, body, headers))
    for event, (name, sample_type, unit) in JAVA_EVENTS.items():
        answer = e.get(
            '/api/v1/query',
            query=f'{name}{{service_name="shop"}}',
            mode='merge',
            report='top',
            aggregate='sum',
            sample_index=sample_type,
            **{'from': 0, 'to': 'now'},
        )
        total = answer.data()['total'] if answer.status == 200 else 0
        assert total == events[event] * unit, (event, total, events[event], answer.body[:300])
    found = e.range('{service_name="shop"}')
    assert {s['labels']['region'] for s in found} == {'eu'}, found
    print(f'{len(bodies)} recordings with {sum(events[k] for k in JAVA_EVENTS)} samples, all stored')
    e.finish()


# The names that profiles have which Grafana finds by one name: those of pushed ones, and of scraped ones.
SCRAPED = {'memory': ('memory', 'heap'), 'process_cpu': ('process_cpu', 'profile')}


def selectors_of(service):
    """The series that are one service to Grafana: pushed and scraped ones, and those of the eBPF collector."""
    ebpf = 'job="ebpf",container=""'
    return (
        f'{{job="{service}",exe=""}}',
        f'{{job="ebpf",container="{service}"}}',
        f'{{{ebpf},systemd_unit="{service}.service"}}',
        f'{{{ebpf},systemd_unit="",exe="{service}"}}',
    )


def own_total(e, name, sample_type, selector, begin, end):
    answer = e.get(
        '/api/v1/query',
        query=name + selector,
        mode='merge',
        report='flamegraph',
        sample_index=sample_type,
        **{'from': begin, 'to': end},
    )
    assert answer.status in (200, 404), answer.body
    return answer.data()['total_of'][0] if answer.status == 200 else 0


def check_reader(d, e, begin, end):
    """Grafana's client finds services with the totals of everprof's own API. Returns the services."""
    reader = build(d, f'{SENDERS}/reader', READER, 'reader')
    out = subprocess.run([reader, e.url, str(begin), str(end)], check=True, capture_output=True, text=True).stdout
    services = set()
    for type_id, service, total in map(json.loads, out.splitlines()):
        name, sample_type = type_id.split(':')[:2]
        own = [
            own_total(e, own_name, sample_type, selector, begin, end)
            for own_name in SCRAPED.get(name, (name,))
            for selector in selectors_of(service)
        ]
        assert sum(own) == total, (type_id, service, own, total)
        services.add(service)
    print(f'{len(out.splitlines())} totals of {len(services)} services agree')
    return services


@suite.test
def all_together_are_found_by_name(d):
    """Two minutes of programs that push, a program that is scraped, and the eBPF collector."""
    prometheus = start_programs(d)['prometheus']
    config = (
        f'scrape_configs: [{{job_name: prometheus, scrape_interval: 15s, static_configs: [{{targets: ["{prometheus}"]}}]}}]\n'
        'ebpf: {enabled: true, node: n}\n'
    )
    e = Everprof(f'{d}/e', config, ['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
    begin = int(1000 * time.time())
    address = f'127.0.0.1:{e.port}'
    commands = {f'shop-{name}': [*command(d, name, address), '120'] for name in CLIENTS}
    commands['shop-java'] = java_command(address, 'shop-java', 120)
    programs = [Process(argv, f'{d}/{name}.log') for name, argv in commands.items()]
    for p in programs:
        assert p.child.wait(timeout=240 * SLOW) == 0, p.text()[-2000:]
    # What comes after this is not asked for.
    services = check_reader(d, e, begin, int(1000 * time.time()) - 1000)
    assert set(commands) | {'prometheus'} <= services and len(services) > len(commands) + 2, services
    e.finish()


RATE = 100_000_000  # bytes in a second
STEP = 15
ROUNDS = 10  # increments that are pushed, one in each step


def push_increments(e, program):
    """Push what a program has allocated since the last time, as Alloy does."""
    labels = {'__name__': 'memory', '__delta__': 'false', 'service_name': 'increments', 'pod': 'a'}
    next_turn = time.monotonic()
    for _ in range(ROUNDS):
        body = urllib.request.urlopen(f'http://{program}/debug/pprof/delta_heap').read()
        pairs = b''.join(field(1, field(1, k.encode()) + field(2, v.encode())) for k, v in labels.items())
        message = field(1, pairs + field(2, field(1, body)))
        answer = e.get(V1, {'Content-Type': 'application/proto'}, message)
        assert answer.status == 200, answer.body
        next_turn += STEP
        time.sleep(max(0, next_turn - time.monotonic()))


def grafana_series(e, sample_type, begin, end):
    """{service: mean of the points of a type of memory, in bytes, or in bytes per second}."""
    request = {
        'profile_typeID': f'memory:{sample_type}:bytes:space:bytes',
        'label_selector': '{}',
        'start': begin,
        'end': end,
        'group_by': ['service_name'],
        'step': STEP,
    }
    answer = e.get(
        '/querier.v1.QuerierService/SelectSeries', {'Content-Type': 'application/json'}, json.dumps(request).encode()
    )
    means = {}
    for series in answer.json()['series']:
        values = [p['value'] for p in series['points']]
        scale = STEP if sample_type == 'alloc_space' else 1
        means[series['labels'][0]['value']] = sum(values) / len(values) / scale
    return means


def check_rates(e, begin, end):
    for sample_type in ('alloc_space', 'inuse_space'):
        means = grafana_series(e, sample_type, begin, end)
        assert set(means) == {'scraped', 'pushed', 'increments'}, means
        print(sample_type, {name: f'{v / RATE:.3f} of what is known' for name, v in means.items()})
        assert all(abs(v / RATE - 1) < 0.05 for v in means.values()), (sample_type, means)


@suite.test
def allocations_have_one_rate_however_they_come(d):
    port = free_port()
    program = f'127.0.0.1:{port}'
    central = Node(f'{d}/central', flags=['--storage.tsdb.retention.time=0'])
    config = (
        'scrape_configs:\n'
        + heap_job('scraped', [program], interval='5s')
        + f'remote_write: [{{url: "{central.url}/api/v1/write"}}]\n'
    )
    e = Everprof(f'{d}/e', config, ['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()
    binary = build(d, f'{SENDERS}/go', ALLOCATES, 'allocates')
    begin = time.time()
    allocates = Process([binary, str(RATE), program, e.url], f'{d}/allocates.log')
    wait_until('the program', 60, lambda: answers(program))
    push_increments(e, program)
    allocates.stop(signal.SIGKILL)
    # Without the first and the last intervals of the clients, which are cut.
    spans = [int(1000 * (begin + 2.5 * STEP)), int(1000 * (time.time() - 2.5 * STEP))]
    check_rates(e, *spans)
    wait_until('all profiles are sent', 60, lambda: count_of(central) == count_of(e))
    check_rates(central, *spans)
    exported = run('query', 'export', '{__name__=~".+"}', '--from=0', '-o', f'{d}/all.tar', f'--server={e.url}')
    assert exported.returncode == 0, exported.stderr
    os.mkdir(f'{d}/again')
    imported = run('tsdb', 'import', f'{d}/all.tar', f'--storage.tsdb.path={d}/again/data')
    assert imported.returncode == 0, imported.stderr
    check_rates(Everprof(f'{d}/again', flags=['--storage.tsdb.retention.time=0']).ready(), *spans)


def answers(program):
    try:
        return urllib.request.urlopen(f'http://{program}/debug/pprof/').status == 200
    except OSError:
        return False


def count_of(e):
    return sum(len(series['timestamps']) for series in e.range('{__name__=~".+"}'))


# Makes a request of OTLP by the classes of a release, by the names of their fields.
OTLP = '''import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service

request = service.ExportProfilesServiceRequest()
tables = request.dictionary
tables.string_table.extend(['', 'samples', 'count', 'cpu', 'nanoseconds', 'main', 'work', 'rest', 'thread.id'])
for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table):
    table.add()
attribute = tables.attribute_table.add()
for name in (5, 6, 7):
    tables.function_table.add().name_strindex = name
    location = tables.location_table.add()
    lines = location.lines if hasattr(location, 'lines') else location.line
    line = lines.add()
    line.function_index, line.line = name - 4, name
of_resource = request.resource_profiles.add()
pair = of_resource.resource.attributes.add()
pair.key, pair.value.string_value = 'service.name', sys.argv[1]
profile = of_resource.scope_profiles.add().profiles.add()
samples = profile.samples if hasattr(profile, 'samples') else profile.sample
if hasattr(tables, 'stack_table'):
    tables.stack_table.add()
    tables.stack_table.add().location_indices.extend([2, 1])
    tables.stack_table.add().location_indices.extend([3, 1])
    attribute = tables.attribute_table.add()
    attribute.key_strindex, attribute.value.int_value = 8, 7
    kind = profile.sample_type
    profile.time_unix_nano, profile.duration_nano = int(sys.argv[2]), 10**10
    for stack, value in ((1, 5), (2, 3)):
        one = samples.add()
        one.stack_index = stack
        one.values.append(value)
        one.attribute_indices.append(1)
else:
    kind = profile.sample_type.add()
    profile.time_nanos = int(sys.argv[2])
    profile.location_indices.extend([2, 1])
    one = samples.add()
    one.locations_length = 2
    one.value.append(5)
kind.type_strindex, kind.unit_strindex = 1, 2
profile.period_type.type_strindex, profile.period_type.unit_strindex, profile.period = 3, 4, 10000000
if sys.argv[3] == 'json':
    sys.stdout.write(json_format.MessageToJson(request))
else:
    sys.stdout.buffer.write(request.SerializeToString())
'''


def otlp_request(version, service, at_ns, form):
    done = subprocess.run(
        [f'{SENDERS}/python/bin/python3', '-c', OTLP, service, str(at_ns), form],
        env={**os.environ, 'PYTHONPATH': f'{SENDERS}/otlp/{version}'},
        capture_output=True,
        check=True,
    )
    return done.stdout


@suite.test
def requests_of_the_encoders_of_otlp_are_stored(d):
    e = Everprof(d, flags=['--web.enable-push-receiver']).ready()
    at_ns = time.time_ns() - 60 * 10**9
    for version in ('1.40.0', '1.45.2'):
        for form in ('binary', 'json'):
            service = f'of-{version}-{form}'
            kind = 'application/json' if form == 'json' else 'application/x-protobuf'
            body = otlp_request(version, service, at_ns, form)
            answer = e.get('/v1development/profiles', {'Content-Type': kind}, body)
            assert answer.status == 200 and answer.body in (b'', b'{}'), (service, answer.body)
            query = {'query': f'process_cpu{{service_name="{service}"}}', 'mode': 'merge', 'from': 0, 'to': 'now'}
            for sample_type, factor in (('samples', 1), ('cpu', 10**7)):
                rows = e.get('/api/v1/query', report='top', sample_index=sample_type, **query).data()['rows']
                flat = {r['name']: r['flat'] for r in rows if r['flat']}
                assert flat == {'work': 5 * factor, 'rest': 3 * factor}, (service, flat)
    answer = e.get(
        '/v1development/profiles',
        {'Content-Type': 'application/x-protobuf'},
        otlp_request('1.37.0', 'old', at_ns, 'binary'),
    )
    assert answer.status == 400 and b'1.7 or earlier' in answer.body, answer.body
    e.finish()


def exporters(heading):
    """The YAML of a section of docs/integrations.md that configures exporters of the Collector."""
    with open(f'{ROOT}/docs/integrations.md') as f:
        [section] = re.findall(rf'\n## {heading}\n(.*?)\n## ', f.read(), re.S)
    found = {}
    for block in re.findall(r'\n((?: {4}.*\n)+)', section):
        if block.startswith('    exporters:'):
            found.update(yaml.safe_load(block)['exporters'])
    return found


@suite.test
def exporters_of_the_collector_lose_nothing(d):
    """By HTTP, through a proxy that loses answers, and by gRPC: what comes is what everprof makes of the files itself."""
    files = sorted(glob.glob(f'{ROOT}/testdata/otlp/*.otlp'))
    grpc = free_port()
    flags = ['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']
    servers = {
        name: Everprof(f'{d}/{name}', flags=[*flags, *more]).ready()
        for name, more in (
            ('direct', []),
            ('otlp_http', []),
            ('otlp', [f'--otlp.grpc.listen-address=127.0.0.1:{grpc}']),
        )
    }
    for path in files:
        with open(path, 'rb') as f:
            answer = servers['direct'].get(
                '/v1development/profiles', {'Content-Type': 'application/x-protobuf'}, f.read()
            )
        assert answer.status == 200, answer.body
    recorder = Recorder(servers['otlp_http'].port, '/v1development')
    program = build(d, f'{SENDERS}/collector', COLLECTOR, 'collector')
    configs = exporters('OpenTelemetry')
    assert set(configs) == {'otlp_http', 'otlp'}, configs
    for name, address, count in (('otlp_http', recorder.address, 8), ('otlp', f'127.0.0.1:{grpc}', 1)):
        old = 'everprof:10902' if name == 'otlp_http' else 'everprof:4317'
        config = json.dumps({name: configs[name]}).replace(old, address)
        assert address in config, config
        # More than once, so that answers are lost, and requests sent again.
        subprocess.run([program, config, *(files * count)], check=True, timeout=300 * SLOW)
    recorder.server.stop()
    assert len(recorder.requests) > 8 * len(files), len(recorder.requests)
    of = {
        name: sorted(
            (json.dumps(labels, sort_keys=True), hashlib.sha256(body).hexdigest()) for labels, body in stored(e)
        )
        for name, e in servers.items()
    }
    assert len(of['direct']) >= len(files) and of['otlp_http'] == of['otlp'] == of['direct'], of
    print(f'{len(of["direct"])} profiles by both exporters, as everprof makes them of the files')
    for e in servers.values():
        e.finish()


suite.main()
