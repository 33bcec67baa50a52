#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the clients of gRPC that `./dev soak grpc` uses.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(go env GOVERSION 2>/dev/null || echo none)
if [[ ! $version =~ ^go1\.(2[6-9]|[3-9][0-9]) ]]; then
  echo "grpc: Go 1.26 or later is needed in PATH, this is: $version"
  exit 1
fi
export GOFLAGS=-mod=mod GOWORK=off
./dev packages python3-venv
mkdir -p build/grpc/go
[ -e build/grpc/python/bin/python3 ] || python3 -m venv build/grpc/python
build/grpc/python/bin/pip install -q grpcio==1.85.3
cd build/grpc/go
[ -e go.mod ] || go mod init everprof.example/grpc >/dev/null 2>&1
go get google.golang.org/grpc@v1.85.0 go.opentelemetry.io/collector/pdata/pprofile@v0.165.0 >/dev/null 2>&1
