#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long suites, each printing "N passed, N failed". Called by ./dev soak.
set -uo pipefail
cd "$(dirname "$0")/.."
failures=0

report() { # NAME PASSED FAILED
  echo "$1: $2 passed, $3 failed"
  failures=$((failures + $3))
}

# A unit test's binary of the release build.
unit() { # NAME TEST
  ./dev build >/dev/null && ninja -C build/release "test_$2" >/dev/null
  if "build/release/test_$2" --jobs 1 --color=never; then
    report "$1" 1 0
  else
    report "$1" 0 1
  fi
}

soak_crash() { # 5 000 power cuts in process, and a fault at every call; 5 000 of a machine that sends
  EVERPROF_CUTS=${CUTS:-5000} EVERPROF_FAULTS=1 EVERPROF_SEED=${SEED:-1} unit crash tsdb_crash
  EVERPROF_CUTS=${CUTS:-5000} EVERPROF_SEED=${SEED:-1} unit cuts remotewrite_cuts
}

soak_blackouts() { # 20 000 lives of a database whose disk fails for a while at random moments
  EVERPROF_ROUNDS=${ROUNDS:-20000} EVERPROF_SEED=${SEED:-1} unit blackouts tsdb_blackouts
}

soak_model() { # 1 000 random scripts beside a naive model
  EVERPROF_SCRIPTS=${SCRIPTS:-1000} EVERPROF_SEED=${SEED:-1} unit model tsdb_model
}

soak_golden() { # every bit of the golden directory
  EVERPROF_FLIPS=1 unit golden tsdb_golden
}

soak_beneath() { # files that change beneath a database in use
  EVERPROF_SECONDS=${SECONDS_EACH:-1800} EVERPROF_SEED=${SEED:-1} unit beneath tsdb_beneath
}

soak_salvage() { # what can be read before a start or a repair can be read after it
  EVERPROF_SECONDS=${SECONDS_EACH:-1800} EVERPROF_SEED=${SEED:-1} unit salvage tsdb_salvage
}

soak_clock() { # clocks that jump
  EVERPROF_SECONDS=${SECONDS_EACH:-1800} EVERPROF_SEED=${SEED:-1} unit clock tsdb_clock
}

soak_weeks() { # two weeks of 50 series, with retention by time and by size
  EVERPROF_DAYS=${DAYS:-14} EVERPROF_SERIES=${SERIES:-50} unit weeks tsdb_weeks
}

soak_kill() { # 100 kill -9 under scrape, seal, compaction and retention load
  ./dev build >/dev/null
  if EVERPROF=$PWD/build/release/everprof EVERPROF_KILLS=${KILLS:-100} \
    python3 tests/integration/test_kill.py; then
    report kill 1 0
  else
    report kill 0 1
  fi
}

soak_disk() { # a small file system that fills up; needs root
  ./dev build >/dev/null
  if EVERPROF=$PWD/build/release/everprof python3 tests/integration/soak_disk.py; then
    report disk 1 0
  else
    report disk 0 1
  fi
}

soak_series() { # many series stay within 256 MiB, and a start within a second
  ./dev build >/dev/null
  local failed=0 out
  for flags in "--series=100000 --profiles=500000" "--series=1000 --profiles=1000000" \
    "--series=360000 --profiles=1440000 --lifetime=4" "--series=1000000 --profiles=2000000"; do
    # shellcheck disable=SC2086
    out=$(build/release/everprof-bench series $flags) || failed=$((failed + 1))
    echo "$flags"
    echo "$out"
    awk '/^memory/ && $3 >= 256 { bad = 1 } /^open/ && $2 >= 1000 { bad = 1 } END { exit bad }' \
      <<<"$out" || failed=$((failed + 1))
  done
  report series $((4 - failed)) $failed
}

