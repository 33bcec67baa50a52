// SPDX-License-Identifier: Apache-2.0
// One function over time: its share of each step, from merges of the steps.
import { useMemo } from 'preact/hooks';
import type { HistoryAnswer, Line } from '../api/answer.ts';
import { chartData } from '../model/series.ts';
import type { Context } from '../pages/app.tsx';
import { chartRange } from '../state/requests.ts';
import { Chart } from './chart.tsx';

/** The history as lines of the chart: of one function both values, of several their own. */
function historyLines(data: HistoryAnswer): Line[] {
  const type = `${data.sample_type}/${data.unit}`;
  const one = data.functions.length === 1;

  return data.functions.flatMap((f) =>
    (one ? (['cum', 'flat'] as const) : (['flat'] as const)).map((key): Line => ({
      labels: { value: one ? `${f.name} ${key === 'cum' ? 'with callees' : 'self'}` : f.name },
      timestamps: data.timestamps,
      totals: { [type]: f[key] },
      kinds: { [type]: 'state' },
    })),
  );
}

export function History(props: Context & { data: HistoryAnswer }) {
  const { data, act, state, now } = props;
  const lines = useMemo(() => historyLines(data), [data]);
  const titles = useMemo(() => chartData(lines, data.sample_type).lines.map((l) => l.title), [lines]);
  const choose = (i: number): (() => void) | null => (data.functions.length === 1 ? null : () => act({ do: 'set', values: { fn: titles[i] ?? '' } }));

  return <Chart {...props} lines={lines} times={chartRange(state, now)} choose={choose} />;
}
