// SPDX-License-Identifier: Apache-2.0
// Files: profiles that somebody brings to look at, alone or compared: pprof, recordings
// of Java, perf script, folded stacks.
import { useState } from 'preact/hooks';
import type { UploadedFile } from '../api/answer.ts';
import { keepFile, removeFile, uploadFile } from '../api/client.ts';
import { formatTime } from '../model/time.ts';
import { FileOf, partOf } from '../parts/file.tsx';
import { comparedBy } from '../parts/hooks.ts';
import { FailureBox, Frame } from '../parts/notice.tsx';
import { SampleTypes } from '../parts/query.tsx';
import type { Context } from '../state/context.ts';
import { isDiff, noSide, type State, unfiltered } from '../state/state.ts';
import { Views } from '../views/views.tsx';

/** For how long a file is kept on request. */
const keepTime = '30d';

/** Another file has other functions and sample types. */
function chosen(values: Partial<State>): Partial<State> {
  return { ...unfiltered, view: 'flame', ...values };
}

const baseOf = (adhoc: string): State['base'] => ({ ...noSide, adhoc });

/** What happens to files that the user brings or changes; `failure` is that of the last one. */
interface Files {
  busy: string;
  failure: string;
  /** Upload files, and show them: of two, the first is the base; `asBase`: one as the base of what is shown. */
  bring: (files: File[], asBase: boolean) => void;
  change: (what: Promise<void>, values?: Partial<State>) => void;
}

function useFiles({ state, act, refresh }: Context): Files {
  const [busy, setBusy] = useState('');
  const [failure, setFailure] = useState('');
  const run = (what: Promise<void>): void => {
    setFailure('');
    what.catch((e: Error) => setFailure(e.message)).finally(() => setBusy(''));
  };
  const show = async (files: File[], asBase: boolean): Promise<void> => {
    const [first, second] = files;
    if (!first) return;
    if (files.length > 2) throw new Error('At most two files can be compared.');
    const a = await uploadFile(first);
    if (second) act({ do: 'set', values: chosen({ base: baseOf(a.id), adhoc: (await uploadFile(second)).id }) });
    else if (asBase && state.adhoc) act({ do: 'set', values: { base: baseOf(a.id) } });
    else act({ do: 'set', values: chosen({ adhoc: a.id, base: state.base.adhoc ? state.base : noSide }) });
    refresh();
  };

  return {
    busy,
    failure,
    bring: (files, asBase) => {
      setBusy(`Uploading ${files.map(f => f.name).join(' and ')} …`);
      run(show(files, asBase));
    },
    change: (what, values = {}) =>
      run(
        what.then(() => {
          act({ do: 'set', values });
          refresh();
        }),
      ),
  };
}

/** What makes an element a place into which files can be dropped. */
function dropInto(files: Files, asBase: boolean) {
  return {
    onDragOver: (e: DragEvent) => e.preventDefault(),
    onDrop: (e: DragEvent) => {
      e.preventDefault();
      e.stopPropagation();
      files.bring([...(e.dataTransfer?.files ?? [])], asBase);
    },
  };
}

/** A button by which files are chosen; they can also be dropped. */
function Choose({ text, files, asBase }: { text: string; files: Files; asBase: boolean }) {
  return (
    <label class="choose">
      {text}
      <input
        type="file"
        multiple={!asBase}
        onChange={e => {
          files.bring([...(e.currentTarget.files ?? [])], asBase);
          e.currentTarget.value = '';
        }}
      />
    </label>
  );
}

/** What can be done with the file that is shown. */
function FileActions(props: Context & { files: Files }) {
  const { state, act, files } = props;
  const id = state.adhoc.split('/')[0] as string;

  return (
    <>
      <button
        type="button"
        title={`Keep the file for ${keepTime} from now on, so that a link to it works`}
        onClick={() => files.change(keepFile(id, keepTime))}
      >
        Keep {keepTime}
      </button>
      <button
        type="button"
        title="Compare stored profiles with this file, which becomes the base"
        onClick={() => act({ do: 'set', values: { page: 'compare', adhoc: '', base: baseOf(state.adhoc) } })}
      >
        Compare with stored profiles
      </button>
      <button
        type="button"
        onClick={() => files.change(removeFile(id), chosen({ adhoc: state.base.adhoc, base: noSide }))}
      >
        Remove
      </button>
    </>
  );
}

