// SPDX-License-Identifier: Apache-2.0
// One function between its callers and what it calls, over all its stacks.
import { useMemo } from 'preact/hooks';
import type { FlameAnswer } from '../api/answer.ts';
import type { Context } from '../state/context.ts';
import { Flame } from './flame.tsx';

/** The graph without the box of the total, which is as wide as that of the one function. */
function withoutTotal(a: FlameAnswer): FlameAnswer {
  if (a.parent.filter(p => p === 0).length !== 1) return a;
  const rest = <T,>(list: T[]): T[] => list.slice(1);

  return {
    ...a,
    parent: rest(a.parent).map(p => p - 1),
    name: rest(a.name),
    file: rest(a.file),
    binary: rest(a.binary),
    inlined: rest(a.inlined),
    self: rest(a.self),
    total_of: rest(a.total_of),
    ...(a.self_a && a.total_of_a ? { self_a: rest(a.self_a), total_of_a: rest(a.total_of_a) } : {}),
    ...(a.interval && a.sure ? { interval: rest(a.interval), sure: rest(a.sure) } : {}),
  };
}

export function Sandwich(props: Context & { data: FlameAnswer }) {
  const { data, state } = props;
  const callees = useMemo(() => withoutTotal(data), [data]);
  const callers = useMemo(() => (data.callers ? withoutTotal({ ...data, ...data.callers }) : null), [data]);

  if (!callers) return null;
  return (
    <div class="sandwich">
      <Flame {...props} data={callers} part="callers" title={`Callers of ${state.fn}, growing upwards`} />
      <Flame {...props} data={callees} part="callees" title="What it calls:" />
    </div>
  );
}
