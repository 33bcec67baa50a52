// SPDX-License-Identifier: Apache-2.0
// An uploaded file: its name, which of its profiles is shown, and until when it is there.
import type { UploadedFile } from '../api/answer.ts';
import { formatTime } from '../model/time.ts';
import type { Context } from '../state/context.ts';
import { Frame } from './notice.tsx';

/** The number of the profile in ID/PART. */
export function partOf(adhoc: string): number {
  return Number(adhoc.split('/')[1] ?? 0);
}

/** `of`: the side of the file, and the key of the request for what is known of it. */
export function FileOf(context: Context & { of: 'file' | 'file_a' }) {
  const { state, act, of } = context;
  const shown = of === 'file' ? state.adhoc : state.base.adhoc;
  const choose = (adhoc: string): void =>
    act({
      do: 'set',
      values: { ...(of === 'file' ? { adhoc } : { base: { ...state.base, adhoc } }), sample_index: '' },
    });

  return (
    <Frame<UploadedFile> {...context}>
      {file => (
        <span class="bar">
          <b class="file-name">{file.name}</b>
          {file.parts && file.parts.length > 1 && (
            <select
              aria-label="Profile of the file"
              value={partOf(shown)}
              onChange={e => choose(`${file.id}/${e.currentTarget.value}`)}
            >
              {file.parts.map((p, i) => (
                <option key={i} value={i}>
                  {p.name}
                </option>
              ))}
            </select>
          )}
          <span class="dim">
            {file.format}, until {formatTime(file.expires, state.tz === 'utc')}
          </span>
          {file.note && <span class="dim">{file.note}</span>}
        </span>
      )}
    </Frame>
  );
}
