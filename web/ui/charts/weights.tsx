// SPDX-License-Identifier: Apache-2.0
// A heat map of profiles by their total: which profiles are heavier than usual.
import { useMemo, useState } from 'preact/hooks';
import type { Line } from '../api/answer.ts';
import { type Heat, stepRange, totalsHeat } from '../model/heat.ts';
import { matchedLabels } from '../model/selector.ts';
import { formatTime } from '../model/time.ts';
import { labelNames, shownType } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import { sideB } from '../state/reducer.ts';
import { chartRange, chartStep, chosenParams } from '../state/requests.ts';
import type { State } from '../state/state.ts';
import { type Cells, HeatMap } from './heatmap.tsx';
import { OpenOne } from './openone.tsx';

/** The cells that the state has chosen. */
function chosenCells(heat: Heat, s: State): Cells | null {
  const x0 = heat.times.findIndex(t => String(t) === s.from);
  const x1 = heat.times.findIndex(t => String(t + heat.step - 1) === s.to);
  const y0 = heat.rows.findIndex(r => r.max === s.total_max);
  const y1 = heat.rows.findIndex(r => r.min === s.total_min);

  return s.span && !s.total_outside && x0 >= 0 && x1 >= 0 && y0 >= 0 && y1 >= 0 ? { x0, x1, y0, y1 } : null;
}

/** Whether the profiles may be of programs that have nothing in common: no label of the query chooses one. */
function areMixed({ state, loader }: Context): boolean {
  const chosen = matchedLabels(state.query);

  return labelNames(loader).includes('job') && !['job', 'exe', 'instance'].some(name => chosen.includes(name));
}

/** What can be done with the profiles of the chosen cells, which the page shows already. */
function Menu(props: Context & { range: [number, number] }) {
  const { state, act, range } = props;
  const rest = (): void =>
    act({
      do: 'set',
      values: {
        page: 'compare',
        normalize: '1',
        span: '',
        chart: 'lines',
        base: { ...sideB(state), total_outside: true },
      },
    });

  return (
    <div class="menu" role="group" aria-label="Actions for the chosen profiles">
      {areMixed(props) && <p class="dim">Of all jobs: choose one first, or different programs are compared.</p>}
      <button type="button" onClick={rest}>
        Against the rest
      </button>
      <OpenOne {...props} query={state.query} from={state.from} to={state.to} more={chosenParams(state)} />
      <button
        type="button"
        onClick={() =>
          act({
            do: 'set',
            values: { total_min: '', total_max: '', from: String(range[0]), to: String(range[1]), span: '' },
          })
        }
      >
        All profiles
      </button>
    </div>
  );
}

export function Weights(props: Context & { line: Line }) {
  const { line, state, act, now } = props;
  const [open, setOpen] = useState(false);
  const range = chartRange(state, now);
  const type = shownType(props);
  const step = chartStep(state, range) * 1000;
  const heat = useMemo(() => totalsHeat(line, type, step), [line, type, step]);
  const utc = state.tz === 'utc';

  if (!heat)
    return (
      <p class="empty">
        A total of a counter counts from the start of the program, and does not say anything about one profile. Choose
        another sample type.
      </p>
    );
  const describe = (c: Cells): string => {
    const count = heat.rows
      .slice(c.y0, c.y1 + 1)
      .reduce((sum, r) => sum + r.values.slice(c.x0, c.x1 + 1).reduce<number>((a, v) => a + (v ?? 0), 0), 0);
    const above = heat.rows[c.y0 - 1]?.title;
    const values = `${heat.rows[c.y1]?.title} ${above ? `to ${above}` : 'and more'}`;

    return `${count} ${count === 1 ? 'profile' : 'profiles'} of ${values}, from ${formatTime(heat.times[c.x0] as number, utc)}`;
  };
  const pick = (c: Cells): void => {
    setOpen(true);
    act({
      do: 'set',
      values: {
        ...stepRange(heat, c.x0, c.x1),
        time: '',
        span: range.join(),
        zoom: '',
        total_min: heat.rows[c.y1]?.min ?? '',
        total_max: heat.rows[c.y0]?.max ?? '',
        total_outside: false,
      },
    });
  };

  return (
    <div class="chart wide">
      <HeatMap
        heat={heat}
        label={`Number of profiles by ${heat.type} over time`}
        utc={utc}
        range={range}
        scale={v => String(Math.floor(v) + 1)}
        word="profiles"
        titles={`${heat.type.split('/')[0]} of one profile`}
        chosen={chosenCells(heat, state)}
        describe={describe}
        pick={pick}
        menu={open && <Menu {...props} range={range} />}
        closeMenu={() => setOpen(false)}
      />
    </div>
  );
}
