// SPDX-License-Identifier: Apache-2.0
// The menu Share: links with absolute times, downloads, and commands.
import { useEffect, useRef, useState } from 'preact/hooks';
import { base, fetchPath, urlOf } from '../api/client.ts';
import { curlCommand, pprofCommand } from '../model/command.ts';
import { parseTime } from '../model/time.ts';
import { usePageKeys } from '../parts/hooks.ts';
import { FailureBox } from '../parts/notice.tsx';
import { Popup } from '../parts/popup.tsx';
import type { Context } from '../state/context.ts';
import { reportRequest, viewRequest } from '../state/requests.ts';
import type { Side, State } from '../state/state.ts';
import { encode, pathOf } from '../state/url.ts';

/** A link longer than this is cut off by some programs. */
const longLink = 6000;

/** The state with absolute times: what a copied link shows does not move. */
export function absolute(s: State, now: number): State {
  if (s.page === 'adhoc') return s;
  const time = (text: string): string => (text ? String(parseTime(text, now)) : text);

  const times = (side: Side): Pick<Side, 'from' | 'to' | 'time'> => ({
    from: time(side.from),
    to: time(side.to),
    time: time(side.time),
  });

  return { ...s, ...times(s), base: { ...s.base, ...times(s.base) } };
}

export function linkOf(s: State, now: number): string {
  return `${location.origin}${base()}${pathOf(s.page)}?${encode(absolute(s, now))}`;
}

const files: [string, string, string][] = [
  ['proto', 'pprof, for go tool pprof', 'everprof.pb.gz'],
  ['folded', 'folded stacks', 'everprof.folded.txt'],
  ['speedscope', 'speedscope', 'everprof.speedscope.json'],
  ['flamegraph', 'SVG', 'everprof.svg'],
  ['pgo', 'for go build -pgo', 'default.pgo'],
];

/** The URL of a file of the profiles that are shown. */
export function fileUrl(s: State, now: number, report: string): string {
  return location.origin + urlOf(reportRequest(s, now, report, report === 'flamegraph' ? [['format', 'text']] : []));
}

/** The URL of the answer that the view shows: the same numbers. */
export function viewUrl(s: State, now: number): string {
  return location.origin + urlOf(viewRequest(s, now));
}

/** Copy a text; if the browser does not allow it, the text is shown to be copied. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Save an answer as a file. A plain link would save the text of an error, too. */
async function save(url: string, name: string): Promise<void> {
  const response = await fetchPath(url);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function Copied({ text, done, close }: { text: string; done: boolean; close: () => void }) {
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (!done) field.current?.select();
  }, [text, done]);
  return (
    <span class="copied" role="status">
      {done ? 'Copied' : 'Copy this'}
      {text.startsWith('http') ? ', with absolute times: ' : ': '}
      <input readOnly value={text} ref={field} aria-label="What was copied" />
      {text.length > longLink && (
        <span> The link is {text.length} characters long: remove filters to make it shorter.</span>
      )}
      <button type="button" aria-label="Close" onClick={close}>
        ×
      </button>
    </span>
  );
}

export function Share({ state, now }: Context) {
  const [copied, setCopied] = useState<{ text: string; done: boolean } | null>(null);
  const [open, setOpen] = useState(false);
  const [failure, setFailure] = useState('');
  const saveFile = (report: string, name: string) => () => {
    setFailure('');
    save(fileUrl(state, now, report), name).catch((e: Error) => setFailure(e.message));
  };
  const take = (text: () => string) => async () => setCopied({ text: text(), done: await copy(text()) });
  const link = take(() => linkOf(state, now));
  const curl = take(() => curlCommand(viewUrl(state, now)));

  usePageKeys({ y: link, c: curl, e: () => setOpen(true) });
  return (
    <span class="share">
      <button type="button" onClick={link}>
        Copy link
      </button>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        Export
      </button>
      {copied && <Copied {...copied} close={() => setCopied(null)} />}
      {open && (
        <Popup label="Export" class="right" close={() => setOpen(false)}>
          <ul class="options">
            {files.map(([report, title, name]) => (
              <li key={report}>
                <button type="button" onClick={saveFile(report, name)}>
                  {title}
                </button>
              </li>
            ))}
            <li>
              <button type="button" onClick={curl}>
                Copy as curl
              </button>
            </li>
            <li>
              <button type="button" onClick={take(() => pprofCommand(fileUrl(state, now, 'proto')))}>
                Copy as go tool pprof
              </button>
            </li>
          </ul>
          {failure && <FailureBox text={failure} utc={state.tz === 'utc'} />}
        </Popup>
      )}
    </span>
  );
}
