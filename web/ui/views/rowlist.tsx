// SPDX-License-Identifier: Apache-2.0
// A long table of functions, of which only the visible rows are drawn. Only the
// rows on the screen exist in the page. A row can be chosen, by a click or with
// the arrow keys, and acted on.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSize } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import { Actions, functionKeys } from './actions.tsx';

const rowHeight = 28;

/** Rows above and below the screen that exist, too. */
const spare = 10;

/** The function that is chosen in the view or in the one beside it, or "". */
export interface Picking {
  picked: string;
  pick: (name: string) => void;
}

export interface FunctionRow {
  name: string;
  file: string;
}

export function RowList<T extends FunctionRow>(
  props: Context & {
    label: string;
    rows: T[];
    head: ComponentChildren;
    /** The cells before the name. */
    cells: (row: T) => ComponentChildren;
    empty: string;
  } & Picking,
) {
  const { rows, picked: chosen, pick: setChosen } = props;
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const { height } = useSize(place);
  const first = Math.max(0, Math.floor(top / rowHeight) - spare);
  const at = rows.findIndex(r => r.name === chosen);
  const choose = (i: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, i))];
    const element = place.current;
    if (!row || !element) return;
    const y = rows.indexOf(row) * rowHeight;
    setChosen(row.name);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = y + rowHeight - element.clientHeight;
  };
  // What was chosen in the view beside comes into sight.
  useEffect(() => {
    if (at >= 0) choose(at);
  }, [chosen]);
  const onKey = (e: KeyboardEvent): void => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    const by = moves[e.key];
    if (by) choose(at < 0 ? 0 : at + by);
    else if (e.key === 'Home') choose(0);
    else if (e.key === 'End') choose(rows.length - 1);
    else if (e.key === 'Escape') setChosen('');
    else if (at < 0 || !functionKeys(e, props, chosen)) return;
    e.preventDefault();
  };

  return (
    <div class="table">
      <div role="table" aria-rowcount={rows.length + 1} aria-label={props.label}>
        <div class="row head" role="row">
          {props.head}
        </div>
        <div
          class="rows"
          role="rowgroup"
          ref={place}
          tabIndex={0}
          onScroll={e => setTop(e.currentTarget.scrollTop)}
          onKeyDown={onKey}
        >
          <div role="presentation" style={{ height: `${rows.length * rowHeight}px`, position: 'relative' }}>
            {rows.slice(first, first + Math.ceil((height || 600) / rowHeight) + 2 * spare).map((r, i) => (
              <div
                key={r.name + r.file}
                class={r.name === chosen ? 'row chosen' : 'row'}
                role="row"
                aria-rowindex={first + i + 2}
                style={{ top: `${(first + i) * rowHeight}px` }}
                onClick={() => setChosen(r.name === chosen ? '' : r.name)}
              >
                {props.cells(r)}
                <span role="cell" class="name" title={`${r.name}\n${r.file}`}>
                  {r.name}
                </span>
              </div>
            ))}
          </div>
        </div>
      </div>
      {rows.length === 0 && <p class="empty">{props.empty}</p>}
      <div class="detail" role="status">
        {at >= 0 ? (
          <>
            <b>{chosen}</b> <span class="dim">{rows[at]?.file}</span>
            <Actions {...props} name={chosen} />
          </>
        ) : (
          <span class="dim">Click a row for its callers, its lines, its history.</span>
        )}
      </div>
    </div>
  );
}
