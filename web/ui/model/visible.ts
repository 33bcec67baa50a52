// SPDX-License-Identifier: Apache-2.0
// Characters that hide what a text says.

/**
 * A text with its bidirectional controls as escapes. Such a character changes
 * the order of others: "a", U+202E and "evil" would read as "alive". Names come
 * from programs that others wrote, so they are shown as they are stored.
 */
export function visible(text: string): string {
  return text.replace(/\p{Bidi_Control}/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
