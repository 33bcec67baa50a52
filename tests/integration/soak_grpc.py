#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The listener for gRPC at full size.

Clients of gRPC (for Go, and two releases for Python) send 10,000 requests by eight connections each, of which some are
cancelled and some have a deadline that is too early. What was acknowledged is stored; nothing is stored that was not sent.

Floods of frames: while four connections flood the listener, each for EVERPROF_SECONDS (60), a client that behaves waits at
most twice as long as beside a program that keeps one CPU busy, as the floods do; memory stays. tests/grpc.sh has fetched the
clients."""
import json
import multiprocessing
import os
import subprocess
import time

import http2  # runs the soak again with Debian's Python if need be
from harness import ROOT, Everprof, Suite, free_port, wait_until
from http2 import Http2, code
from otlp_encoder import Dictionary, profile, request, resource, sample

suite = Suite()
CLIENTS = os.path.join(ROOT, 'build/grpc')
SECONDS = int(os.environ.get('EVERPROF_SECONDS', '60'))
REQUESTS, CONNECTIONS = 10000, 8
ATTACKERS = 4
AT = int(time.time()) - 3600

PYTHON = '''
import sys, threading, random
import grpc
port, folder = sys.argv[1:3]
kept, lock = [], threading.Lock()

def send(worker):
    rng = random.Random(worker)
    with grpc.insecure_channel("127.0.0.1:" + port, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_unary("%s")
        for n in range(worker, %d, %d):
            sent = open("%%s/%%d" %% (folder, n), "rb").read()
            late = n %% 10 == 3
            pending = call.future(sent, timeout=rng.choice((0.0005, 0.002)) if late else 60)
            if n %% 10 == 7:
                pending.cancel()
            try:
                pending.result()
                with lock:
                    kept.append(n)
            except grpc.FutureCancelledError:
                assert n %% 10 == 7
            except grpc.RpcError as e:
                assert late and e.code() == grpc.StatusCode.DEADLINE_EXCEEDED, e

threads = [threading.Thread(target=send, args=(i,)) for i in range(%d)]
[t.start() for t in threads]
[t.join() for t in threads]
print(grpc.__version__)
print(kept)
''' % (
    http2.EXPORT,
    REQUESTS,
    CONNECTIONS,
    CONNECTIONS,
)

GO = '''package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

func main() {
	var mu sync.Mutex
	var kept []int
	var done sync.WaitGroup
	for worker := 0; worker < CONNECTIONS; worker++ {
		done.Add(1)
		go func() {
			defer done.Done()
			conn, err := grpc.NewClient("127.0.0.1:"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			client := pprofileotlp.NewGRPCClient(conn)
			for n := worker; n < REQUESTS; n += CONNECTIONS {
				body, _ := os.ReadFile(filepath.Join(os.Args[2], strconv.Itoa(n)))
				request := pprofileotlp.NewExportRequest()
				if err := request.UnmarshalProto(body); err != nil {
					panic(err)
				}
				timeout := 60 * time.Second
				if n%10 == 3 {
					timeout = time.Duration(200+n%1000) * time.Microsecond
				}
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				if n%10 == 7 {
					go func() { time.Sleep(time.Duration(n%500) * time.Microsecond); cancel() }()
				}
				_, err := client.Export(ctx, request)
				cancel()
				code := status.Code(err)
				if code == codes.OK {
					mu.Lock()
					kept = append(kept, n)
					mu.Unlock()
				} else if !(n%10 == 3 && code == codes.DeadlineExceeded) && !(n%10 == 7 && code == codes.Canceled) {
					panic(err)
				}
			}
		}()
	}
	done.Wait()
	fmt.Println("grpc-go", grpc.Version)
	json.NewEncoder(os.Stdout).Encode(kept)
}
'''.replace(
    'REQUESTS', str(REQUESTS)
).replace(
    'CONNECTIONS', str(CONNECTIONS)
)


def start(d):
    port = free_port()
    flags = (f'--otlp.grpc.listen-address=127.0.0.1:{port}', '--web.rate-limit=0', '--storage.tsdb.retention.time=0')
    e = Everprof(d, flags=flags).ready()
    e.grpc = port
    return e


def body(at_ms, value=1):
    d = Dictionary()
    place = d.location([('main.work', 'main.go', 7)], 0x2000, d.mapping('/bin/shop', '0123abcd'))
    made = sample('1.10', d.stack([place]), (value,))
    p = profile(d, '1.10', ('samples', 'count'), [made], at_ms * 10**6, 10**9)
    return request(d, [resource(d, {'service.name': 'shop'}, [p])])


def requests(folder):
    """A file for each request; each is of a millisecond of its own."""
    os.makedirs(folder)
    for n in range(REQUESTS):
        with open(f'{folder}/{n}', 'wb') as f:
            f.write(body(AT * 1000 + n, n + 1))
    return folder


def check(d, name, command, folder):
    e = start(f'{d}/{name}')
    began = time.monotonic()
    out = subprocess.run(
        [*command, str(e.grpc), folder], check=True, capture_output=True, text=True, timeout=900
    ).stdout
    took = time.monotonic() - began
    version, kept = out.splitlines()
    kept = set(json.loads(kept))
    [series] = e.range('{service_name="shop"}')
    found = [at - AT * 1000 for at in series['timestamps']]
    assert len(found) == len(set(found)) and set(found) <= set(range(REQUESTS))
    assert kept <= set(found), sorted(kept - set(found))[:5]
    assert len(kept) >= REQUESTS * 8 // 10, len(kept)
    wait_until('the end', 30, lambda: e.metric('everprof_grpc_connections') == 0)
    resets = e.metric('everprof_grpc_streams_reset_total')
    print(
        f'{name} ({version}): {len(kept)} acknowledged, {len(found)} stored, {resets:.0f} reset, '
        f'{REQUESTS / took:.0f} requests/s, {e.metric("everprof_grpc_floods_total"):.0f} floods'
    )
    assert not e.metric('everprof_grpc_floods_total')
    e.finish()


@suite.test
def clients_lose_nothing(d):
    folder = requests(f'{d}/requests')
    with open(f'{d}/client.py', 'w') as f:
        f.write(PYTHON)
    home = f'{CLIENTS}/go'
    with open(f'{home}/main.go', 'w') as f:
        f.write(GO)
    subprocess.run(['go', 'build', '-o', f'{home}/client', '.'], cwd=home, check=True)
    check(d, 'debian', ['/usr/bin/python3', f'{d}/client.py'], folder)
    check(d, 'pypi', [f'{CLIENTS}/python/bin/python3', f'{d}/client.py'], folder)
    check(d, 'go', [f'{home}/client'], folder)


def attack(port, name, cpu):
    """Flood for ever, by one connection after the other; on one CPU, beside the other attackers."""
    os.sched_setaffinity(0, {cpu})
    begin, part = http2.FLOODS[name]
    parts = [b''.join(part(n + i) for i in range(100)) for n in range(0, 2000, 100)]
    while True:
        try:
            c = Http2(port, source='127.0.0.66')  # another client
            if c.send(begin):
                for p in parts:
                    if not c.send(p):
                        break
            c.close()
        except OSError:
            pass


def spin(cpu):
    os.sched_setaffinity(0, {cpu})
    while True:
        pass


def measure(c, seconds):
    """The 99th percentile of the time of a call, in ms, and the number of calls."""
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        assert code(c.call(body(AT * 1000 + len(times)))[0]) == 0
        times.append(time.monotonic() - began)
        time.sleep(0.002)
    times.sort()
    return 1000 * times[len(times) * 99 // 100], len(times)


def beside(function, arguments, c, seconds):
    crowd = [multiprocessing.Process(target=function, args=arguments, daemon=True) for _ in range(ATTACKERS)]
    for p in crowd:
        p.start()
    time.sleep(0.5)
    try:
        return measure(c, seconds)
    finally:
        for p in crowd:
            p.kill()
            p.join()


@suite.test
def floods_hardly_disturb_others(d):
    e = start(d)
    c = Http2(e.grpc)
    measure(c, 2)
    memory = e.memory()
    last = max(os.sched_getaffinity(0))
    slow = []
    for name in http2.FLOODS:
        alone, attacked, calls, highest = [], [], 0, 0
        for _ in range(3):  # in turn: the machine may have other work
            alone.append(beside(spin, (last,), c, SECONDS / 6)[0])
            time_of, n = beside(attack, (e.grpc, name, last), c, SECONDS / 3)
            attacked.append(time_of)
            calls += n
            highest = max(highest, e.memory())
        factor = sorted(attacked)[1] / sorted(alone)[1]
        print(
            f'{name}: p99 {sorted(attacked)[1]:.2f} ms of {calls} calls, {factor:.2f} times as beside a busy CPU; '
            f'memory +{highest - memory:.1f} MB'
        )
        if factor > 2 or highest - memory > 32:
            slow.append(name)
    assert not slow, slow
    c.close()
    e.finish()


suite.main()
