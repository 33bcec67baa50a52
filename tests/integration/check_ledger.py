#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a running everprof with a ledger of what had been listed.

All must be listed. Of those whose bytes are known the newest are compared, and
some of the others, so that a hundred rounds take no longer than a hundred times
one; with "all" each is.

usage: check_ledger.py URL LEDGER [all]     lines of [labels, ms, sha256 or null]"""
import hashlib
import json
import random
import sys
import urllib.parse
import urllib.request

url, ledger, *everything = sys.argv[1:]
NEWEST, OTHERS = 300, 300


def ask(path, **params):
    with urllib.request.urlopen(url + path + '?' + urllib.parse.urlencode(params)) as r:
        return r.read()


data = json.loads(ask('/api/v1/query_range', query='{job=~".+"}', to='now', **{'from': 0}))['data']
have = {json.dumps(s['labels'], sort_keys=True): set(s['timestamps']) for s in data}
lost = wrong = count = 0
entries = [json.loads(line) for line in open(ledger)]
known = [i for i, entry in enumerate(entries) if entry[2]]
looked_at = set(known if everything else known[-NEWEST:] + random.sample(known, min(OTHERS, len(known))))
for i, (labels, ms, sha) in enumerate(entries):
    count += 1
    if ms not in have.get(json.dumps(labels, sort_keys=True), ()):
        print('lost:', labels, ms)
        lost += 1
        continue
    if i in looked_at:
        query = '{' + ','.join(f'{k}={json.dumps(v)}' for k, v in labels.items()) + '}'
        body = ask('/api/v1/query', query=query, time=ms, match='exact', report='raw')
        if hashlib.sha256(body).hexdigest() != sha:
            print('other bytes:', labels, ms)
            wrong += 1
if lost or wrong:
    print(f'{count} in the ledger, {lost} lost, {wrong} changed')
    sys.exit(1)
