#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the libraries by which the programs of `./dev soak datadog` push profiles, in the versions that
# docs/integrations.md names, into build/senders: from PyPI, the npm registry and Maven.
set -euo pipefail
cd "$(dirname "$0")/.."
senders=$PWD/build/senders
./dev packages python3-venv default-jdk-headless maven

[ -e "$senders/ddtrace/bin/pip" ] || python3 -m venv "$senders/ddtrace"
"$senders/ddtrace/bin/pip" -q install ddtrace==4.16.0

mkdir -p "$senders/dd-trace"
npm install --prefix "$senders/dd-trace" --no-audit --no-fund --loglevel=error dd-trace@6.21.0

[ -e "$senders/java/dd-java-agent-1.68.1.jar" ] ||
  mvn -q -B dependency:copy -Dartifact=com.datadoghq:dd-java-agent:1.68.1 -DoutputDirectory="$senders/java"
