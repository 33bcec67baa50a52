// SPDX-License-Identifier: Apache-2.0
// The table of a comparison with error bars: what changed by more than noise comes
// first, and the rest is grey.
import type { CompareAnswer, ComparedRow } from '../api/answer.ts';
import { changeText, comparedRows, comparedText, doubtText, partText, valueOf, verdictText } from '../model/compared.ts';
import type { Context } from '../pages/app.tsx';
import { type Picking, RowList } from './rowlist.tsx';

export function ChangeTable(props: Context & Picking & { data: CompareAnswer }) {
  const { data, state, act } = props;
  const cum = state.sort === '-cum';
  const doubt = doubtText(data);
  const cells = (r: ComparedRow) => {
    const v = valueOf(r, cum);
    return (
      <>
        <span role="cell" class="number short">{comparedText(v.a, data)}</span>
        <span role="cell" class="number short">{comparedText(v.b, data)}</span>
        <span role="cell" class={`number short ${v.sure ? (v.delta > 0 ? 'more' : 'less') : 'dim'}`}>{changeText(v)}</span>
        <span role="cell" class="number short wide dim">{!v.tested ? 'few samples' : v.a ? `± ${partText(v.interval, v)}` : ''}</span>
        <span role="cell" class="number short wide dim">{v.sure ? '' : partText(v.visible, v)}</span>
      </>
    );
  };

  return (
    <>
      <div class={doubt ? 'notice warn' : 'notice'} role="status">
        {verdictText(data)} {doubt || `${data.alpha * 100} % is the risk that any of them is chance.`}
      </div>
      <RowList
        {...props}
        label="Changes by function"
        rows={comparedRows(data.rows, state.find, cum)}
        head={
          <>
            <span role="columnheader" class="number short">A</span>
            <span role="columnheader" class="number short">B</span>
            <span role="columnheader" class="number short" title="In percent of A.">change of A</span>
            <span role="columnheader" class="number short wide" title="The true change is so near with a probability of 95 %.">±</span>
            <span role="columnheader" class="number short wide" title="The smallest change that would have been seen.">visible from</span>
            <span role="columnheader" class="name">
              Function, by{' '}
              <button type="button" aria-pressed={!cum} onClick={() => act({ do: 'set', values: { sort: '-flat' } })}>own values</button>{' '}
              <button type="button" aria-pressed={cum} onClick={() => act({ do: 'set', values: { sort: '-cum' } })}>values with callees</button>
            </span>
          </>
        }
        cells={cells}
        empty="No function is in these profiles."
      />
    </>
  );
}
