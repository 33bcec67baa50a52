// SPDX-License-Identifier: Apache-2.0
// What went wrong, and what was left out: always in full.
import type { ComponentChildren } from 'preact';
import type { Loaded } from '../api/loader.ts';
import type { Problem } from '../api/client.ts';

export function ProblemBox({ problem, retry }: { problem: Problem; retry: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <span>{problem.message}</span>
      {problem.retry > 0 && <span> (trying again in {problem.retry} s)</span>}
      <button type="button" onClick={retry}>Try again</button>
    </div>
  );
}

export function Warnings({ texts }: { texts: string[] }) {
  return (
    <>
      {texts.map((text) => (
        <div class="notice warn" role="status" key={text}>{text}</div>
      ))}
    </>
  );
}

/** A view with its states: the old answer is dimmed while a new one is loading. */
export function Frame<T>(props: {
  loaded: Loaded<T> | undefined;
  retry: () => void;
  cancel: () => void;
  progress?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}) {
  const { loaded } = props;

  if (!loaded) return null;
  return (
    <div class="frame" data-state={loaded.loading ? 'loading' : loaded.problem ? 'failed' : 'ready'}>
      {loaded.problem && <ProblemBox key="problem" problem={loaded.problem} retry={props.retry} />}
      {loaded.answer && !loaded.stale && <Warnings texts={loaded.answer.warnings} />}
      {loaded.loading && (
        <div key="progress" class="progress" role="status">
          {props.progress ?? 'Loading …'} <button type="button" onClick={props.cancel}>Cancel</button>
        </div>
      )}
      {loaded.answer && <div key="view" class={loaded.stale ? 'dimmed' : ''}>{props.children(loaded.answer.data)}</div>}
    </div>
  );
}
