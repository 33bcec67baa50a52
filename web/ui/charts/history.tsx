// SPDX-License-Identifier: Apache-2.0
// One function over time: its share of each step, from merges of the steps.
import { useMemo } from 'preact/hooks';
import type { HistoryAnswer } from '../api/answer.ts';
import { chartData, historyLines } from '../model/series.ts';
import type { Context } from '../state/context.ts';
import { chartRange } from '../state/requests.ts';
import { Chart } from './chart.tsx';

export function History(props: Context & { data: HistoryAnswer }) {
  const { data, act, state, now } = props;
  const lines = useMemo(() => historyLines(data), [data]);
  const titles = useMemo(() => chartData(lines, data.sample_type).lines.map(l => l.title), [lines]);
  const choose = (i: number): (() => void) | null =>
    data.functions.length === 1 ? null : () => act({ do: 'set', values: { fn: titles[i] ?? '' } });

  return <Chart {...props} lines={lines} times={chartRange(state, now)} choose={choose} ofFunctions />;
}
