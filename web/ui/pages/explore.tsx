// SPDX-License-Identifier: Apache-2.0
// Explore: what the fleet did over time, and what the profiles of a range say.
import type { ProfileType } from '../api/answer.ts';
import { Clock } from '../parts/clock.tsx';
import { Frame } from '../parts/notice.tsx';
import { Query, useFirstType } from '../parts/query.tsx';
import { Upper } from '../charts/upper.tsx';
import { Views } from '../views/views.tsx';
import type { Context } from './app.tsx';

/** What the page shows if nothing is stored. */
function Empty(context: Context) {
  return (
    <Frame<ProfileType[]> {...context} of="types">
      {(types) => !types.length && (
        <p class="empty">
          Nothing is stored yet. The page <a href="targets">Targets</a> shows what is scraped, and what went wrong.
        </p>
      )}
    </Frame>
  );
}

export function Explore(context: Context) {
  useFirstType(context);
  return (
    <div class="explore">
      <div class="bar">
        <Query {...context} />
        <Clock {...context} />
      </div>
      <Empty {...context} />
      {context.state.query && <Upper {...context} />}
      {context.state.query && <Views {...context} />}
    </div>
  );
}
