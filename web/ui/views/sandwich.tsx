// SPDX-License-Identifier: Apache-2.0
// One function between its callers and what it calls, over all its stacks.
import { useMemo } from 'preact/hooks';
import type { FlameAnswer } from '../api/answer.ts';
import type { Context } from '../pages/app.tsx';
import { Flame } from './flame.tsx';

export function Sandwich(props: Context & { data: FlameAnswer }) {
  const { data, state } = props;
  const callers = useMemo(() => (data.callers ? { ...data, ...data.callers } : null), [data]);

  if (!callers) return null;
  return (
    <div class="sandwich">
      <section aria-label="Callers">
        <h2>Who calls {state.fn}</h2>
        <Flame {...props} data={callers} part="callers" />
      </section>
      <section aria-label="Callees">
        <h2>What {state.fn} calls</h2>
        <Flame {...props} data={data} part="callees" />
      </section>
    </div>
  );
}
