// SPDX-License-Identifier: Apache-2.0
// A button that opens one profile of many: the one with the largest total.
import { useState } from 'preact/hooks';
import { profilesBetween } from '../api/client.ts';
import { narrow, pointsOf } from '../model/points.ts';
import { typeOf } from '../model/series.ts';
import { shownType } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import type { State } from '../state/state.ts';

/** What shows the heaviest profile of a range; null: there is none. */
async function heaviest(
  query: string,
  from: string,
  to: string,
  type: string,
  more: [string, string][],
): Promise<Partial<State> | null> {
  const lines = await profilesBetween(query, Number(from), Number(to), new AbortController().signal, [
    ['totals', '1'],
    ...more,
  ]);
  const points = pointsOf(lines, typeOf(lines, type));
  const best = points.reduce((a, p) => (a && a.value >= p.value ? a : p), points[0]);

  return best ? { query: narrow(query, lines, best.series), time: String(best.ms) } : null;
}

export function OpenOne(props: Context & { query: string; from: string; to: string; more?: [string, string][] }) {
  const { act, query, from, to, more = [] } = props;
  const [failure, setFailure] = useState('');
  const open = (): void => {
    heaviest(query, from, to, shownType(props), more)
      .then(values =>
        values ? act({ do: 'set', values: { ...values, zoom: '' } }) : setFailure('there is no profile'),
      )
      .catch((e: Error) => setFailure(e.message));
  };

  return (
    <>
      <button type="button" title="Open the profile with the largest total" onClick={open}>
        Open one
      </button>
      {failure && (
        <span class="failure" role="alert">
          {failure}
        </span>
      )}
    </>
  );
}
