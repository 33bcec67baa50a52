// SPDX-License-Identifier: Apache-2.0
// The theme: what the user chose, or what the system has. The attribute
// data-theme of the page always has the theme that is shown, and an event
// "themechange" follows every change, so that canvases are drawn again.

import { storeChoice, storedChoice } from '../api/storage.ts';

export type Choice = 'system' | 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');

/** What the user chose. */
export function storedTheme(): Choice {
  const t = storedChoice('theme');

  return t === 'light' || t === 'dark' ? t : 'system';
}

function show(choice: Choice): void {
  const is = choice === 'system' ? (system.matches ? 'dark' : 'light') : choice;

  document.documentElement.dataset.theme = is;
  dispatchEvent(new Event('themechange'));
}

export function chooseTheme(choice: Choice): void {
  storeChoice('theme', choice);
  show(choice);
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === 'dark';
}

/** Follow the system from now on. Paper is light. */
export function startTheme(): void {
  addEventListener('beforeprint', () => show('light'));
  addEventListener('afterprint', () => show(storedTheme()));
  system.addEventListener('change', () => show(storedTheme()));
  show(storedTheme());
}

/** A token of the style sheet: "--line". */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
