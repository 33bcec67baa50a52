// SPDX-License-Identifier: Apache-2.0
// The table of a comparison: what changed most comes first.
import type { TopAnswer, TopRow } from '../api/answer.ts';
import { matcher } from '../model/search.ts';
import { formatChange, formatScaled } from '../model/unit.ts';
import type { Context } from '../state/context.ts';
import { type Picking, RowList } from './rowlist.tsx';

/** Rows whose own or whole value changed, the largest change first. */
export function changedRows(rows: TopRow[], find: string, cum: boolean): TopRow[] {
  const m = find ? matcher(find) : null;
  const key = cum ? 'cum' : 'flat';

  return rows.filter(r => r[key] !== 0 && (!m || m.test(r.name))).sort((a, b) => Math.abs(b[key]) - Math.abs(a[key]));
}

export function DiffTable(props: Context & Picking & { data: TopAnswer }) {
  const { data, state, act } = props;
  const cum = state.sort === '-cum';
  const cells = (r: TopRow) => {
    const before = (cum ? r.cum_a : r.flat_a) ?? 0;
    const change = cum ? r.cum : r.flat;
    return (
      <>
        <span role="cell" class="number">
          {formatScaled(before, data, before + change)}
        </span>
        <span role="cell" class="number">
          {formatScaled(before + change, data, before)}
        </span>
        <span role="cell" class={`number ${change > 0 ? 'more' : 'less'}`}>
          {formatChange(before, before + change, data)}
        </span>
      </>
    );
  };

  return (
    <RowList
      {...props}
      label="Changes by function"
      rows={changedRows(data.rows, state.find, cum)}
      head={
        <>
          <span role="columnheader" class="number">
            A
          </span>
          <span role="columnheader" class="number">
            B
          </span>
          <span role="columnheader" class="number">
            B−A
          </span>
          <span role="columnheader" class="name">
            Function, by{' '}
            <button type="button" aria-pressed={!cum} onClick={() => act({ do: 'set', values: { sort: '-flat' } })}>
              own values
            </button>{' '}
            <button type="button" aria-pressed={cum} onClick={() => act({ do: 'set', values: { sort: '-cum' } })}>
              values with callees
            </button>
          </span>
        </>
      }
      cells={cells}
      empty="Nothing changed."
    />
  );
}
