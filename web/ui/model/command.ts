// SPDX-License-Identifier: Apache-2.0
// A view as commands: what it shows can be had from a shell, too.

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** curl: the answer of the API. */
export function curlCommand(url: string): string {
  return `curl -sS ${shellWord(url)}`;
}

/** go tool pprof: the profile of a report's URL, with its filters. */
export function pprofCommand(url: string): string {
  return `go tool pprof ${shellWord(url)}`;
}
