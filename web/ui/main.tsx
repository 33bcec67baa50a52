// SPDX-License-Identifier: Apache-2.0
// The entry: the state of the URL, its requests, and the page they make.
import { options, render } from 'preact';
import { Loader } from './api/loader.ts';
import { App } from './pages/app.tsx';
import { type Action, reduce } from './state/reducer.ts';
import { requests } from './state/requests.ts';
import { parseSelector } from './model/selector.ts';
import { isRelative } from './model/time.ts';
import { groupedBy } from './model/series.ts';
import { makeVisible } from './model/visible.ts';
import type { State } from './state/state.ts';
import { decode, encode, pathOf } from './state/url.ts';
import { base } from './api/client.ts';
import { startTheme } from './draw/theme.ts';

/** Typing replaces the entry of the history, as what the page chooses by itself does; a pause of this length ends it. */
const typingMs = 600;

const root = document.getElementById('app') as HTMLElement;
let state = decode(location.pathname, location.search);
let now = Date.now();
let typed = 0;
let drawing = false;

// Every node of the page passes here when it is made.
options.vnode = makeVisible;

const loader = new Loader(redraw);

function redraw(): void {
  if (drawing) return;
  drawing = true;
  queueMicrotask(() => {
    drawing = false;
    render(<App state={state} loader={loader} now={now} act={act} refresh={refresh} />, root);
  });
}

function urlOfState(s: State): string {
  const query = encode(s);

  return `${base()}${pathOf(s.page)}${query ? `?${query}` : ''}`;
}

/** How many steps of this page come before the shown one, which the history keeps. */
function steps(): number {
  return typeof history.state === 'number' ? history.state : 0;
}

/** Take the state that follows, into the URL and onto the page. */
function go(next: State, as?: 'typing' | 'default'): void {
  const url = urlOfState(next);
  const same = url === location.pathname + location.search;
  const follows = as === 'default' || (as === 'typing' && Date.now() - typed < typingMs);

  typed = as === 'typing' ? Date.now() : 0;
  state = next;
  if (follows) history.replaceState(history.state, '', url);
  else if (!same) history.pushState(steps() + 1, '', url);
  load();
}

function act(a: Action, as?: 'typing' | 'default'): void {
  const to = a.do === 'range' ? a.to : a.do === 'set' ? a.values.to : undefined;

  // "The last hour" ends when it is chosen, not when the page was loaded.
  if (to && isRelative(to)) now = Date.now();
  go(reduce(state, a), as);
}

function load(): void {
  loader.want(requests(state, now));
  redraw();
}

/** Ask again for everything; relative times move to now. */
function refresh(): void {
  now = Date.now();
  loader.refresh();
  load();
}

// What a URL does not say is chosen as if the page had chosen the type.
if (!new URLSearchParams(location.search).has('by'))
  state = { ...state, by: groupedBy(parseSelector(state.query)?.type ?? '', state.by) };
// A narrow screen has no room for boxes: it begins with the table.
if (innerWidth < 600 && !location.search && state.page === 'explore') state = { ...state, view: 'table' };
addEventListener('popstate', () => {
  state = decode(location.pathname, location.search);
  load();
});
startTheme();
load();
