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
  // Go: up to the first dot behind the path.
  const dot = name.indexOf('.', pathLength(name));
  return dot > 0 ? name.slice(0, dot) : '';
}

/**
 * The length of the path in front of a name, with its last slash: 4 of
 * "net/http.Get", 0 of "operator/(double)". Names of many languages have
 * slashes, so a path has only characters of Go's import paths, and is followed
 * by something other than the arity of a function ("map/2" of Erlang).
 * pprof/report/flame_svg.c has the same rule.
 */
function pathLength(name: string): number {
  const end = name.search(/[\s!"#&'()*,:;<=>?[\\\]^`{|}]|$/);
  const length = name.lastIndexOf('/', end) + 1;
  return length < end && !/^\d+$/.test(name.slice(length)) ? length : 0;
}

/** A name without the major versions of Go modules, as pprof/filter/module_version.c removes them, but for gopkg.in. */
export function withoutVersion(name: string): string {
  return name.replace(/[^\s;{}*&[\],()<>"'`:]+/g, path =>
    /^[^/]*\.[^/]*\//.test(path) ? path.replace(/\/v(?:[2-9]|[1-9]\d+)(?=[/.])/g, '') : path,
  );
}

/** FNV-1a, to choose a colour. */
export function fnv(text: string): number {
  let h = 0x811c9dc5;

  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** A long name without its package's folders, for narrow boxes. */
export function shortName(name: string): string {
  return name.slice(pathLength(name));
}
