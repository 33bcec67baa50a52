// SPDX-License-Identifier: Apache-2.0
// The view Table: functions with their flat and cumulative values.
import type { TopAnswer, TopRow } from '../api/answer.ts';
import { matcher } from '../model/search.ts';
import { formatScaled, formatShare } from '../model/unit.ts';
import type { Context } from '../state/context.ts';
import { type Picking, RowList } from './rowlist.tsx';

type Column = 'name' | 'flat' | 'cum';

/** The rows that match, in the order of the state: "-flat" is flat, largest first. */
export function sortRows(rows: TopRow[], sort: string, find: string): TopRow[] {
  const down = sort.startsWith('-');
  const column = (down ? sort.slice(1) : sort) as Column;
  const m = find ? matcher(find) : null;
  const out = m ? rows.filter(r => m.test(r.name)) : [...rows];
  const order = (a: TopRow, b: TopRow): number =>
    column === 'name'
      ? a.name < b.name
        ? -1
        : a.name > b.name
          ? 1
          : 0
      : Math.abs(a[column]) - Math.abs(b[column]) || Math.abs(a.cum) - Math.abs(b.cum);

  return out.sort((a, b) => (down ? order(b, a) : order(a, b)));
}

function Head({ column, title, state, act }: Context & { column: Column; title: string }) {
  const down = state.sort === `-${column}`;
  const up = state.sort === column;

  return (
    <span
      role="columnheader"
      class={column === 'name' ? 'name' : 'number'}
      aria-sort={up ? 'ascending' : down ? 'descending' : 'none'}
    >
      <button type="button" onClick={() => act({ do: 'set', values: { sort: down ? column : `-${column}` } })}>
        {title}
        {down ? ' ↓' : up ? ' ↑' : ''}
      </button>
    </span>
  );
}

export function Table(props: Context & Picking & { data: TopAnswer }) {
  const { data, state } = props;

  return (
    <RowList
      {...props}
      label="Functions"
      rows={sortRows(data.rows, state.sort, state.find)}
      head={
        <>
          <Head {...props} column="flat" title="Self" />
          <Head {...props} column="cum" title="Total" />
          <Head {...props} column="name" title="Function" />
        </>
      }
      cells={r =>
        (['flat', 'cum'] as const).map(key => (
          <span
            key={key}
            role="cell"
            class="number share-bar"
            style={{ '--share': `${Math.min(100, Math.abs((r[key] / (data.total || 1)) * 100))}%` }}
          >
            {formatScaled(r[key], data)} <span class="dim">{formatShare(r[key], data.total)}</span>
          </span>
        ))
      }
      empty="No function matches."
    />
  );
}
