#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the programs that `./dev soak providers` asks, from Debian's packages, and OpenStack's services and moto, from
# PyPI, into build/peers/venv. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/build/peers/venv
./dev packages prometheus docker.io podman containerd runc containernetworking-plugins busybox-static iproute2 iptables \
  curl postgresql puppetdb python3-venv
[ -e "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" -q install keystone==28.0.0 nova==32.0.0 neutron==27.0.0 neutron-lib==3.21.1 psycopg2-binary==2.9.10 \
  'moto[server,ec2]==5.2.5'
