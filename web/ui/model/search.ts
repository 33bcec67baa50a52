// SPDX-License-Identifier: Apache-2.0
// The search in a flame graph: which names match, and what they weigh together.
import type { FlameAnswer } from '../api/answer.ts';

export interface Found {
  /** By index of a name: whether it matches. */
  names: Uint8Array;
  /** Number of nodes that match. */
  nodes: number;
  /** Weight of all stacks with a match: nested matches count once. */
  weight: number;
  /** Own weight of the matching nodes. */
  self: number;
  /** Why the expression is wrong, or "". */
  error: string;
}

/** A test of names: literal in any case, or /a regular expression/. */
export function matcher(text: string): { test: (name: string) => boolean; error: string } {
  const regex = /^\/(.*)\/$/.exec(text);

  if (!regex) {
    const low = text.toLowerCase();
    return { test: name => name.toLowerCase().includes(low), error: '' };
  }
  try {
    const r = new RegExp(regex[1] as string, 'i');
    return { test: name => r.test(name), error: '' };
  } catch (e) {
    return { test: () => false, error: (e as Error).message };
  }
}

/** Longest time for testing names, in ms: some expressions take for ever. */
const budget = 300;

/** Test all names; returns why not all could be tested, or "". */
function testNames(strings: string[], names: Uint8Array, test: (name: string) => boolean, clock: () => number): string {
  const end = clock() + budget;

  for (let i = 0; i < strings.length; i++) {
    if (clock() > end) return `The expression is too slow: only ${i} of ${strings.length} names were searched.`;
    names[i] = test(strings[i] as string) ? 1 : 0;
  }
  return '';
}

/** Which names are this one. */
export function namesOf(answer: FlameAnswer, name: string): Uint8Array {
  return Uint8Array.from(answer.strings, s => (s === name ? 1 : 0));
}

/**
 * Search all names. Without a text nothing matches. `first`: the first node that can match, which the box of the total
 * in front cannot. `clock`: the time in ms.
 */
export function search(
  answer: FlameAnswer,
  text: string,
  first = 1,
  clock: () => number = () => performance.now(),
): Found {
  const names = new Uint8Array(answer.strings.length);
  const found: Found = { names, nodes: 0, weight: 0, self: 0, error: '' };

  if (!text) return found;
  const m = matcher(text);
  found.error = m.error || testNames(answer.strings, names, m.test, clock);
  // Nodes come after their parents: 1 marks nodes that are in a match.
  const inside = new Uint8Array(answer.name.length);
  for (let i = first; i < answer.name.length; i++) {
    const hit = names[answer.name[i] as number] === 1;
    const nested = inside[answer.parent[i] as number] === 1;
    inside[i] = hit || nested ? 1 : 0;
    if (!hit) continue;
    found.nodes++;
    found.self += answer.self[i] as number;
    if (!nested) found.weight += answer.total_of[i] as number;
  }
  return found;
}
