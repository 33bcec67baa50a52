// SPDX-License-Identifier: Apache-2.0
// Hooks and functions that several parts share: the size of an element, the
// theme, the keys of the page, the shown sample type and unit, and labels.
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Line } from '../api/answer.ts';
import type { Loader } from '../api/loader.ts';
import { storeChoice, storedChoice } from '../api/storage.ts';
import { dark, light, type Palette } from '../draw/palette.ts';
import { isDark } from '../draw/theme.ts';
import { type Kind, kindOf } from '../model/series.ts';
import type { Context } from '../state/context.ts';
import { askedScale, isSingle, viewKey } from '../state/requests.ts';

export interface Size {
  width: number;
  height: number;
  /** Pixels of the screen per pixel of the page. */
  ratio: number;
}

/** The size of an element, and of its pixels. */
export function useSize(element: { current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0, ratio: 1 });

  // Before the first frame, so that it has a picture already.
  useLayoutEffect(() => {
    const e = element.current;
    if (!e) return;
    const read = (): void =>
      setSize(s =>
        s.width === e.clientWidth && s.height === e.clientHeight && s.ratio === devicePixelRatio
          ? s
          : { width: e.clientWidth, height: e.clientHeight, ratio: devicePixelRatio },
      );
    read();
    const observer = new ResizeObserver(read);
    observer.observe(e);
    // Zooming the page changes the ratio, not always the size.
    addEventListener('resize', read);
    return () => {
      observer.disconnect();
      removeEventListener('resize', read);
    };
  }, []);
  return size;
}

/** The palette of the theme, which may change. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(isDark() ? dark : light);

  useEffect(() => {
    const read = (): void => setPalette(isDark() ? dark : light);
    addEventListener('themechange', read);
    return () => removeEventListener('themechange', read);
  }, []);
  return palette;
}

/** A canvas as large as the element's pixels, and its context; null before it is laid out. */
export function fitCanvas(canvas: HTMLCanvasElement | null, size: Size): CanvasRenderingContext2D | null {
  const ctx = canvas?.getContext('2d');

  if (!canvas || !ctx || !size.width) return null;
  const width = Math.round(size.width * size.ratio);
  const height = Math.round(size.height * size.ratio);
  // A new size throws away the picture and its memory: not in each frame.
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return ctx;
}

/** The sample type that is shown: what the user chose, or what the server chose for the view. */
export function shownType({ state, loader }: Context): string {
  const answer = loader.get<{ sample_type?: string }>(viewKey(state))?.answer?.data;

  return state.sample_index || answer?.sample_type || '';
}

/** How the values of the shown sample type add up, once the chart is there. */
export function shownKind(context: Context): Kind {
  return kindOf(context.loader.get<Line[]>('lines')?.answer?.data ?? [], shownType(context));
}

/** By what values of each kind are compared if the URL does not say it. */
const scales: Record<Kind, 'share' | 'rate' | 'value'> = { flow: 'share', counter: 'rate', state: 'value' };

/** By what the server has compared the sides; '' before its answer. */
function scaledBy({ state, loader }: Context): 'share' | 'rate' | 'value' | '' {
  const loaded = loader.get(viewKey(state));
  const said = loaded?.stale ? '' : (loaded?.answer?.headers.get('X-Everprof-Normalize') ?? '');
  const names = { total: 'share', rate: 'rate', none: 'value' } as const;

  return names[said as keyof typeof names] ?? '';
}

/** By what the two sides are compared: shares of the total, values in a second, or values. */
export function comparedBy(context: Context): 'share' | 'rate' | 'value' | '' {
  const asked = askedScale(context.state);

  // Of single profiles and files, the server knows the kind.
  if (!asked && isSingle(context.state)) return scaledBy(context);
  if (!asked) return scales[shownKind(context)];
  return asked === '1' ? 'share' : asked === 'rate' ? 'rate' : 'value';
}

/** The unit of the values of the view; "" before its first answer. */
export function shownUnit({ state, loader }: Context): string {
  return loader.get<{ unit?: string }>(viewKey(state))?.answer?.data.unit ?? '';
}

/** A label and how many series have it. */
interface LabelCount {
  value: string;
  series: number;
}

function labelCounts(loader: Loader): LabelCount[] {
  return loader.get<LabelCount[]>('labels')?.answer?.data ?? [];
}

/** The labels of the profiles, for menus. */
export function labelNames(loader: Loader): string[] {
  return labelCounts(loader)
    .map(n => n.value)
    .filter(n => n !== '__name__');
}

/** Whether all series have a label. */
export function allHave(loader: Loader, name: string): boolean {
  const counts = labelCounts(loader);
  const count = (of: string): number => counts.find(n => n.value === of)?.series ?? 0;

  return count(name) > 0 && count(name) === count('__name__');
}

/** Whether letters are keys: people who speak to their computer turn them off. */
export function lettersOn(): boolean {
  return storedChoice('letters') !== 'off';
}

export function switchLetters(on: boolean): void {
  storeChoice('letters', on ? 'on' : 'off');
}

/** Whether a key is meant for a field, or for the browser. */
function isForField(e: KeyboardEvent): boolean {
  const t = e.target;

  return (
    e.ctrlKey ||
    e.metaKey ||
    e.altKey ||
    (t instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(t.type)) ||
    t instanceof HTMLSelectElement ||
    t instanceof HTMLTextAreaElement
  );
}

/** Keys of the whole page, while the caller is shown. What has the focus gets a key first. */
export function usePageKeys(actions: Record<string, () => void>): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const action = actions[e.key];
      if (!action || isForField(e) || e.defaultPrevented || (/^[a-z]$/i.test(e.key) && !lettersOn())) return;
      e.preventDefault();
      action();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}
