#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the sources to the architecture, which is CMakeLists.txt:

- a module includes only headers of modules in its DEPENDS, and of those only
  the PUBLIC ones (base/ is public entirely);
- the sub-folders of a module are its rooms. SOURCES lists them from the lowest
  to the highest, and a room includes only headers of its own and of lower
  rooms. Files at the module's root are above all rooms;
- a third-party header is included by the files listed below alone, so that
  each library has one place that knows it;
- the rooms of the web UI, listed in UI below, import only from lower rooms;
- every DEPENDS and PUBLIC is used: the lists say no more than there is;
- file names are unique in the tree; every header and source is in its module,
  in its sub-folders too; no source that git has is left out.

usage: cmake/check-arrows.py [ROOT]
"""
import os
import re
import subprocess
import sys

THIRD_PARTY = {
    'asm/ptrace.h': {'bpf/kernel/sampler.bpf.c'},
    'bpf/bpf.h': {'bpf/kernel/sampler.c'},
    'bpf/bpf_core_read.h': {'bpf/kernel/sampler.bpf.c'},
    'bpf/bpf_helpers.h': {'bpf/kernel/sampler.bpf.c'},
    'bpf/libbpf.h': {'bpf/kernel/sampler.c'},
    # The build makes it of sampler.bpf.c.
    'sampler.skel.h': {'bpf/kernel/sampler.c'},
    'archive.h': {'base/tar.c', 'cmd/tools/source.c'},
    'archive_entry.h': {'base/tar.c', 'cmd/tools/source.c'},
    'crypt.h': {'web/auth/auth_password.c'},
    'ares.h': {'discovery/dns/dns_client.c'},
    'curl/curl.h': {'client/transfer/transfer.h', 'client/address/endpoint.c'},
    'dwarf.h': {'symbols/file/dwarf_index.c', 'symbols/file/dwarf_names.c'},
    'elfutils/libdw.h': {'symbols/file/dwarf_index.h'},
    'elf.h': {'cmd/serve/self_mappings.c', 'symbols/file/elf_pointer.c', 'symbols/file/symbol_table.c'},
    'link.h': {'cmd/serve/self_mappings.c'},
    'expat.h': {'discovery/rest/xml_document.c'},
    'execinfo.h': {'base/mem_profile.c'},
    'gelf.h': {'symbols/file/elf_file.c'},
    'gnutls/abstract.h': {'web/auth/tls.c', 'web/auth/tls_session.c'},
    'gnutls/gnutls.h': {'web/auth/tls.c', 'web/auth/tls_session.c'},
    'gnutls/x509.h': {'web/auth/tls.c'},
    'jansson.h': {
        'adhoc/adhoc_meta.c',
        'base/yaml_json.c',
        'client/transfer/said.c',
        'cmd/cli/api_client.c',
        'cmd/query/query.c',
        'cmd/cli/api_client.h',
        'tsdb/block/meta.c',
    },
    'libiberty/demangle.h': {'symbols/names/demangle.c'},
    'libdeflate.h': {'base/gzip.c'},
    'lzma.h': {'base/xz.c'},
    'microhttpd.h': {'web/http/exchange.h', 'web/http/framing.c'},
    'nghttp2/nghttp2.h': {'web/grpc/grpc_session.c'},
    'openssl/evp.h': {'base/digest.c', 'base/rsa.c'},
    'openssl/pem.h': {'base/rsa.c'},
    'pcre2.h': {'model/regex.c'},
    'grp.h': {'symbols/helper/sandbox.c'},
    'seccomp.h': {'symbols/helper/sandbox.c'},
    'snappy-c.h': {'base/snappy.c'},
    'xxhash.h': {'base/hash.c'},
    'yaml.h': {'base/yaml_private.h'},
    'zstd.h': {'base/zstd.c'},
    'sanitizer/asan_interface.h': {'base/arena.c'},
}
# The rooms of web/ui, from the lowest to the highest.
UI = ['api', 'model', 'draw', 'state', 'parts', 'charts', 'views', 'pages']
# Entry points of programs, which are in no module's library.
PROGRAMS = {'cmd/main.c', 'bench/bench.c'}
BANNED = re.compile(r'\b(strcpy|strcat|sprintf|strncpy|strtok|atoi|atol|gmtime|localtime|vsprintf|gets)\s*\(')
HEAP = re.compile(r'(?<![\w.>])(malloc|calloc|realloc|strdup|strndup)\s*\(')


def modules(text):
    found = {}
    for body in re.findall(r'^add_module\((.*?)\)', text, re.S | re.M):
        words = body.split()
        m, key = {'SOURCES': [], 'DEPENDS': [], 'PUBLIC': [], 'LIBRARIES': []}, None
        for word in words[1:]:
            if word in m:
                key = word
            elif key:
                m[key].append(word)
        found[words[0]] = m
    return found


def check_include(mods, path, kind, name, complain):
    folder = path.split('/')[0]
    if kind == '<':
        if name in THIRD_PARTY and path not in THIRD_PARTY[name]:
            complain(path, f'<{name}> belongs to ' + ', '.join(sorted(THIRD_PARTY[name])))
        elif name not in THIRD_PARTY and not any(os.path.exists(f'{d}/{name}') for d in SYSTEM):
            complain(path, f'<{name}> is not in the list of third-party headers')
        return
    to, header = name.split('/')[0], os.path.basename(name)
    USED.add((folder, to))
    USED.add((folder, f'{to}/{header[:-2]}'))
    if to not in mods:
        complain(path, f'"{name}" is in no module')
    elif to != folder:
        if to not in mods[folder]['DEPENDS']:
            complain(path, f'{folder} may not depend on {to}: "{name}"')
        if to != 'base' and header[:-2] not in mods[to]['PUBLIC']:
            complain(path, f'"{name}" is private to {to}')


# (module, module or header of another) that some file includes.
USED = set()


def check_permissions(mods, complain):
    """Complain of entries of DEPENDS and PUBLIC that no include needs."""
    for name, m in mods.items():
        for to in m['DEPENDS']:
            if (name, to) not in USED:
                complain('CMakeLists.txt', f'{name} DEPENDS on {to}, which no file of it includes')
        for header in m['PUBLIC']:
            if not any(user != name and what == f'{name}/{header}' for user, what in USED):
                complain('CMakeLists.txt', f'{header}.h of {name} is PUBLIC, and no other module includes it')


class Rooms:
    """The rooms of one module: which files are above which."""

    def __init__(self, root, name, sources):
        self.name, self.root = name, root
        self.order = list(dict.fromkeys(os.path.dirname(s) for s in sources if '/' in s))

    def level(self, path):
        """The number of a file's room, from 0; path is below the module."""
        room = os.path.dirname(path)
        return self.order.index(room) if room in self.order else len(self.order)

    def includes(self, path):
        text = open(os.path.join(self.root, self.name, path), encoding='utf-8').read()
        return [
            to
            for to in re.findall(rf'^#include "{self.name}/([^"]+)"', text, re.M)
            if os.path.exists(os.path.join(self.root, self.name, to))
        ]

    def check(self, path, complain):
        below = path[len(self.name) + 1 :]
        for to in self.includes(below):
            if self.level(to) > self.level(below):
                complain(path, f'"{self.name}/{to}" is in a higher room')


