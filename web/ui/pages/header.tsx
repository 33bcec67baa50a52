// SPDX-License-Identifier: Apache-2.0
// The header: links to the pages, the choice of the theme, the list of keys,
// and the signed-in user.
import { useState } from 'preact/hooks';
import type { Session } from '../api/answer.ts';
import { base, signOut } from '../api/client.ts';
import { type Choice, chooseTheme, storedTheme } from '../draw/theme.ts';
import type { Context } from '../state/context.ts';
import { noSide, type Page, type State, unfiltered } from '../state/state.ts';
import { pathOf } from '../state/url.ts';
import { Keys } from './keys.tsx';

const pages: [Page, string][] = [
  ['explore', 'Explore'],
  ['compare', 'Compare'],
  ['adhoc', 'Files'],
  ['targets', 'Targets'],
  ['status', 'Status'],
];

/**
 * Uploaded files belong to the page that shows them, and so does what was chosen of them. The link to that page itself
 * leads to the list of all.
 */
function withoutFiles(s: State, page: Page): Partial<State> {
  if (!s.adhoc && !s.base.adhoc) return {};
  return page === s.page && page !== 'adhoc' ? {} : { ...unfiltered, adhoc: '', base: noSide };
}

/** Who is signed in. */
function User({ loader }: Context) {
  const session = loader.get<Session>('session')?.answer?.data;

  if (!session?.session || loader.signedOut) return null;
  return (
    <>
      <span class="dim">{session.user}</span>
      <button type="button" onClick={() => void signOut().finally(() => location.reload())}>
        Sign out
      </button>
    </>
  );
}

export function Header(context: Context) {
  const { state, act } = context;
  const [theme, setTheme] = useState<Choice>(storedTheme());
  const next: Choice = theme === 'system' ? 'dark' : theme === 'dark' ? 'light' : 'system';

  return (
    <header>
      <h1>everprof</h1>
      <nav aria-label="Pages">
        {pages.map(([page, title]) => (
          <a
            key={page}
            href={base() + pathOf(page)}
            aria-current={state.page === page ? 'page' : undefined}
            onClick={e => {
              if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
              e.preventDefault();
              act({ do: 'set', values: { page, ...withoutFiles(state, page) } });
            }}
          >
            {title}
          </a>
        ))}
      </nav>
      <span class="space" />
      <button
        type="button"
        onClick={() => act({ do: 'set', values: { tz: state.tz === 'utc' ? 'local' : 'utc' } })}
        aria-label={state.tz === 'utc' ? 'UTC: change to local time' : 'local time: change to UTC'}
      >
        {state.tz === 'utc' ? 'UTC' : 'local time'}
      </button>
      <button
        type="button"
        onClick={() => {
          chooseTheme(next);
          setTheme(next);
        }}
        aria-label={`${theme === 'system' ? 'system theme' : theme}: change to ${next}`}
      >
        {theme === 'system' ? 'system theme' : theme}
      </button>
      <Keys {...context} />
      <User {...context} />
    </header>
  );
}
