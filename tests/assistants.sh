#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the SDKs of the Model Context Protocol for `./dev soak assistants`, in the versions that docs/integrations.md
# names, into build/assistants: from the npm registry, PyPI and the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
assistants=$PWD/build/assistants
version=$(go env GOVERSION 2>/dev/null || echo none)
if [[ ! $version =~ ^go1\.(2[6-9]|[3-9][0-9]) ]]; then
  echo "assistants: Go 1.26 or later is needed in PATH, this is: $version"
  exit 1
fi
export GOFLAGS=-mod=mod GOWORK=off
./dev packages python3-venv

mkdir -p "$assistants/go"
cd "$assistants/go"
[ -e go.mod ] || go mod init everprof.example/assistant
go get github.com/modelcontextprotocol/go-sdk@v1.8.0
cd - >/dev/null

[ -e "$assistants/python/bin/pip" ] || python3 -m venv "$assistants/python"
"$assistants/python/bin/pip" -q install mcp==2.3.0

mkdir -p "$assistants/node"
npm install --prefix "$assistants/node" --no-audit --no-fund --loglevel=error \
  @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 gpt-tokenizer@3.4.0
