// SPDX-License-Identifier: Apache-2.0
// The table of a comparison: what changed most comes first.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TopAnswer, TopRow } from '../api/answer.ts';
import { matcher } from '../model/search.ts';
import { formatChange, formatValue } from '../model/unit.ts';
import type { Context } from '../pages/app.tsx';
import { exactly } from '../state/reducer.ts';

const rowHeight = 28;

/** Rows whose own or whole value changed, the largest change first. */
export function changedRows(rows: TopRow[], find: string, cum: boolean): TopRow[] {
  const m = find ? matcher(find) : null;
  const key = cum ? 'cum' : 'flat';

  return rows.filter((r) => r[key] !== 0 && (!m || m.test(r.name))).sort((a, b) => Math.abs(b[key]) - Math.abs(a[key]));
}

export function DiffTable({ data, state, act }: Context & { data: TopAnswer }) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const cum = state.sort === '-cum';
  const rows = changedRows(data.rows, state.find, cum);
  const first = Math.max(0, Math.floor(top / rowHeight) - 10);
  const before = (r: TopRow): number => (cum ? r.cum_a : r.flat_a) ?? 0;
  const change = (r: TopRow): number => (cum ? r.cum : r.flat);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="table" role="table" aria-rowcount={rows.length + 1} aria-label="Changes by function">
      <div class="row head" role="row">
        <span role="columnheader" class="number">A</span>
        <span role="columnheader" class="number">B</span>
        <span role="columnheader" class="number">B−A</span>
        <span role="columnheader" class="name">
          Function{' '}
          <button type="button" onClick={() => act({ do: 'set', values: { sort: cum ? '-flat' : '-cum' } })}>{cum ? 'with callees' : 'own values'}</button>
        </span>
      </div>
      <div class="rows" role="rowgroup" ref={place} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <div role="presentation" style={{ height: `${rows.length * rowHeight}px`, position: 'relative' }}>
          {rows.slice(first, first + Math.ceil(height / rowHeight) + 20).map((r, i) => (
            <div class="row" role="row" aria-rowindex={first + i + 2} key={r.name} style={{ top: `${(first + i) * rowHeight}px` }}>
              <span role="cell" class="number">{formatValue(before(r), data.unit)}</span>
              <span role="cell" class="number">{formatValue(before(r) + change(r), data.unit)}</span>
              <span role="cell" class={`number ${change(r) > 0 ? 'more' : 'less'}`}>{formatChange(before(r), before(r) + change(r), data.unit)}</span>
              <span role="cell" class="name" title={`${r.name}\n${r.file}`}>
                <button type="button" onClick={() => act({ do: 'add', filter: 'focus', value: exactly(r.name) })}>{r.name}</button>
              </span>
            </div>
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="empty">Nothing changed.</p>}
    </div>
  );
}
