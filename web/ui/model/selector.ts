// SPDX-License-Identifier: Apache-2.0
// Selectors: heap{job="app",env=~"x|y"}. The server decides what is right; this
// only splits a selector into its parts, so that they can be changed one by one.

export type Op = '=' | '!=' | '=~' | '!~';

export interface Matcher {
  name: string;
  op: Op;
  value: string;
}

export interface Selector {
  /** Profile type: the name before the braces, or of __name__="…". */
  type: string;
  matchers: Matcher[];
}

const plain = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;

/** A quoted text at the start of `s`: its value and its length, or null. */
function quoted(s: string): [string, number] | null {
  const quote = s[0];

  if (quote !== '"' && quote !== "'" && quote !== '`') return null;
  let out = '';
  for (let i = 1; i < s.length; i++) {
    const c = s[i] as string;
    if (c === quote) return [out, i + 1];
    if (c !== '\\' || quote === '`') {
      out += c;
      continue;
    }
    const escaped = s[++i] ?? '';
    const known: Record<string, string> = { n: '\n', t: '\t', r: '\r' };
    if (!/[ntr\\"'`]/.test(escaped)) return null; // an escape that only the server knows
    out += known[escaped] ?? escaped;
  }
  return null;
}

/** The parts of a selector; null if it is not as simple as these parts. */
export function parseSelector(text: string): Selector | null {
  let rest = text.trim();
  const out: Selector = { type: plain.exec(rest)?.[0] ?? '', matchers: [] };

  rest = rest.slice(out.type.length).trim();
  if (!rest) return out.type ? out : null;
  if (!rest.startsWith('{') || !rest.endsWith('}')) return null;
  rest = rest.slice(1, -1).trim();
  while (rest) {
    const name = quoted(rest) ?? [plain.exec(rest)?.[0] ?? '', plain.exec(rest)?.[0].length ?? 0];
    rest = rest.slice(name[1]).trimStart();
    const op = /^(=~|!~|!=|=)/.exec(rest)?.[0] as Op | undefined;
    if (!op) {
      // A quoted text without an operator is the profile type.
      if (!name[0] || out.type || (rest && rest[0] !== ',')) return null;
      out.type = name[0];
    } else {
      const value = quoted(rest.slice(op.length).trimStart());
      if (!value || !name[0]) return null;
      rest = rest.slice(op.length).trimStart().slice(value[1]).trimStart();
      if (name[0] === '__name__' && op === '=' && !out.type) out.type = value[0];
      else out.matchers.push({ name: name[0], op, value: value[0] });
    }
    if (rest && rest[0] !== ',') return null;
    rest = rest.slice(1).trimStart();
  }
  return out;
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')}"`;
}

function nameText(name: string): string {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) ? name : quote(name);
}

/** The text of a selector. */
export function formatSelector(s: Selector): string {
  const simple = plain.exec(s.type)?.[0] === s.type;
  const parts = s.matchers.map(m => `${nameText(m.name)}${m.op}${quote(m.value)}`);

  if (!simple && s.type) parts.unshift(quote(s.type));
  return `${simple ? s.type : ''}${parts.length ? `{${parts.join(',')}}` : ''}`;
}

/** The names of the labels that a selector has matchers for. */
export function matchedLabels(text: string): string[] {
  return parseSelector(text)?.matchers.map(m => m.name) ?? [];
}

/** The selector with a matcher added, which replaces one of the same label and operator "=". */
export function withMatcher(text: string, m: Matcher): string {
  const s = parseSelector(text);

  if (!s) return text;
  const others = s.matchers.filter(x => x.name !== m.name || x.op !== '=' || m.op !== '=');
  return formatSelector({ type: s.type, matchers: [...others, m] });
}

/** The selector of one group of series: its labels as matchers. */
export function withLabels(text: string, labels: Record<string, string>): string {
  return Object.entries(labels).reduce((query, [name, value]) => withMatcher(query, { name, op: '=', value }), text);
}

/** The selector without its matcher number i. */
export function withoutMatcher(text: string, i: number): string {
  const s = parseSelector(text);

  return s ? formatSelector({ type: s.type, matchers: s.matchers.filter((_, k) => k !== i) }) : text;
}

/** The regular expression that matches these values, and no others. */
export function anyOf(values: string[]): string {
  return values.map(v => v.replace(/[\\^$|?*+.()[\]{}]/g, '\\$&')).join('|');
}

/** The selector of all groups of series but these; "": they differ by more than one label. */
export function withoutGroups(text: string, groups: Record<string, string>[]): string {
  const names = new Set(groups.flatMap(Object.keys));
  const [name = ''] = names;

  return names.size === 1 ? withMatcher(text, { name, op: '!~', value: anyOf(groups.map(g => g[name] ?? '')) }) : '';
}
