// SPDX-License-Identifier: Apache-2.0
// Explore: what the fleet did over time, and what the profiles of a range say.
import type { ProfileType } from '../api/answer.ts';
import { Clock } from '../parts/clock.tsx';
import { ProblemBox } from '../parts/notice.tsx';
import { Query, useFirstType } from '../parts/query.tsx';
import { Upper } from '../charts/upper.tsx';
import { Views } from '../views/views.tsx';
import type { Context } from './app.tsx';

function Empty({ loader }: Context) {
  const types = loader.get<ProfileType[]>('types');

  if (types?.problem) return <ProblemBox problem={types.problem} retry={() => location.reload()} />;
  if (types?.answer && !types.answer.data.length)
    return (
      <p class="empty">
        Nothing is stored yet. The page <a href="targets">Targets</a> shows what is scraped, and what went wrong.
      </p>
    );
  return null;
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
