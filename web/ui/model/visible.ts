// SPDX-License-Identifier: Apache-2.0
// Characters that hide what a text says.

/**
 * A text with its bidirectional controls as escapes. Such a character changes
 * the order of others: "a", U+202E and "evil" would read as "alive". Names come
 * from programs that others wrote, so they are shown as they are stored.
 */
export function visible(text: string): string {
  return text.replace(/\p{Bidi_Control}/gu, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The attributes with texts that people read or hear. */
const readAttributes = ['title', 'aria-label', 'placeholder'];

/** Make the texts of a node of the page visible: a node whose type is null is a text, one with a name is an element. */
export function makeVisible(node: { type: unknown; props: unknown }): void {
  if (node.type === null && typeof node.props === 'string') node.props = visible(node.props);
  if (typeof node.type !== 'string') return;
  const props = node.props as Record<string, unknown>;
  for (const name of readAttributes) {
    const text = props[name];
    if (typeof text === 'string') props[name] = visible(text);
  }
}
