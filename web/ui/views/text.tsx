// SPDX-License-Identifier: Apache-2.0
// Reports that are texts, as pprof prints them.
import type { Context } from '../state/context.ts';
import type { State } from '../state/state.ts';

const reports: [State['text'], string][] = [
  ['tree', 'callers and callees'],
  ['traces', 'every sample'],
];

/** More than this is not shown: a browser with so much text does not answer. */
const most = 2_000_000;

export function Text({ data, state, act }: Context & { data: string }) {
  return (
    <div class="text">
      <div class="tabs" role="group" aria-label="Report">
        {reports.map(([text, title]) => (
          <button
            key={text}
            type="button"
            aria-pressed={state.text === text}
            onClick={() => act({ do: 'set', values: { text } })}
          >
            {title}
          </button>
        ))}
      </div>
      {data.length > most && (
        <p class="notice warn" role="status">
          Only the first {most} of {data.length} characters are shown. "Copy as curl" gets all.
        </p>
      )}
      <pre tabIndex={0}>{data.slice(0, most)}</pre>
    </div>
  );
}
