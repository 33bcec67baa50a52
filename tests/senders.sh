#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the libraries by which the programs of `./dev soak senders` push and read profiles, in the versions that
# docs/integrations.md names, into build/senders: from the Go module proxy, PyPI, crates.io, the npm registry and Maven.
set -euo pipefail
cd "$(dirname "$0")/.."
senders=$PWD/build/senders
version=$(go env GOVERSION 2>/dev/null || echo none)
if [[ ! $version =~ ^go1\.(2[6-9]|[3-9][0-9]) ]]; then
  echo "senders: Go 1.26 or later is needed in PATH, this is: $version"
  exit 1
fi
if ! cargo --version 2>/dev/null | grep -qE '^cargo 1\.(8[5-9]|9[0-9]|[1-9][0-9]{2})\.'; then
  echo "senders: Rust 1.85 or later is needed in PATH, this is: $(cargo --version 2>/dev/null || echo none)"
  exit 1
fi
export GOFLAGS=-mod=mod GOWORK=off
./dev packages python3-venv python3-yaml default-jdk-headless maven

go_module() { # NAME MODULE@VERSION...
  mkdir -p "$senders/$1"
  cd "$senders/$1"
  [ -e go.mod ] || go mod init "everprof.example/$1"
  go get "${@:2}"
  cd - >/dev/null
}
go_module go github.com/grafana/pyroscope-go@v1.5.0
go_module reader github.com/grafana/pyroscope/api@v1.6.0 connectrpc.com/connect@v1.21.1
collector=go.opentelemetry.io/collector/exporter
go_module collector $collector/otlpexporter@v0.165.0 $collector/otlphttpexporter@v0.165.0 \
  $collector/xexporter@v0.165.0 $collector/exportertest@v0.165.0

[ -e "$senders/python/bin/pip" ] || python3 -m venv "$senders/python"
"$senders/python/bin/pip" -q install pyroscope-io==1.4.0

mkdir -p "$senders/rust/src"
cat >"$senders/rust/Cargo.toml" <<'END'
[package]
name = "shop"
version = "0.1.0"
edition = "2021"

[dependencies]
pyroscope = { version = "=2.1.5", features = ["backend-pprof-rs"] }
END
[ -e "$senders/rust/src/main.rs" ] || echo 'fn main() {}' >"$senders/rust/src/main.rs"
cargo fetch --quiet --manifest-path "$senders/rust/Cargo.toml"

# The encoders of OTLP profiles 1.7, 1.9 and 1.10.
for version in 1.37.0 1.40.0 1.45.2; do
  [ -e "$senders/otlp/$version" ] ||
    "$senders/python/bin/pip" -q install --target "$senders/otlp/$version" "opentelemetry-proto==$version"
done

mkdir -p "$senders/node"
npm install --prefix "$senders/node" --no-audit --no-fund --loglevel=error @pyroscope/nodejs@0.6.4

[ -e "$senders/java/agent-2.9.2.jar" ] ||
  mvn -q -B dependency:copy -Dartifact=io.pyroscope:agent:2.9.2 -DoutputDirectory="$senders/java"
