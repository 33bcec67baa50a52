// SPDX-License-Identifier: Apache-2.0
// Notices: errors and warnings of requests, always in full, with a way to retry.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RunningQuery } from '../api/answer.ts';
import { ask, type Problem } from '../api/client.ts';
import { withShownTimes } from '../model/time.ts';
import type { Context } from '../state/context.ts';

/** A failure in the words of the server. */
export function FailureBox({ text, utc, children }: { text: string; utc: boolean; children?: ComponentChildren }) {
  return (
    <div class="notice bad" role="alert">
      <span>{withShownTimes(text, utc)}</span>
      {children}
    </div>
  );
}

/** A failed request. The same request does not become right (400) by being sent again. */
export function ProblemBox({ problem, utc, retry }: { problem: Problem; utc: boolean; retry: () => void }) {
  return (
    <FailureBox text={problem.message} utc={utc}>
      {problem.retry > 0 && <span> (trying again in {problem.retry} s)</span>}
      {problem.status !== 400 && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </FailureBox>
  );
}

/** Failures of several requests, such as that of a server that cannot be reached. */
export function SharedProblems(context: Context) {
  const { loader, state } = context;

  return (
    <>
      {loader.shared.map(p => (
        <ProblemBox key={p.message} problem={p} utc={state.tz === 'utc'} retry={retryOf(context)} />
      ))}
    </>
  );
}

/** Warnings, one line each, so that the picture keeps the room; a click shows the whole text. */
function Warnings({ texts, utc }: { texts: string[]; utc: boolean }) {
  return (
    <>
      {texts.map(text => (
        <div class="notice warn line" role="status" key={text}>
          <details>
            <summary>{withShownTimes(text, utc)}</summary>
          </details>
        </div>
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
        const mine = data.find(q => q.id === id);
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

/**
 * A view of one answer with its states: the old answer is dimmed while a new one
 * is loading, and a failure is shown unless the page shows it for several views.
 */
export function Frame<T>(
  props: Context & {
    /** The key of the request. */
    of: string;
    /** What is shown if there is nothing (404), in place of the error. */
    none?: ((message: string) => ComponentChildren) | undefined;
    children: (data: T) => ComponentChildren;
  },
) {
  const { loader, of, state } = props;
  const loaded = loader.get<T>(of);
  const none = props.none && loaded?.problem?.status === 404;

  if (!loaded) return null;
  const problem = none || loader.shared.some(p => loaded.problem?.isSame(p)) ? null : loaded.problem;
  const utc = state.tz === 'utc';
  return (
    <div class="frame" data-state={loaded.loading ? 'loading' : loaded.problem ? 'failed' : 'ready'}>
      {none && props.none?.(loaded.problem?.message ?? '')}
      {problem && <ProblemBox key="problem" problem={problem} utc={utc} retry={retryOf(props, of)} />}
      {loaded.answer && !loaded.stale && <Warnings texts={loaded.answer.warnings} utc={utc} />}
      {loaded.loading && (
        <div key="progress" class="progress" role="status">
          <Progress id={loaded.id} />{' '}
          <button type="button" onClick={() => loader.cancel(of)}>
            Cancel
          </button>
        </div>
      )}
      {loaded.answer && (!loaded.stale || waits(loaded.problem)) && (
        <div key="view" class={loaded.stale ? 'dimmed' : ''}>
          {props.children(loaded.answer.data)}
        </div>
      )}
    </div>
  );
}
