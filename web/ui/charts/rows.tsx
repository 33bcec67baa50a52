// SPDX-License-Identifier: Apache-2.0
// A heat map of series: which instance is not like the others, and when.
import { useMemo, useState } from 'preact/hooks';
import type { Line } from '../api/answer.ts';
import { type Heat, seriesHeat, stepRange } from '../model/heat.ts';
import { withLabels, withMatcher } from '../model/selector.ts';
import { formatTime } from '../model/time.ts';
import { shownType } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import { sideB } from '../state/reducer.ts';
import { chartRange, chartStep } from '../state/requests.ts';
import { axisText } from './chart.tsx';
import { type Cells, HeatMap } from './heatmap.tsx';
import { OpenOne } from './openone.tsx';

/** What can be done with one cell or several of one row. */
function Menu(props: Context & { heat: Heat; cells: Cells }) {
  const { state, act, heat, cells } = props;
  const row = heat.rows[cells.y0];
  const range = stepRange(heat, cells.x0, cells.x1);

  if (!row?.labels)
    return <p class="dim">This row is many series, added up: choose another one, or group by another label.</p>;
  const query = withLabels(state.query, row.labels);
  const [name, value] = Object.entries(row.labels)[0] ?? ['', ''];
  const rest = (): void => {
    const base = { ...sideB(state), ...range, query: withMatcher(state.query, { name, op: '!=', value }) };
    act({
      do: 'set',
      values: { page: 'compare', normalize: '1', query, ...range, time: '', span: '', base },
    });
  };
  return (
    <div class="menu" role="group" aria-label={`Actions for ${row.title}`}>
      <b>{row.title}</b>
      <button
        type="button"
        onClick={() => act({ do: 'set', values: { query, ...range, time: '', chart: 'lines', span: '' } })}
      >
        Open
      </button>
      <OpenOne {...props} query={query} {...range} />
      {Object.keys(row.labels).length === 1 && (
        <button type="button" onClick={rest}>
          Against the rest
        </button>
      )}
    </div>
  );
}

export function Rows(props: Context & { lines: Line[] }) {
  const { lines, state, now } = props;
  const [cells, setCells] = useState<Cells | null>(null);
  const type = shownType(props);
  const range = chartRange(state, now);
  const step = chartStep(state, range) * 1000;
  const heat = useMemo(() => seriesHeat(lines, type, step), [lines, type, step]);
  const utc = state.tz === 'utc';
  const describe = (c: Cells): string => {
    const row = heat.rows[c.y0];
    const values = row?.values.slice(c.x0, c.x1 + 1).filter(v => v !== null) ?? [];
    const mean = values.reduce((a, v) => a + v, 0) / (values.length || 1);
    return `${row?.title}: ${values.length ? axisText(mean, heat) : 'no profile'}, from ${formatTime(heat.times[c.x0] as number, utc)}`;
  };

  return (
    <div class="chart wide">
      <HeatMap
        heat={heat}
        label={`${heat.type} of ${heat.rows.length} groups over time`}
        utc={utc}
        range={range}
        scale={v => axisText(v, heat)}
        word={heat.type.split('/')[0] ?? ''}
        titles={state.by || 'series'}
        chosen={cells}
        describe={describe}
        pick={c => setCells({ ...c, y1: c.y0 })}
        menu={cells && <Menu {...props} heat={heat} cells={cells} />}
        closeMenu={() => setCells(null)}
      />
    </div>
  );
}
