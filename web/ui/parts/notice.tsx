// SPDX-License-Identifier: Apache-2.0
// Notices: errors and warnings of requests, always in full, with a way to retry.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RunningQuery } from '../api/answer.ts';
import { ask, type Problem } from '../api/client.ts';
import type { Loaded } from '../api/loader.ts';
import type { Context } from '../pages/app.tsx';

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

/** How often the server is asked how far a query is, in milliseconds. */
const askEvery = 500;

/** How far a query is: "4120 of 10010 profiles". */
function Progress({ id }: { id: string }) {
  const [text, setText] = useState('');

  useEffect(() => {
    const abort = new AbortController();
    const look = async (): Promise<void> => {
      const request = { key: 'progress', path: 'api/v1/status/queries', params: [] };
      try {
        const { data } = await ask<RunningQuery[]>(request, abort.signal, '');
        const mine = data.find((q) => q.id === id);
        if (mine?.profiles) setText(`${mine.done} of ${mine.profiles} profiles`);
      } catch {
        // The progress is not needed for the answer.
      }
    };
    const timer = setInterval(look, askEvery);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [id]);
  return <span>{text || 'Loading …'}</span>;
}

/** Asks again for one answer, or for all. */
export function retryOf({ loader, act }: Context, key?: string): () => void {
  return () => {
    loader.refresh(key);
    act({ do: 'set', values: {} });
  };
}

/** Whether an old answer stays beside a problem: if a new one may come by itself. */
function waits(p: Problem | null): boolean {
  return !p || p.status === 0 || p.retry > 0;
}

/** A view with its states: the old answer is dimmed while a new one is loading. */
export function Frame<T>(props: {
  loaded: Loaded<T> | undefined;
  retry: () => void;
  cancel: () => void;
  /** What is shown if there is nothing (404), in place of the error. */
  none?: (message: string) => ComponentChildren;
  children: (data: T) => ComponentChildren;
}) {
  const { loaded } = props;
  const none = props.none && loaded?.problem?.status === 404;

  if (!loaded) return null;
  return (
    <div class="frame" data-state={loaded.loading ? 'loading' : loaded.problem ? 'failed' : 'ready'}>
      {none && props.none?.(loaded.problem?.message ?? '')}
      {loaded.problem && !none && <ProblemBox key="problem" problem={loaded.problem} retry={props.retry} />}
      {loaded.answer && !loaded.stale && <Warnings texts={loaded.answer.warnings} />}
      {loaded.loading && (
        <div key="progress" class="progress" role="status">
          <Progress id={loaded.id} /> <button type="button" onClick={props.cancel}>Cancel</button>
        </div>
      )}
      {loaded.answer && (!loaded.stale || waits(loaded.problem)) && <div key="view" class={loaded.stale ? 'dimmed' : ''}>{props.children(loaded.answer.data)}</div>}
    </div>
  );
}
