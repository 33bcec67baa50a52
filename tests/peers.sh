#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs that `./dev soak peers` runs beside everprof, from the Go module proxy, into build/peers/bin:
# Prometheus 3.16, the API server of Kubernetes 1.34, Consul 1.14, Nomad 1.5 and Helm 3. Takes about ten minutes, once.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=$PWD/build/peers
mkdir -p "$peers/bin"
version=$(go env GOVERSION 2>/dev/null || echo none)
if [[ ! $version =~ ^go1\.(2[5-9]|[3-9][0-9]) ]]; then
  echo "peers: Go 1.25 or later is needed in PATH, this is: $version"
  exit 1
fi
export GOFLAGS=-mod=mod GOWORK=off GOBIN=$peers/bin
modules=$(go env GOMODCACHE)

# Some modules replace parts of themselves by folders that are not in the module, so they are built in a copy.
copy_module() { # MODULE VERSION FOLDER
  [ ! -e "$3/go.mod" ] || return 0
  (cd /tmp && go mod download "$1@$2")
  mkdir -p "$3"
  cp -r "$modules/$1@$2/." "$3"
  chmod -R u+w "$3"
}

[ -e "$peers/bin/prometheus" ] || go install -ldflags '-s -w' github.com/prometheus/prometheus/cmd/prometheus@v0.316.0
[ -e "$peers/bin/helm" ] || go install -ldflags '-s -w' helm.sh/helm/v3/cmd/helm@v3.22.0

if [ ! -e "$peers/bin/kube-apiserver" ]; then
  copy_module k8s.io/kubernetes v1.34.4 "$peers/kubernetes"
  cd "$peers/kubernetes"
  rm -f go.work go.work.sum
  for m in $(grep -oP '^\s+\Kk8s.io/\S+(?= => ./staging)' go.mod); do
    go mod edit -replace "$m=$m@v0.34.4"
  done
  base=k8s.io/component-base/version
  go build -o "$peers/bin/kube-apiserver" -ldflags \
    "-s -w -X $base.gitVersion=v1.34.4 -X $base.gitMajor=1 -X $base.gitMinor=34" ./cmd/kube-apiserver
fi

# The versions of Consul and Nomad are of their last lines with a free licence.
if [ ! -e "$peers/bin/nomad" ]; then
  nomad=github.com/hashicorp/nomad
  copy_module $nomad v1.5.6 "$peers/nomad"
  cd "$peers/nomad"
  go mod edit -replace $nomad/api=$nomad/api@v0.0.0-20230519153805-2275a83cbfdf
  go build -ldflags '-s -w' -o "$peers/bin/nomad" .
fi

if [ ! -e "$peers/bin/consul" ]; then
  consul=github.com/hashicorp/consul
  copy_module $consul v1.14.11 "$peers/consul"
  rm -rf "$peers/consul/api"
  copy_module $consul/api v1.18.0 "$peers/consul/api"
  cd "$peers/consul"
  # Two members that only the command line uses are newer than this version of the client.
  sed -i '/^type MembersOpts struct {/a\	Filter string' api/agent.go
  sed -i '/^type RaftServer struct {/a\	LastIndex uint64' api/operator_raft.go
  go mod edit -replace $consul/api=./api -replace $consul/sdk=$consul/sdk@v0.13.0 \
    -replace $consul/proto-public=$consul/proto-public@v0.2.0
  go build -ldflags "-s -w -X $consul/version.GitDescribe=v1.14.11" -o "$peers/bin/consul" .
fi
ls "$peers/bin"
