// SPDX-License-Identifier: Apache-2.0
// Choices of the user that the browser keeps, such as the theme. A browser that
// forbids storage forgets them with the page.

/** What was kept under this name; null: nothing. */
export function storedChoice(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function storeChoice(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The choice lasts as long as the page.
  }
}
