#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Prometheus accepts and refuses, we accept and refuse: configurations
and selectors, judged by Debian's promtool and by us. Each difference stands
below with its reason, and is a test as well: it has to be one still."""
import json
import re
import subprocess

from harness import Suite, run

suite = Suite()
PROMTOOL = '/usr/bin/promtool'

VERSION = tuple(
    int(n)
    for n in re.search(
        r'version (\d+)\.(\d+)',
        subprocess.run([PROMTOOL, '--version'], capture_output=True, text=True, check=True).stdout,
    ).groups()
)


def some(why, since=(0, 0), before=(1000, 0)):
    """A difference from some versions of promtool alone; the oldest of the tests is 2.42, of Debian 12."""
    return why if since <= VERSION < before else None


def known(table):
    return {name: why for name, why in table.items() if why}


NAMES = 'names of labels are any UTF-8, as in Prometheus 3; this promtool knows the older rule'
IGNORED = 'the key means nothing here and is ignored with a warning, whatever its value'
HUGE = 'whole numbers are below 2^63; Go turns larger ones and fractions into other numbers silently'

DIFFERENCES = known(
    {
        'labelmap repl': NAMES,
        'labelmap repl 1': NAMES,
        'target_label bad': NAMES,
        'target_label num': NAMES,
        'target_label var bad': NAMES,
        'hashmod target': NAMES,
        'source bad': NAMES,
        'source num': NAMES,
        'label bad': NAMES,
        'global ext bad': NAMES,
        'source null': 'a label without a name has no value: a mistake',
        'hashmod huge': HUGE,
        'hashmod huger': HUGE,
        'hashmod float': HUGE,
        'limit float': HUGE,
        'sd refresh 0': 'a file or URL is read at most ten times a second; Prometheus panics later',
        'http_sd refresh 0': 'the same',
        'yaml 1.2': 'what configurations use means the same in YAML 1.2',
        'two docs': 'Prometheus reads the first one alone, and never says so',
        'sample_limit quoted': IGNORED,
        'sample_limit neg': IGNORED,
        'honor 1': IGNORED,
        'honor quoted': IGNORED,
        'honor tRue': IGNORED,
        'honor ture': IGNORED,
        'honor_ts quoted': IGNORED,
        'metric_relabel bad': IGNORED,
        'body neg': 'a size is not negative',
        'body num': 'a number alone is bytes, as in our flags',
        'timeout beyond': 'a scrape begins its timeout after the seconds that its profile asks for; a warning',
        'global timeout': 'the same',
        'interval 1y': 'at most a day: a schedule beyond it is a mistake',
        'scheme ftp': 'Prometheus has targets down for it',
        'scheme empty': 'the same',
        'proxy noscheme': 'Prometheus takes "a" in "a:1" for the scheme, and every request fails',
        'long label': 'values of labels are 64 KiB at most: docs/api.md',
        'tag int': 'tags of YAML are not interpreted',
        'keep_dropped': some('Prometheus has it since 2.47', before=(2, 47)),
        'target_label lowercase': some(NAMES, since=(2, 53)),
    }
)


def job(more):
    return 'scrape_configs:\n- job_name: a\n' + more + "  static_configs: [{targets: ['a:1']}]\n"


def rule(text):
    return job('  relabel_configs:\n  - ' + text + '\n')


CONFIGURATIONS = {
    'plain': job(''),
    'empty action': rule('{action: ""}'),
    'null action': rule('{action: }'),
    'action upper': rule('{action: Keep, source_labels: [a]}'),
    'labelmap repl': rule('{action: labelmap, regex: a, replacement: "a-b"}'),
    'labelmap repl $': rule('{action: labelmap, regex: "(a)", replacement: "x_$1"}'),
    'labelmap repl ${1}': rule('{action: labelmap, regex: "(a)", replacement: "x_${1}"}'),
    'labelmap repl 1': rule('{action: labelmap, regex: "(a)", replacement: "1"}'),
    'target_label bad': rule('{target_label: "a-b"}'),
    'target_label empty': rule('{source_labels: [a]}'),
    'target_label num': rule('{target_label: "1a"}'),
    'target_label var': rule('{target_label: "${1}a", source_labels: [a]}'),
    'target_label var bad': rule('{target_label: "${1-}a", source_labels: [a]}'),
    'target_label lowercase': rule('{target_label: "${1}a", source_labels: [a], action: lowercase}'),
    'hashmod target': rule('{target_label: "a-", source_labels: [a], action: hashmod, modulus: 3}'),
    'hashmod none': rule('{target_label: "a", source_labels: [a], action: hashmod}'),
    'hashmod neg': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: -1}'),
    'hashmod quoted': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: "3"}'),
    'hashmod huge': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 18446744073709551615}'),
    'hashmod huger': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 18446744073709551616}'),
    'hashmod float': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 3.5}'),
    'hashmod 3.0': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 3.0}'),
    'hashmod hex': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 0x10}'),
    'hashmod oct': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 0o10}'),
    'hashmod _': rule('{target_label: "a", source_labels: [a], action: hashmod, modulus: 1_000}'),
    'source bad': rule('{source_labels: ["a-b"], target_label: x}'),
    'source empty': rule('{source_labels: [""], target_label: x}'),
    'source null': rule('{source_labels: [null], target_label: x}'),
    'source scalar': rule('{source_labels: a, target_label: x}'),
    'source num': rule('{source_labels: [1], target_label: x}'),
    'null rule': job('  relabel_configs:\n  -\n'),
    'null rules': job('  relabel_configs:\n'),
    'nested repetition': rule('{regex: "((a{100}){100})", target_label: x}'),
    'nested repetition2': rule('{regex: "(a{1000}){2}", target_label: x}'),
    'repetition 1001': rule('{regex: "a{1001}", target_label: x}'),
    'repetition 1000': rule('{regex: "a{1000}", target_label: x}'),
    'regex bad': rule('{regex: "(", target_label: x}'),
    'regex null': rule('{regex: , target_label: x}'),
    'regex num': rule('{regex: 1, target_label: x}'),
    'labeldrop more': rule('{action: labeldrop, regex: a, source_labels: [a]}'),
    'labelkeep more': rule('{action: labelkeep, regex: a, target_label: a}'),
    'keepequal': rule('{action: keepequal, source_labels: [a], target_label: b}'),
    'keepequal regex': rule('{action: keepequal, source_labels: [a], target_label: b, regex: x}'),
    'separator null': rule('{separator: , target_label: x}'),
    'separator num': rule('{separator: 1, target_label: x}'),
    'sd bad glob': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["a[.json"]}]\n',
    'sd glob mid': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["*/a.json"]}]\n',
    'sd glob class': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["[ab].json"]}]\n',
    'sd glob ?': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["?.json"]}]\n',
    'sd glob two': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["*a*.json"]}]\n',
    'sd ext': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["a.txt"]}]\n',
    'sd none': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: []}]\n',
    'sd refresh 0': 'scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ["a.json"], refresh_interval: 0s}]\n',
    'null target': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: [null]}]\n',
    'num target': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: [1]}]\n',
    'empty target': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: [""]}]\n',
    'url target': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["http://a:1"]}]\n',
    'path target': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["a:1/x"]}]\n',
    'label bad': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["a:1"], labels: {"a-b": c}}]\n',
    'label num': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["a:1"], labels: {a: 1}}]\n',
    'label null': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["a:1"], labels: {a: }}]\n',
    'label list': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["a:1"], labels: {a: [b]}}]\n',
    'null static': 'scrape_configs:\n- job_name: a\n  static_configs: [null]\n',
    'yaml 1.1': '%YAML 1.1\n---\n' + job(''),
    'yaml 1.2': '%YAML 1.2\n---\n' + job(''),
    'yaml 1.3': '%YAML 1.3\n---\n' + job(''),
    'yaml 2.0': '%YAML 2.0\n---\n' + job(''),
    'two docs': job('') + '---\n' + job(''),
    'limit quoted': job("  target_limit: '5'\n"),
    'limit neg': job("  target_limit: -5\n"),
    'limit huge': job("  target_limit: 99999999999999999999\n"),
    'limit float': job("  target_limit: 5.5\n"),
    'limit 5.0': job("  target_limit: 5.0\n"),
    'limit 1e3': job("  target_limit: 1e3\n"),
    'limit hex': job("  target_limit: 0x10\n"),
    'limit null': job("  target_limit: \n"),
    'limit bool': job("  target_limit: true\n"),
    'label_limit neg': job("  label_limit: -5\n"),
    'label_limit quoted': job("  label_limit: '5'\n"),
    'sample_limit quoted': job("  sample_limit: '5'\n"),
    'sample_limit neg': job("  sample_limit: -1\n"),
    'body quoted': job("  body_size_limit: '5MB'\n"),
    'body neg': job("  body_size_limit: -5MB\n"),
    'body num': job("  body_size_limit: 5\n"),
    'body bad': job("  body_size_limit: 5XB\n"),
    'body huge': job("  body_size_limit: 99999999999999999999\n"),
    'body 0': job("  body_size_limit: 0\n"),
    'honor 1': job("  honor_labels: 1\n"),
    'honor quoted': job("  honor_labels: 'true'\n"),
    'honor yes': job("  honor_labels: yes\n"),
    'honor on': job("  honor_labels: on\n"),
    'honor TRUE': job("  honor_labels: TRUE\n"),
    'honor True': job("  honor_labels: True\n"),
    'honor tRue': job("  honor_labels: tRue\n"),
    'honor y': job("  honor_labels: y\n"),
    'honor ture': job("  honor_labels: ture\n"),
    'honor null': job("  honor_labels: \n"),
    'honor_ts quoted': job("  honor_timestamps: 'true'\n"),
    'follow 1': job("  follow_redirects: 1\n"),
    'follow quoted': job("  follow_redirects: 'true'\n"),
    'follow yes': job("  follow_redirects: yes\n"),
    'follow y': job("  follow_redirects: y\n"),
    'follow on': job("  follow_redirects: on\n"),
    'follow False': job("  follow_redirects: False\n"),
    'follow fAlse': job("  follow_redirects: fAlse\n"),
    'follow ture': job("  follow_redirects: ture\n"),
    'follow null': job("  follow_redirects:\n"),
    'http2 1': job("  enable_http2: 1\n"),
    'skip 1': job("  tls_config: {insecure_skip_verify: 1}\n"),
    'skip quoted': job("  tls_config: {insecure_skip_verify: 'true'}\n"),
    'timeout beyond': job("  scrape_interval: 5s\n  scrape_timeout: 10s\n"),
    'interval 0': job("  scrape_interval: 0s\n"),
    'interval 0n': job("  scrape_interval: 0\n"),
    'timeout 0': job("  scrape_timeout: 0s\n"),
    'interval neg': job("  scrape_interval: -5s\n"),
    'interval num': job("  scrape_interval: 5\n"),
    'interval null': job("  scrape_interval:\n"),
    'interval 1h30m': job("  scrape_interval: 1h30m\n"),
    'interval 30m1h': job("  scrape_interval: 30m1h\n"),
    'interval 1.5h': job("  scrape_interval: 1.5h\n"),
    'interval 1y': job("  scrape_interval: 1y\n"),
    'interval huge': job("  scrape_interval: 99999y\n"),
    'interval quoted': job("  scrape_interval: '15s'\n"),
    'global timeout': 'global: {scrape_interval: 5s, scrape_timeout: 10s}\n' + job(''),
    'global null': 'global:\n' + job(''),
    'global ext bad': 'global: {external_labels: {"a-b": c}}\n' + job(''),
    'ext': 'global: {external_labels: {a: c}}\n' + job(''),
    'merge': 'x: &x {scheme: http}\nscrape_configs:\n- job_name: a\n  <<: *x\n',
    'merge2': 'scrape_configs:\n- &x\n  job_name: a\n  scheme: http\n- <<: *x\n  job_name: b\n',
    'anchor': 'scrape_configs:\n- job_name: a\n  params: &p {a: [b]}\n- job_name: b\n  params: *p\n',
    'empty': '',
    'null doc': 'null\n',
    'comment': '# x\n',
    'list doc': '[]\n',
    'scalar doc': 'a\n',
    'job twice': 'scrape_configs:\n- job_name: a\n- job_name: a\n',
    'job empty': 'scrape_configs:\n- job_name: ""\n',
    'job none': 'scrape_configs:\n- scheme: http\n',
    'job num': 'scrape_configs:\n- job_name: 1\n',
    'job null': 'scrape_configs:\n- job_name:\n',
    'null job': 'scrape_configs:\n-\n',
    'null jobs': 'scrape_configs:\n',
    'scheme HTTP': job('  scheme: HTTP\n'),
    'scheme ftp': job('  scheme: ftp\n'),
    'scheme null': job('  scheme:\n'),
    'scheme empty': job('  scheme: ""\n'),
    'unknown': job('  foo: 1\n'),
    'dup key': job('  scheme: http\n  scheme: http\n'),
    'params scalar': job('  params: {a: b}\n'),
    'params num': job('  params: {a: [1]}\n'),
    'params null': job('  params: {a: }\n'),
    'auth both': job('  basic_auth: {username: a}\n  authorization: {credentials: b}\n'),
    'auth pw both': job('  basic_auth: {username: a, password: a, password_file: b}\n'),
    'bearer': job('  bearer_token: a\n'),
    'auth basic type': job('  authorization: {type: Basic, credentials: b}\n'),
    'auth type': job('  authorization: {type: " Bearer ", credentials: b}\n'),
    'oauth none': job('  oauth2: {}\n'),
    'oauth noid': job('  oauth2: {client_secret: a, token_url: "http://a"}\n'),
    'oauth nourl': job('  oauth2: {client_secret: a, client_id: "a"}\n'),
    'oauth both': job('  oauth2: {client_secret: a, client_secret_file: b, client_id: "a", token_url: "http://a"}\n'),
    'proxy bad': job('  proxy_url: "://"\n'),
    'proxy noscheme': job('  proxy_url: "a:1"\n'),
    'tls ver': job('  tls_config: {min_version: TLS14}\n'),
    'tls cert nokey': job('  tls_config: {cert_file: a}\n'),
    'tls null': job('  tls_config:\n'),
    'http_sd none': 'scrape_configs:\n- job_name: a\n  http_sd_configs: [{}]\n',
    'http_sd ftp': 'scrape_configs:\n- job_name: a\n  http_sd_configs: [{url: "ftp://a"}]\n',
    'http_sd nohost': 'scrape_configs:\n- job_name: a\n  http_sd_configs: [{url: "http://"}]\n',
    'http_sd ok': 'scrape_configs:\n- job_name: a\n  http_sd_configs: [{url: "http://a"}]\n',
    'http_sd refresh 0': 'scrape_configs:\n- job_name: a\n  http_sd_configs: [{url: "http://a", refresh_interval: 0s}]\n',
    'long label': 'scrape_configs:\n- job_name: a\n  static_configs: [{targets: ["a:1"], labels: {a: "'
    + 'x' * 70000
    + '"}}]\n',
    'long job': 'scrape_configs:\n- job_name: "' + 'x' * 70000 + '"\n',
    'tab': 'scrape_configs:\n\t- job_name: a\n',
    'nul': 'scrape_configs: []\0\n',
    'bom': '\ufeff' + job(''),
    'tag !!str': job('  scheme: !!str http\n'),
    'tag int': job('  target_limit: !!int "5"\n'),
    'tag odd': job('  scheme: !foo http\n'),
    'alias bomb': 'a: &a [x,x]\n',
    'keep_dropped': job('  keep_dropped_targets: 5\n'),
    'metric_relabel bad': job('  metric_relabel_configs: [{action: foo}]\n'),
}

QUOTED = some('names in quotes are of Prometheus 3, and parsed by 2.53', before=(2, 53))
TYPES = 'a profile type may be called like a word of PromQL'
SELECTOR_DIFFERENCES = known(
    {
        r'heap{a=~"(?P<n>a)(?P<n>b)"}': 'two groups of one name: ${name} would be ambiguous',
        r'heap{a=~"(?<n>a)"}': some('Go accepts it since 1.22', before=(2, 53)),
        r'heap{a=~"\\Qa.b"}': some('Go accepts it, but in what Prometheus wraps around it', before=(2, 53)),
        r'heap{a=~"(?P<1n>a)"}': "PCRE2's names do not begin with a digit",
        r'heap{a="\xff"}': 'values of labels are UTF-8',
        'heap{"a"="b"}': QUOTED,
        '{"heap"}': QUOTED,
        '{"heap",a="b"}': QUOTED,
        'heap{a="b"}[5m]': 'a selector, no expression',
        'heap{a="b"} offset 5m': 'the same',
        '(heap)': 'the same',
        'on': TYPES,
        'inf{a="b"}': TYPES,
        'bool{a="b"}': TYPES,
        'atan2{a="b"}': TYPES,
    }
)
SELECTORS = r'''heap{__name__=~"x"}
heap{__name__="heap"}
heap{__name__!="heap"}
{__name__="a",__name__="b"}
{__name__=~"a",__name__!="b"}
heap{a=~"(a{1000}){2}"}
heap{a=~"((a{100}){10})"}
heap{a=~"((a{100}){11})"}
heap{a=~"(a{2}b{500}){2}"}
heap{a=~"(a{2}|b{500}){3}"}
heap{a=~"(a{0,501}){2}"}
heap{a=~"(a{501,}){2}"}
heap{a=~"(?:a{1000}){0}"}
heap{a=~"(a{1000})*"}
heap{a=~"a{1000}{2}"}
heap{a=~"a**"}
heap{a=~"a{,5}"}
heap{a=~"a{2,1}"}
heap{a=~"[\\d-z]"}
heap{a=~"[a-\\d]"}
heap{a=~"[\\w-]"}
heap{a=~"[-\\w]"}
heap{a=~"[[:alpha:]-z]"}
heap{a=~"[a-c-e]"}
heap{a=~"[\\pL-z]"}
heap{a=~"(?P<n>a)(?P<n>b)"}
heap{a=~"(?P<n>a)(?P<m>b)"}
heap{a=~"(?<n>a)"}
heap{a=~"(?i)a"}
heap{a=~"(?i-s:a)"}
heap{a=~"(?x)a"}
heap{a=~"(?=a)"}
heap{a=~"\\1"}
heap{a=~"\\C"}
heap{a=~"\\pN"}
heap{a=~"\\p{Greek}"}
heap{a=~"\\p{Foo}"}
heap{a=~"\\x{10FFFF}"}
heap{a=~"\\x{110000}"}
heap{a=~"[b-a]"}
heap{a=~"[]a]"}
heap{a=~"[]"}
heap{a=~"[^]"}
heap{a=~"[a"}
heap{a=~")"}
heap{a=~"*"}
heap{a=~"+a"}
heap{a=~"a||b"}
heap{a=~"\\Qa.b"}
heap{a=~"\\Qa.b\\E+"}
heap{a=~"\\8"}
heap{a=~"\\_"}
heap{a=~"\\-"}
heap{a=~"\\ä"}
heap{a=~"[[:foo:]]"}
heap{a=~"[[:^alpha:]]"}
heap{a=~"(?P<n>"}
heap{a=~"(?P<1n>a)"}
heap{a=~"(?P<>a)"}
heap{a=~"(?P<näh>a)"}
heap{a=~"(?i)(?-i)a"}
heap{a=~"(?--i)a"}
heap{a=~"(?)a"}
heap{a=~"(?-)a"}
heap{a=~"(?ii)a"}
heap{a=~"a{1001}"}
heap{a=~"a{1000}"}
heap{a=~"a{0}"}
heap{a=~"a{99999999999}"}
heap{a=~"a{-1}"}
heap{a=~"a{1"}
heap{a=~"\\z\\A"}
heap{a=~"\\Z"}
heap{a=~"\\h"}
heap{a=~"\\cA"}
heap{a=~"\\e"}
heap{a=~"\\07"}
heap{a=~"\\123"}
heap{a=~"(?#c)a"}
heap{a=~"a++"}
heap{a=~"a*+"}
heap{a=~"a??"}
heap{a=~"a?+"}
heap{a=~"a{1}{1}"}
heap{a=~"a{1}?"}
heap{a=~"a{1}+"}
heap{a=~"a{1}*"}
heap{a=~"(|a)*"}
heap{a=~"^*"}
heap{a=~"(^)*"}
heap{a=~"$+"}
heap{a=~"\\b+"}
heap{a=~""}
heap{a=""}
{a=""}
{a=~".*"}
{a=~".+"}
{a!=""}
{}
heap{}
heap
heap{a="b",}
heap{,}
heap{a="b",,}
heap{a='b'}
heap{a=`b`}
heap{a="\xff"}
heap{a="\u00e4"}
heap{a="\q"}
heap{a="\'"}
heap{a='\"'}
heap{a="\101"}
heap{a="\400"}
heap{a="b" }  
  heap { a = "b" }
heap{"a"="b"}
{"heap"}
{"heap",a="b"}
heap{"heap"}
heap{a=="b"}
heap{a=b}
heap{a}
heap{1="b"}
heap{a-b="c"}
heap:x{a="b"}
heap{a:b="c"}
1heap
heap{a="b"} # comment
heap{a="b"}[5m]
heap{a="b"} offset 5m
(heap)
sum{a="b"}
by{a="b"}
by
on
heap{by="b"}
heap{on="b"}
heap{inf="b"}
inf
nan
inf{a="b"}
and{a="b"}
offset{a="b"}
bool{a="b"}
start{a="b"}
atan2{a="b"}
hëap
heap{ä="b"}
heap{a="b"}}
heap{{a="b"}
heap{a="b"
heap{a="b
heap{a="b";c="d"}
heap{a=~"(a"}
heap{a!~"["}
heap{a !~ "x"}
heap{a ! ~ "x"}
heap{a="x" b="y"}
heap{a="x",a="y"}
_
:
:a
heap{_="x"}
heap{__a__="x"}'''.split(
    '\n'
)
SELECTORS += [
    'x' * 100000,
    'heap{' + ','.join('a%d="b"' % i for i in range(100)) + '}',
    'heap{a=~"' + 'x' * 70000 + '"}',
    'heap{a=~"' + 'a' * 900 + '{1000}"}',
    'heap{a=~"(((a{30}){30}))"}',
    'heap{a=~"' + '(' * 1001 + ')' * 1001 + '"}',
    'heap{a=~"' + '(' * 200 + ')' * 200 + '"}',
    'heap{a=~"' + '(' * 999 + ')' * 999 + '"}',
]


def refused_by_promtool(d, command, text):
    path = f'{d}/input.yml'
    with open(path, 'wb') as f:
        f.write(text.encode())
    argv = [PROMTOOL, 'check', *command, path]
    return subprocess.run(argv, capture_output=True, text=True).returncode != 0


def judge(d, cases, promtool, ours, differs):
    """cases: (name, what promtool reads, our last argument or None for that file). Each is judged
    alike, but for those of which differs(name) is true."""
    wrong = []
    for name, text, argument in cases:
        theirs = refused_by_promtool(d, promtool, text)
        r = run(*ours, argument if argument is not None else f'{d}/input.yml')
        assert r.returncode in (0, 1), (name[:100], r)
        if ((r.returncode == 1) != theirs) != differs(name):
            wrong.append((name[:100], 'refused' if theirs else 'accepted', r.stderr))
    assert not wrong, wrong


@suite.test
def configurations_are_accepted_like_prometheus(d):
    judge(
        d,
        ((name, text, None) for name, text in CONFIGURATIONS.items()),
        ('config', '--syntax-only'),
        ('check', 'config'),
        lambda name: name in DIFFERENCES,
    )
    assert set(DIFFERENCES) <= set(CONFIGURATIONS)


@suite.test
def selectors_are_accepted_like_prometheus(d):
    def rules(text):
        return json.dumps({'groups': [{'name': 'a', 'rules': [{'record': 'x', 'expr': text}]}]})

    def differs(text):
        # A selector has 64 KiB and 64 matchers at most.
        return text in SELECTOR_DIFFERENCES or len(text) > 65536 or text.count(',') > 63

    judge(d, ((text, rules(text), text) for text in SELECTORS), ('rules',), ('check', 'selector', '--'), differs)
    assert set(SELECTOR_DIFFERENCES) <= set(SELECTORS)


suite.main()
