#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assistants: the SDKs of the Model Context Protocol for TypeScript, Python and Go list
the tools of a server and call each of them, in both eras of the protocol. No answer has
more tokens than it may, by the tokenizer of a large model.

tests/assistants.sh has fetched the SDKs."""
import json
import os
import subprocess

from harness import BINARY, ROOT, Everprof, Suite

suite = Suite()
ASSISTANTS = os.path.join(ROOT, 'build/assistants')
TOOLS = {'list_series', 'list_labels', 'top', 'peek', 'stacks', 'diff', 'source'}
# Answers say from when to when they are, and are the same for all clients.
ALL = {'from': '2000-01-01T00:00:00Z', 'to': '2040-01-01T00:00:00Z'}
SIDES = {f'{end}_{side}': ALL[end] for end in ALL for side in 'ab'}
# Calls whose answers are as long as they may be, and one that is wrong.
CALLS = [
    ('list_series', {**ALL, 'limit': 1000}),
    ('list_labels', {**ALL, 'limit': 1000}),
    ('top', {'selector': 'heap', 'limit': 1000, **ALL}),
    ('top', {'selector': 'profile', 'limit': 1000, 'sort': 'cum', **ALL}),
    ('top', {'selector': 'goroutine', 'limit': 1000, **ALL}),
    ('peek', {'selector': 'heap', 'function': '.', 'limit': 1000, **ALL}),
    ('stacks', {'selector': 'heap', 'limit': 1000, **ALL}),
    ('stacks', {'selector': 'profile', 'limit': 1000, 'max_tokens': 500, **ALL}),
    ('diff', {'selector_a': 'heap', 'selector_b': 'heap', 'normalize': 'none', 'limit': 1000, **SIDES}),
    ('source', {'selector': 'profile', 'function': '.', **ALL}),
    ('top', {}),
]
# Each prints the era, then for each call whether it is an error, and its text.
TYPESCRIPT_1 = '''import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
const c = new Client({ name: 'test', version: '1' });
await c.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await c.listTools();
console.log(JSON.stringify(['legacy', tools.map(t => t.name)]));
for (const [name, args] of JSON.parse(process.argv[3])) {
  const r = await c.callTool({ name, arguments: args });
  console.log(JSON.stringify([!!r.isError, r.content[0].text]));
}
await c.close();
'''
TYPESCRIPT_2 = '''import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
const c = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await c.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await c.listTools();
console.log(JSON.stringify([c.getProtocolEra(), tools.map(t => t.name)]));
for (const [name, args] of JSON.parse(process.argv[3])) {
  const r = await c.callTool({ name, arguments: args });
  console.log(JSON.stringify([!!r.isError, r.content[0].text]));
}
await c.close();
'''
PYTHON = '''import asyncio, json, sys
from mcp import Client

async def main():
    async with Client(sys.argv[1]) as c:
        tools = await c.list_tools()
        print(json.dumps([c.protocol_version, [t.name for t in tools.tools]]))
        for name, arguments in json.loads(sys.argv[2]):
            r = await c.call_tool(name, arguments)
            print(json.dumps([bool(r.is_error), r.content[0].text]))

asyncio.run(main())
'''
GO = '''package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	out := json.NewEncoder(os.Stdout)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, nil)
	check(err)
	tools, err := session.ListTools(ctx, nil)
	check(err)
	names := []string{}
	for _, t := range tools.Tools {
		names = append(names, t.Name)
	}
	out.Encode([]any{"go", names})
	var calls [][]any
	check(json.Unmarshal([]byte(os.Args[2]), &calls))
	for _, c := range calls {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c[0].(string), Arguments: c[1]})
		check(err)
		out.Encode([]any{r.IsError, r.Content[0].(*mcp.TextContent).Text})
	}
	session.Close()
}
'''
COUNT = '''import { encode } from 'gpt-tokenizer';
import { readFileSync } from 'fs';
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(t => encode(t).length)));
'''


def written(path, text):
    with open(path, 'w') as f:
        f.write(text)
    return path


def commands():
    """{client: command}"""
    node, go = f'{ASSISTANTS}/node', f'{ASSISTANTS}/go'
    written(f'{go}/main.go', GO)
    env = {**os.environ, 'GOFLAGS': '-mod=mod', 'GOWORK': 'off'}
    subprocess.run(['go', 'build', '-o', 'assistant', '.'], cwd=go, env=env, check=True)
    return {
        'TypeScript 1': ['node', written(f'{node}/one.mjs', TYPESCRIPT_1)],
        'TypeScript 2': ['node', written(f'{node}/two.mjs', TYPESCRIPT_2)],
        'Python': [f'{ASSISTANTS}/python/bin/python', written(f'{ASSISTANTS}/client.py', PYTHON)],
        'Go': [f'{go}/assistant'],
    }


def tokens(texts):
    path = written(f'{ASSISTANTS}/node/count.mjs', COUNT)
    out = subprocess.run(['node', path], input=json.dumps(texts), capture_output=True, text=True, check=True).stdout
    return json.loads(out)


@suite.test
def sdks_list_and_call_the_tools(d):
    e = Everprof(
        d, flags=['--web.enable-remote-write-receiver', '--storage.tsdb.retention.time=0', '--clock.steady-for=0s']
    ).ready()
    subprocess.run([BINARY, 'push', f'--server={e.url}', f'{ROOT}/testdata/profiles.tar'], check=True)
    answers = {}
    for client, command in commands().items():
        run = subprocess.run([*command, e.url + '/mcp', json.dumps(CALLS)], capture_output=True, text=True)
        assert run.returncode == 0, (client, run.stderr[-2000:])
        (era, names), *results = [json.loads(line) for line in run.stdout.splitlines()]
        assert set(names) == TOOLS, (client, names)
        assert [error for error, _ in results] == [False] * (len(CALLS) - 1) + [True], (client, results)
        answers[client] = [text for _, text in results]
        print(f'{client}: {era}, {len(results)} answers')
    assert len({tuple(texts) for texts in answers.values()}) == 1, 'the clients got different answers'
    counts = tokens(answers['Python'])
    for (tool, arguments), count in zip(CALLS, counts):
        assert count <= arguments.get('max_tokens', 4000), (tool, arguments, count)
    print('tokens:', {f'{tool} {i}': count for i, ((tool, _), count) in enumerate(zip(CALLS, counts))})
    e.finish()


suite.main()
