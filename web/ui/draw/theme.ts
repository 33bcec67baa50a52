// SPDX-License-Identifier: Apache-2.0
// The theme: what the user chose, or what the system has. The attribute
// data-theme of the page always has the theme that is shown, and an event
// "themechange" follows every change, so that canvases are drawn anew.

export type Choice = 'system' | 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');

/** What the user chose; browsers without storage forget it with the page. */
export function storedTheme(): Choice {
  try {
    const t = localStorage.getItem('theme');
    return t === 'light' || t === 'dark' ? t : 'system';
  } catch {
    return 'system';
  }
}

function show(choice: Choice): void {
  const is = choice === 'system' ? (system.matches ? 'dark' : 'light') : choice;

  document.documentElement.dataset.theme = is;
  dispatchEvent(new Event('themechange'));
}

export function chooseTheme(choice: Choice): void {
  try {
    localStorage.setItem('theme', choice);
  } catch {
    // The choice lasts as long as the page.
  }
  show(choice);
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === 'dark';
}

/** Follow the system from now on. */
export function startTheme(): void {
  system.addEventListener('change', () => show(storedTheme()));
  show(storedTheme());
}

/** A token of the style sheet: "--line". */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