soak_corpus() { # every file of a corpus, scraped and imported, byte for byte
  ./dev build >/dev/null
  local corpus=${CORPUS:-../shared/corpus}
  if [ ! -d "$corpus" ]; then
    echo "corpus: $corpus is not there: set CORPUS"
    report corpus 0 1
  elif EVERPROF=$PWD/build/release/everprof \
    python3 tests/integration/soak_corpus.py "$corpus"; then
    report corpus 1 0
  else
    report corpus 0 1
  fi
}

soak_pprof() { # every profile of a corpus, and sums of them, as go tool pprof
  ./dev build >/dev/null
  local corpus=${CORPUS:-../shared/corpus}
  if [ ! -d "$corpus" ]; then
    echo "pprof: $corpus is not there: set CORPUS"
    report pprof 0 1
  elif EVERPROF=$PWD/build/release/everprof \
    python3 tests/integration/soak_pprof.py "$corpus" "${STEP:-1}"; then
    report pprof 1 0
  else
    report pprof 0 1
  fi
}

# soak_NAME.py over the release, with arguments.
over_binary() {
  local name=$1
  shift
  ./dev build >/dev/null
  if EVERPROF=$PWD/build/release/everprof python3 "tests/integration/soak_$name.py" "$@"; then
    report "$name" 1 0
  else
    report "$name" 0 1
  fi
}

# A suite of over_binary, after tests/NAME.sh has made the programs that it needs.
over_programs() {
  if "tests/$1.sh"; then
    over_binary "$1"
  else
    report "$1" 0 1
  fi
}

soak_targets() { # four real programs for two minutes
  over_binary targets
}

soak_conprof() { # damaged directories of conprof, imported by a build with sanitizers
  ./dev build asan >/dev/null
  if EVERPROF=$PWD/build/asan/everprof EVERPROF_SLOW=3 EVERPROF_SECONDS=${SECONDS_EACH:-600} \
    EVERPROF_SEED=${SEED:-1000} \
    python3 tests/integration/test_tools.py damaged_conprof_directories_lose_only_damaged_profiles; then
    report conprof 1 0
  else
    report conprof 0 1
  fi
}

soak_verdicts() { # ours and Go's reader over thousands of mutants
  dpkg -s golang-github-google-pprof-dev >/dev/null 2>&1 ||
    apt-get install -y -qq --no-install-recommends golang-github-google-pprof-dev >/dev/null
  ./dev build >/dev/null && ninja -C build/release everprof-verdict >/dev/null
  (cd tests/verdict && GOPATH=/usr/share/gocode GO111MODULE=off GOCACHE=$PWD/../../build/gocache \
    /usr/bin/go build -o ../../build/verdict-go main.go)
  if python3 tests/verdict/compare.py build/verdict-go build/release/everprof-verdict \
    testdata/fuzz/scan /usr/share/gocode/src/github.com/google/pprof/profile/testdata \
    "${COUNT:-20000}"; then
    report verdicts 1 0
  else
    report verdicts 0 1
  fi
}

soak_fleet() { # 2 000 targets for ten minutes, then 20 000 reloaded
  over_binary fleet "${CORPUS:-../shared/corpus}"
}

soak_hostile() { # targets and clients that are not friendly, at full size
  over_binary hostile
}

soak_load() { # 500 clients that ask for far more than there is memory, for two minutes
  over_binary load
}

soak_restart() { # ready in under a second with 2 GB of sealed segments
  over_binary restart "${CORPUS:-../shared/corpus}"
}

soak_remote_write() { # agent and central instance: 300 kills, bad networks, answers and disks; needs root
  dpkg -s iproute2 >/dev/null 2>&1 || apt-get install -y -qq --no-install-recommends iproute2 >/dev/null
  over_binary remote_write
}

soak_providers() { # real Docker, Podman, containerd, PuppetDB, OpenStack and moto's EC2, from Debian and PyPI; needs root
  over_programs providers
}

soak_peers() { # Prometheus 3, a Kubernetes API server, Consul and Nomad, built from the Go module proxy; the manifests
  over_programs peers
}

