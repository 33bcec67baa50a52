// SPDX-License-Identifier: Apache-2.0
// The table of functions. Only the rows on the screen exist in the page.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TopAnswer, TopRow } from '../api/answer.ts';
import { matcher } from '../model/search.ts';
import { formatShare, formatValue } from '../model/unit.ts';
import type { Context } from '../pages/app.tsx';
import { exactly } from '../state/reducer.ts';

const rowHeight = 28;

type Column = 'name' | 'flat' | 'cum';

/** The rows that match, in the order of the state: "-flat" is flat, largest first. */
export function sortRows(rows: TopRow[], sort: string, find: string): TopRow[] {
  const down = sort.startsWith('-');
  const column = (down ? sort.slice(1) : sort) as Column;
  const m = find ? matcher(find) : null;
  const out = m ? rows.filter((r) => m.test(r.name)) : [...rows];
  const order = (a: TopRow, b: TopRow): number =>
    column === 'name' ? (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : Math.abs(a[column]) - Math.abs(b[column]);

  return out.sort((a, b) => (down ? order(b, a) : order(a, b)));
}

export function Table({ data, state, act }: Context & { data: TopAnswer }) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const rows = sortRows(data.rows, state.sort, state.find);
  const first = Math.max(0, Math.floor(top / rowHeight) - 10);
  const shown = rows.slice(first, first + Math.ceil(height / rowHeight) + 20);
  const head = (column: Column, title: string) => (
    <span
      role="columnheader"
      class={column === 'name' ? 'name' : 'number'}
      aria-sort={state.sort === column ? 'ascending' : state.sort === `-${column}` ? 'descending' : 'none'}
    >
      <button type="button" onClick={() => act({ do: 'set', values: { sort: state.sort === `-${column}` ? column : `-${column}` } })}>
        {title}{state.sort === `-${column}` ? ' ↓' : state.sort === column ? ' ↑' : ''}
      </button>
    </span>
  );

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="table" role="table" aria-rowcount={rows.length + 1} aria-label="Functions">
      <div class="row head" role="row">
        {head('flat', 'Self')}
        {head('cum', 'Total')}
        {head('name', 'Function')}
      </div>
      <div class="rows" role="rowgroup" ref={place} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <div role="presentation" style={{ height: `${rows.length * rowHeight}px`, position: 'relative' }}>
          {shown.map((r, i) => (
            <div class="row" role="row" aria-rowindex={first + i + 2} key={r.name} style={{ top: `${(first + i) * rowHeight}px` }}>
              <span role="cell" class="number">{formatValue(r.flat, data.unit)} <span class="dim">{formatShare(r.flat, data.total)}</span></span>
              <span role="cell" class="number">{formatValue(r.cum, data.unit)} <span class="dim">{formatShare(r.cum, data.total)}</span></span>
              <span role="cell" class="name" title={`${r.name}\n${r.file}`}>
                <button type="button" onClick={() => act({ do: 'add', filter: 'focus', value: exactly(r.name) })}>{r.name}</button>
              </span>
            </div>
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="empty">No function matches.</p>}
    </div>
  );
}
