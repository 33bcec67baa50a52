// SPDX-License-Identifier: Apache-2.0
// An uploaded file: its name, which of its profiles is shown, and until when it is there.
import type { UploadedFile } from '../api/answer.ts';
import { formatTime } from '../model/time.ts';
import type { Context } from '../state/context.ts';
import { Frame } from './notice.tsx';

/** The file in ID/PART. */
export function idOf(adhoc: string): string {
  return adhoc.split('/')[0] as string;
}

/** The number of the profile in ID/PART. */
export function partOf(adhoc: string): number {
  return Number(adhoc.split('/')[1] ?? 0);
}

/** The profile of a file that has the name of a profile of another file, if there is one. */
function samePart(file: UploadedFile, other: UploadedFile, part: number): string | undefined {
  const name = other.parts?.[part]?.name;
  const i = file.parts?.findIndex(p => p.name === name) ?? -1;

  return i < 0 ? undefined : i ? `${file.id}/${i}` : file.id;
}

/** The profile of a file that has the name of a profile of another file, or the first one. */
export function samePartOrFirst(file: UploadedFile, other: UploadedFile, part: number): string {
  return samePart(file, other, part) ?? file.id;
}

/** `of`: the side of the file, and the key of the request for what is known of it. */
export function FileOf(context: Context & { of: 'file' | 'file_a' }) {
  const { state, act, of, loader } = context;
  const shown = of === 'file' ? state.adhoc : state.base.adhoc;
  const answer = loader.get<UploadedFile>(of === 'file' ? 'file_a' : 'file');
  const other = answer?.stale ? undefined : answer?.answer?.data;
  // The other side shows the profile of the same name, if it is another file and has one.
  const choose = (file: UploadedFile, part: number): void => {
    const mine = `${file.id}/${part}`;
    const theirs = other && other.id !== file.id ? samePart(other, file, part) : undefined;
    const adhoc = of === 'file' ? mine : (theirs ?? state.adhoc);
    const base = { ...state.base, adhoc: of === 'file' ? (theirs ?? state.base.adhoc) : mine };
    act({ do: 'set', values: { adhoc, base, sample_index: '' } });
  };

  return (
    <Frame<UploadedFile> {...context}>
      {file => (
        <span class="bar">
          <b class="file-name">{file.name}</b>
          {file.parts && file.parts.length > 1 && (
            <select
              aria-label="Profile of the file"
              value={partOf(shown)}
              onChange={e => choose(file, Number(e.currentTarget.value))}
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
