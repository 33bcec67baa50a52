// SPDX-License-Identifier: Apache-2.0
// The package of a function, which gives a box its colour: the same in every
// profile.

/** The package of a function's name: "net/http" of "net/http.(*conn).serve". */
export function packageOf(name: string, file: string): string {
  // Java and other languages with dots, by the file.
  if (/\.(java|kt|scala|py|rb)$/.test(file)) {
    const i = name.lastIndexOf('.');
    const j = name.lastIndexOf('.', i - 1);
    return name.slice(0, j > 0 ? j : i > 0 ? i : name.length);
  }
  // C++ and Rust.
  const colons = name.indexOf('::');
  if (colons > 0) return name.slice(0, colons);
  // Go: up to the first dot behind the last slash.
  const bracket = name.indexOf('[');
  const slash = name.lastIndexOf('/', bracket < 0 ? undefined : bracket);
  const dot = name.indexOf('.', slash + 1);
  return dot > 0 ? name.slice(0, dot) : '';
}

/** FNV-1a, to choose a colour. */
export function fnv(text: string): number {
  let h = 0x811c9dc5;

  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** A long name without its package's folders, for narrow boxes. */
export function shortName(name: string): string {
  const bracket = name.indexOf('[');
  const slash = name.lastIndexOf('/', bracket < 0 ? undefined : bracket);

  return slash < 0 ? name : name.slice(slash + 1);
}