/** How the two files are compared. */
function Scale(context: Context) {
  const { state, act } = context;
  const by = comparedBy(context);
  const set = (values: Partial<State>) => () => act({ do: 'set', values });

  return (
    <div class="bar">
      <button type="button" onClick={set({ adhoc: state.base.adhoc, base: { ...state.base, adhoc: state.adhoc } })}>
        Swap A and B
      </button>
      <div class="tabs" role="group" aria-label="Compare by">
        <button type="button" aria-pressed={by === 'share'} onClick={set({ normalize: '1' })}>
          by share of the total
        </button>
        <button type="button" aria-pressed={by === 'value'} onClick={set({ normalize: '0' })}>
          by value
        </button>
      </div>
      <button type="button" onClick={set({ base: noSide })}>
        Only B
      </button>
    </div>
  );
}

/** The files that are shown; others can be chosen, or dropped here. */
function Sides(props: Context & { files: Files }) {
  const { state, loader, files } = props;
  const part = loader.get<UploadedFile>('file')?.answer?.data.parts?.[partOf(state.adhoc)];
  const compared = isDiff(state);

  return (
    <div class={compared ? 'sides' : ''}>
      {compared && (
        <section class="side bar" aria-label="A, the base" {...dropInto(files, true)}>
          <span>A, the base:</span>
          <FileOf {...props} of="file_a" />
          <Choose text="Another base …" files={files} asBase />
        </section>
      )}
      <section class="side bar" aria-label={compared ? 'B' : 'File'}>
        {compared && <span>B:</span>}
        <FileOf {...props} of="file" />
        {part && <SampleTypes {...props} of={part} />}
        <FileActions {...props} />
        <Choose text="Another file, or two …" files={files} asBase={false} />
        {!compared && <Choose text="A file to compare with …" files={files} asBase />}
      </section>
    </div>
  );
}

/** The files that are there. */
function List(context: Context) {
  const { state, act } = context;
  const time = (ms: number): string => formatTime(ms, state.tz === 'utc');

  return (
    <Frame<UploadedFile[]> {...context} of="files">
      {list =>
        list.length > 0 && (
          <table class="plain">
            <thead>
              <tr>
                <th>File</th>
                <th>Uploaded</th>
                <th>By</th>
                <th>Until</th>
              </tr>
            </thead>
            <tbody>
              {list.map(f => (
                <tr key={f.id}>
                  <td>
                    <button type="button" onClick={() => act({ do: 'set', values: chosen({ adhoc: f.id }) })}>
                      {f.name}
                    </button>
                  </td>
                  <td>{time(f.uploaded)}</td>
                  <td>{f.user}</td>
                  <td>
                    {time(f.expires)}
                    {f.kept && ', kept'}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Frame>
  );
}

export function Adhoc(context: Context) {
  const { state } = context;
  const files = useFiles(context);

  return (
    <div class="adhoc" {...dropInto(files, false)}>
      {files.busy && <p role="status">{files.busy}</p>}
      {files.failure && <FailureBox text={files.failure} utc={state.tz === 'utc'} />}
      {state.adhoc ? (
        <>
          <Sides {...context} files={files} />
          {isDiff(state) && <Scale {...context} />}
          <Views {...context} />
        </>
      ) : (
        <>
          <div class="drop">
            <p>Drop one file with profiles here, or two to compare them; of two, the first is the base.</p>
            <p>
              <Choose text="Choose files …" files={files} asBase={false} />
            </p>
            <p class="dim">
              pprof, Java Flight Recorder (JFR), the text of <code>perf script</code>, folded stacks; also compressed
              with gzip or zstd. A file is there for a day unless you keep it, and everybody who may read profiles here
              can see it.
            </p>
          </div>
          <List {...context} />
        </>
      )}
    </div>
  );
}
