// SPDX-License-Identifier: Apache-2.0
// The whole page: header, the chosen page below it, and the sign-in form.
import { SharedProblems } from '../parts/notice.tsx';
import { SignIn } from '../parts/signin.tsx';
import type { Context } from '../state/context.ts';
import { Adhoc } from './adhoc.tsx';
import { Compare } from './compare.tsx';
import { Explore } from './explore.tsx';
import { Header } from './header.tsx';
import { StatusPage } from './status.tsx';
import { TargetsPage } from './targets.tsx';

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
            {page === 'adhoc' && <Adhoc {...context} />}
            {page === 'targets' && <TargetsPage {...context} />}
            {page === 'status' && <StatusPage {...context} />}
          </>
        )}
      </main>
    </>
  );
}
