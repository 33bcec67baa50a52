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

soak_crash() { # 2 000 power cuts in process
  ./dev build >/dev/null && ninja -C build/release test_tsdb_crash >/dev/null
  if EVERPROF_CUTS=${CUTS:-2000} EVERPROF_SEED=${SEED:-1} \
    build/release/test_tsdb_crash --jobs 1 --color=never; then
    report crash 1 0
  else
    report crash 0 1
  fi
}

soak_kill() { # 50 kill -9 under scrape load
  ./dev build >/dev/null
  if EVERPROF=$PWD/build/release/everprof EVERPROF_KILLS=${KILLS:-50} \
    python3 tests/integration/test_kill.py; then
    report kill 1 0
  else
    report kill 0 1
  fi
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

soak_targets() { # four real programs for two minutes
  ./dev build >/dev/null
  if EVERPROF=$PWD/build/release/everprof \
    python3 tests/integration/soak_targets.py; then
    report targets 1 0
  else
    report targets 0 1
  fi
}

soak_verdicts() { # ours and Go's reader over thousands of mutants
  dpkg -s golang-github-google-pprof-dev >/dev/null 2>&1 ||
    apt-get install -y -qq --no-install-recommends golang-github-google-pprof-dev >/dev/null
  ./dev build >/dev/null && ninja -C build/release everprof-verdict >/dev/null
  (cd tests/verdict && GOPATH=/usr/share/gocode GO111MODULE=off GOCACHE=$PWD/../../build/gocache \
    /usr/bin/go build -o ../../build/verdict-go main.go)
  if python3 tests/verdict/compare.py build/verdict-go build/release/everprof-verdict \
    testdata/fuzz/scan "${COUNT:-20000}"; then
    report verdicts 1 0
  else
    report verdicts 0 1
  fi
}

soak_restart() { # ready in under a second with 2 GB of sealed segments
  ./dev build >/dev/null
  if EVERPROF=$PWD/build/release/everprof \
    python3 tests/integration/soak_restart.py "${CORPUS:-../shared/corpus}"; then
    report restart 1 0
  else
    report restart 0 1
  fi
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

soak_fuzz() {
  local passed=0 failed=0
  for target in ${TARGETS:-scan selector yaml segment rangelog}; do
    if fuzz_one "$target"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
  report fuzz $passed $failed
}

main() {
  [ $# != 0 ] || set -- crash kill corpus verdicts targets restart fuzz
  for name in "$@"; do
    declare -F "soak_$name" >/dev/null || {
      echo "soak: there is no suite \"$name\" (crash kill corpus verdicts targets restart fuzz)"
      exit 2
    }
    "soak_$name"
  done
  [ $failures = 0 ]
}

# Read whole before it runs: suites take hours, and this file may change.
main "$@"
exit
