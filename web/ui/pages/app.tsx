// SPDX-License-Identifier: Apache-2.0
// The whole page: header, the chosen page below it, and the sign-in form. It
// also defines the context that every part of the page gets.
import type { Loader } from '../api/loader.ts';
import { Header } from '../parts/header.tsx';
import { SharedProblems } from '../parts/notice.tsx';
import { SignIn } from '../parts/signin.tsx';
import type { Action } from '../state/reducer.ts';
import type { State } from '../state/state.ts';
import { Compare } from './compare.tsx';
import { Explore } from './explore.tsx';
import { StatusPage } from './status.tsx';
import { TargetsPage } from './targets.tsx';

/** What every part of the page gets. */
export interface Context {
  state: State;
  loader: Loader;
  /** The time that "now" means until the next refresh. */
  now: number;
  /** `as`: whether the action is one letter of many, or the page itself chose it; such states are no steps of the history. */
  act: (a: Action, as?: 'typing' | 'default') => void;
  refresh: () => void;
}

export function App(context: Context) {
  const page = context.state.page;

  return (
    <>
      <Header {...context} />
      <main>
        {context.loader.signedOut ? (
          <SignIn {...context} />
        ) : (
          <>
            <SharedProblems {...context} />
            {page === 'explore' && <Explore {...context} />}
            {page === 'compare' && <Compare {...context} />}
            {page === 'targets' && <TargetsPage {...context} />}
            {page === 'status' && <StatusPage {...context} />}
          </>
        )}
      </main>
    </>
  );
}