# What libc and the compiler bring; any other header must be listed above.
SYSTEM = []
LIBC = re.compile(
    r'^(arpa|sys|linux|net|netinet)/|^(assert|ctype|dirent|errno|'
    r'fcntl|float|ftw|getopt|glob|inttypes|libgen|limits|locale|malloc|math|netdb|poll|'
    r'pthread|sched|setjmp|signal|spawn|stdalign|stdarg|stdatomic|stdbool|'
    r'stddef|stdint|stdio|stdlib|string|strings|time|unistd|wctype)\.h$'
)


def check_file(mods, root, path, complain):
    text = open(os.path.join(root, path), encoding='utf-8').read()
    for kind, name in re.findall(r'^#include ([<"])([^">]+)[">]', text, re.M):
        if kind == '<' and LIBC.match(name):
            continue
        check_include(mods, path, kind, name, complain)
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', '', text, flags=re.S)
    for bad in BANNED.findall(code):
        complain(path, f'{bad}() is not used here')
    if path != 'base/mem.c':
        for bad in HEAP.findall(code):
            complain(path, f'{bad}(): base/mem.h has its own')


def check_ui(root, complain):
    for number, room in enumerate(UI):
        folder = os.path.join(root, 'web/ui', room)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            text = open(os.path.join(folder, name), encoding='utf-8').read()
            for to in re.findall(r"from '\.\./(\w+)/[^']+'", text):
                if to not in UI or UI.index(to) > number:
                    complain(f'web/ui/{room}/{name}', f'imports from {to}, which is a higher room')


def sources_below(root, folder):
    """Sources and headers of a module, in its sub-folders too."""
    found = []
    for d, _, names in os.walk(os.path.join(root, folder)):
        at = os.path.relpath(d, root)
        found += [f'{at}/{n}' for n in names if n.endswith(('.c', '.h'))]
    return sorted(found)


def in_git(root, mods):
    """What git has of the modules; nothing outside of a checkout."""
    r = subprocess.run(['git', '-C', root, 'ls-files', *mods], capture_output=True, text=True)
    return {p for p in r.stdout.split('\n') if p.endswith(('.c', '.h')) and os.path.exists(os.path.join(root, p))}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else '.'
    mods = modules(open(os.path.join(root, 'CMakeLists.txt')).read())
    bad, names, seen = [], {}, set()

    def complain(path, what):
        bad.append(f'{path}: {what}')

    for folder, m in mods.items():
        rooms = Rooms(root, folder, m['SOURCES'])
        for path in sources_below(root, folder):
            name = os.path.basename(path)
            stem = path[len(folder) + 1 : -2]
            if names.setdefault(name, path) != path:
                complain(path, f'the name stands in {names[name]} too')
            # cmake/Bpf.cmake compiles what runs in the kernel.
            if (
                name.endswith('.c')
                and stem not in m['SOURCES']
                and path not in PROGRAMS
                and not name.endswith('.bpf.c')
            ):
                complain(path, 'is not in CMakeLists.txt')
            check_file(mods, root, path, complain)
            rooms.check(path, complain)
            seen.add(path)
    check_ui(root, complain)
    check_permissions(mods, complain)
    for path in in_git(root, mods) - seen:
        complain(path, 'is in git, and was not looked at')
    for line in bad:
        print(line)
    print(f'{len(seen)} files, {len(bad)} complaints')
    return 1 if bad or not seen else 0


sys.exit(main())