soak_senders() { # Go, Python, Rust, Node.js and Java programs push by Pyroscope's libraries, Grafana's client reads; needs Go 1.26
  over_programs senders
}

soak_datadog() { # Python, Node.js and Java programs push by Datadog's libraries
  over_programs datadog
}

soak_assistants() { # the SDKs of the Model Context Protocol list and call the tools; needs Go 1.26
  over_programs assistants
}

soak_grpc() { # clients of gRPC by the ten thousand, and floods of frames; needs Go 1.26
  over_programs grpc
}

soak_kubernetes() { # 50 000 pods, and 1 000 changes a second for a minute
  over_binary kubernetes
}

soak_write_fleet() { # 200 agents of 20 series send to one central instance; an outage, and too little memory
  over_binary write_fleet "${CORPUS:-../shared/corpus}"
}

soak_ebpf() { # the eBPF collector beside perf, and under storms of processes and mappings; needs root
  dpkg -s linux-perf btrfs-progs >/dev/null 2>&1 ||
    apt-get install -y -qq --no-install-recommends linux-perf btrfs-progs >/dev/null
  over_binary ebpf
}

soak_busy() { # the eBPF collector for an hour on a machine that builds, browses and starts programs; needs root
  ./dev packages firefox-esr
  over_binary busy
}

soak_truth() { # the eBPF collector for an hour beside the counters of the kernel and of cgroups; needs root
  ./dev packages g++
  over_binary truth
}

soak_compare() { # comparisons of a busy fleet with itself: what is called a change is a false alarm
  local fleet=${EVERPROF_FLEET:-build/fleet}
  ./dev build >/dev/null && ninja -C build/release compare_fleet >/dev/null
  [ -d "$fleet" ] || python3 bench/busy_fleet.py "$fleet" "${EVERPROF_MINUTES:-25}"
  if build/release/compare_fleet "$fleet" "${SPLITS:-1000}"; then
    report compare 1 0
  else
    report compare 0 1
  fi
}

soak_kernels() { # the sampler in a virtual machine with the kernels of Debian 12 and 11, and under AppArmor
  ./dev packages qemu-system-x86 busybox-static cpio apparmor
  over_binary kernels
}

# 10 minutes, then until cov: stands still for 2, at most 30.
fuzz_one() {
  local target=$1 log=build/fuzz/$1.log rounds=0 last=-1 cov
  local total=0
  mkdir -p build/fuzz
  : >"$log"
  while :; do
    local seconds=120
    [ $rounds = 0 ] && seconds=600
    ./dev fuzz "$target" $seconds >>"$log" 2>&1 || {
      tail -20 "$log"
      return 1
    }
    total=$((total + seconds))
    cov=$(grep -ao 'cov: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
    echo "fuzz $target: $total s, cov $cov, $(grep -ac 'NEW' "$log") new inputs"
    [ $rounds != 0 ] && [ "$cov" = "$last" ] && return 0
    [ $total -ge 1800 ] && return 0
    last=$cov
    rounds=$((rounds + 1))
  done
}

# The names of all fuzz targets.
fuzz_targets() {
  local file
  for file in tests/fuzz/fuzz_*.c; do
    file=${file#tests/fuzz/fuzz_}
    echo "${file%.c}"
  done
}

soak_fuzz() {
  local passed=0 failed=0
  for target in ${TARGETS:-$(fuzz_targets)}; do
    if fuzz_one "$target"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
  report fuzz $passed $failed
}

# The names of all suites, in alphabetical order.
suites() {
  declare -F | sed -n 's/^declare -f soak_//p'
}

main() {
  # shellcheck disable=SC2046
  [ $# != 0 ] || set -- $(suites)
  for name in "$@"; do
    declare -F "soak_$name" >/dev/null || {
      echo "soak: there is no suite \"$name\" ($(suites | paste -sd ' '))"
      exit 2
    }
    "soak_$name"
  done
  [ $failures = 0 ]
}

# Read whole before it runs: suites take hours, and this file may change.
main "$@"
exit
