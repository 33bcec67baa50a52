// SPDX-License-Identifier: Apache-2.0
// One function over time: its share of each step, from merges of the steps.
import type { HistoryAnswer, Line } from '../api/answer.ts';
import type { Context } from '../pages/app.tsx';
import { chartRange } from '../state/requests.ts';
import { Chart } from './chart.tsx';

/** The history as lines of the chart: own value and value with callees. */
export function historyLines(data: HistoryAnswer): Line[] {
  const type = `${data.sample_type}/${data.unit}`;

  return data.functions.flatMap((f) =>
    (['cum', 'flat'] as const).map((key): Line => ({
      labels: { value: `${f.name} ${key === 'cum' ? 'with callees' : 'self'}` },
      timestamps: data.timestamps,
      totals: { [type]: f[key] },
      kinds: { [type]: 'state' },
    })),
  );
}

export function History(props: Context & { data: HistoryAnswer }) {
  return <Chart {...props} lines={historyLines(props.data)} times={chartRange(props.state, props.now)} />;
}
