// SPDX-License-Identifier: Apache-2.0
// The table of a comparison with error bars: what changed by more than noise comes
// first, and the rest is grey.
import type { CompareAnswer, ComparedRow, ComparedValue } from '../api/answer.ts';
import {
  barAxis,
  barOf,
  changeText,
  comparedRows,
  comparedText,
  doubtText,
  partText,
  totalText,
  valueOf,
  verdictText,
} from '../model/compared.ts';
import type { Context } from '../state/context.ts';
import { type Picking, RowList } from './rowlist.tsx';

const barWidth = 100;

/** The interval of a change as a bar around the measured change; the middle is no change. */
function IntervalBar({ value, most }: { value: ComparedValue; most: number }) {
  const bar = barOf(value, most);
  const x = (part: number): number => (barWidth / 2) * (1 + part / most);
  const kind = value.sure ? (value.delta > 0 ? 'more' : 'less') : 'dim';

  return (
    <svg class={`interval ${kind}`} width={barWidth} height="16" aria-hidden="true">
      <line class="zero" x1={barWidth / 2} x2={barWidth / 2} y1="0" y2="16" />
      {bar && <rect x={x(bar.from)} y="5" width={Math.max(1, x(bar.to) - x(bar.from))} height="6" />}
      {bar && <line x1={x(bar.at)} x2={x(bar.at)} y1="2" y2="14" />}
    </svg>
  );
}

export function ChangeTable(props: Context & Picking & { data: CompareAnswer }) {
  const { data, state, act } = props;
  const cum = state.sort === '-cum';
  const doubt = doubtText(data);
  const most = barAxis(data.rows, cum);
  const cells = (r: ComparedRow) => {
    const v = valueOf(r, cum);
    return (
      <>
        <span role="cell" class="number short">
          {comparedText(v.a, data, v.b)}
        </span>
        <span role="cell" class="number short">
          {comparedText(v.b, data, v.a)}
        </span>
        <span role="cell" class={`number short ${v.sure ? (v.delta > 0 ? 'more' : 'less') : 'dim'}`}>
          {changeText(v)}
        </span>
        <span role="cell" class="number wide dim bars">
          <IntervalBar value={v} most={most} /> {!v.tested ? 'few samples' : v.a ? `± ${partText(v.interval, v)}` : ''}
        </span>
        <span role="cell" class="number short wide dim">
          {v.sure ? '' : partText(v.visible, v)}
        </span>
      </>
    );
  };

  return (
    <>
      <div class={doubt ? 'notice warn' : 'notice'} role="status">
        {totalText(data)} {verdictText(data)} {doubt || `${data.alpha * 100} % is the risk that any of them is chance.`}
      </div>
      <RowList
        {...props}
        label="Changes by function"
        rows={comparedRows(data.rows, state.find, cum)}
        head={
          <>
            <span role="columnheader" class="number short">
              A
            </span>
            <span role="columnheader" class="number short">
              B
            </span>
            <span role="columnheader" class="number short" title="In percent of A.">
              change of A
            </span>
            <span
              role="columnheader"
              class="number wide bars"
              title={`The true change of a function is within its bar with a probability of 95 %; the middle is no change, the ends are as far away as the scale says. Of ${data.tested} tests, some bars miss the middle by chance: a change is called one only if chance would hardly do that in any of them.`}
            >
              <span class="axis">
                <span>−{100 * most} %</span>
                <span>+{100 * most} %</span>
              </span>{' '}
              ±
            </span>
            <span role="columnheader" class="number short wide" title="The smallest change that would have been seen.">
              visible from
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
        empty="No function is in these profiles."
      />
    </>
  );
}
