// SPDX-License-Identifier: Apache-2.0
// Files: profiles that somebody brings to look at, alone or compared: pprof, recordings
// of Java, perf script, folded stacks.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ProfileType, Session, UploadedFile } from '../api/answer.ts';
import { keepFile, removeFile, uploadFile } from '../api/client.ts';
import { formatTime } from '../model/time.ts';
import { FileOf, idOf, partOf, samePartOrFirst } from '../parts/file.tsx';
import { comparedBy } from '../parts/hooks.ts';
import { FailureBox, Frame, retryOf } from '../parts/notice.tsx';
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

/** The file of side B, or of the base A; undefined before its answer, or if it is gone. */
function fileOf({ loader }: Context, of: 'file' | 'file_a'): UploadedFile | undefined {
  const loaded = loader.get<UploadedFile>(of);

  return loaded?.stale || loaded?.problem ? undefined : loaded?.answer?.data;
}

/** Upload a file; an error names it. */
async function send(file: File): Promise<UploadedFile> {
  try {
    return await uploadFile(file);
  } catch (e) {
    throw new Error(`${file.name}: ${(e as Error).message}`);
  }
}

/** What happens to files that the user brings or changes; `failure` is that of the last one. */
interface Files {
  busy: string;
  failure: string;
  /** Upload files, and show them: of two, the first is the base; `asBase`: one as the base of what is shown. */
  bring: (files: File[], asBase: boolean) => void;
  change: (what: Promise<unknown>, values?: Partial<State>) => void;
}

function useFiles(context: Context): Files {
  const [busy, setBusy] = useState('');
  const [failure, setFailure] = useState('');
  // What is shown when an upload ends may be another state, or another page.
  const latest = useRef<Context | null>(context);
  const { state } = context;

  latest.current = context;
  useEffect(() => () => void (latest.current = null), []);
  useEffect(() => setFailure(''), [state.adhoc, state.base.adhoc]);
  const act = (values: (now: Context) => Partial<State>): void => {
    const now = latest.current;
    now?.act({ do: 'set', values: values(now) });
    now?.refresh();
  };
  const run = (what: Promise<void>): Promise<void> => {
    setFailure('');
    return what.catch((e: Error) => setFailure(e.message));
  };
  const show = async (files: File[], asBase: boolean): Promise<void> => {
    const [first, second] = files;
    if (!first) return;
    if (files.length > 2) throw new Error('At most two files can be compared.');
    const a = await send(first);
    const b = second && (await send(second));
    act(now => {
      if (b) return chosen({ base: baseOf(samePartOrFirst(a, b, 0)), adhoc: b.id });
      const shown = fileOf(now, 'file');
      if (asBase && shown) return { base: baseOf(samePartOrFirst(a, shown, partOf(now.state.adhoc))) };
      const base = fileOf(now, 'file_a');
      return chosen({ adhoc: a.id, base: base ? baseOf(samePartOrFirst(base, a, 0)) : noSide });
    });
  };

  return {
    busy,
    failure,
    bring: (files, asBase) => {
      if (busy) return;
      setBusy(`Uploading ${files.map(f => f.name).join(' and ')} …`);
      void run(show(files, asBase)).finally(() => setBusy(''));
    },
    change: (what, values = {}) => void run(what.then(() => act(() => values))),
  };
}

/** Whether files are dragged over the page, all of which takes them; those dropped on `.as-base` become the base. */
function useDrops(bring: Files['bring']): boolean {
  const [over, setOver] = useState(false);
  const last = useRef(bring);

  last.current = bring;
  useEffect(() => {
    const onOver = (e: DragEvent): void => {
      if (!e.dataTransfer?.types.includes('Files')) return;
      e.preventDefault();
      setOver(true);
    };
    const onLeave = (e: DragEvent): void => {
      if (!e.relatedTarget) setOver(false);
    };
    const onDrop = (e: DragEvent): void => {
      setOver(false);
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      last.current([...e.dataTransfer.files], e.target instanceof Element && e.target.closest('.as-base') !== null);
    };
    document.addEventListener('dragover', onOver);
    document.addEventListener('dragleave', onLeave);
    document.addEventListener('drop', onDrop);
    return () => {
      document.removeEventListener('dragover', onOver);
      document.removeEventListener('dragleave', onLeave);
      document.removeEventListener('drop', onDrop);
    };
  }, []);
  return over;
}

/** A button by which files are chosen; they can also be dropped. */
function Choose({ text, files, asBase }: { text: string; files: Files; asBase: boolean }) {
  return (
    <label class="choose">
      {text}
      <input
        type="file"
        multiple={!asBase}
        disabled={files.busy !== ''}
        onChange={e => {
          files.bring([...(e.currentTarget.files ?? [])], asBase);
          e.currentTarget.value = '';
        }}
      />
    </label>
  );
}

/** Whether the user may keep and remove a file. */
function isMine({ loader }: Context, file: UploadedFile): boolean {
  const session = loader.get<Session>('session')?.answer?.data;

  return !session || session.user === file.user || session.scopes.includes('admin');
}

/** The type of stored profiles that has the sample types of a file; '': none, or not known. */
function storedType({ loader }: Context, sampleTypes: { type: string }[]): string {
  const types = loader.get<ProfileType[]>('types')?.answer?.data ?? [];
  const names = (list: { type: string }[]): string => list.map(t => t.type).join(' ');

  return types.find(t => names(t.sampleTypes) === names(sampleTypes))?.name ?? '';
}

/** Removes the file; as it is gone for everybody then, the button asks before. */
function Remove(props: Context & { files: Files; file: UploadedFile }) {
  const { state, files, file } = props;
  const [asked, ask] = useState('');
  const mine = isMine(props, file);

  return (
    <button
      type="button"
      disabled={!mine}
      title={mine ? 'Remove the file from the server' : `Uploaded by ${file.user}`}
      onBlur={() => ask('')}
      onClick={() => {
        if (asked !== file.id) return ask(file.id);
        // Both sides may be profiles of one file.
        const rest = idOf(state.base.adhoc) === file.id ? '' : state.base.adhoc;
        return files.change(removeFile(file.id), chosen({ adhoc: rest, base: noSide }));
      }}
    >
      {asked === file.id ? 'Remove it for everybody' : 'Remove file'}
    </button>
  );
}

/** What can be done with the files that are shown. */
function FileActions(props: Context & { files: Files; file: UploadedFile }) {
  const { state, act, files, file } = props;
  const base = fileOf(props, 'file_a');
  const shown = base && base.id !== file.id ? [file, base] : [file];
  const part = file.parts?.[partOf(state.adhoc)];
  const foreign = shown.find(f => !isMine(props, f));
  const others = foreign ? ` (${foreign.name} was uploaded by ${foreign.user})` : '';

  return (
    <>
      <button
        type="button"
        disabled={foreign !== undefined}
        title={`Keep what is shown for ${keepTime} from now on, so that a link to it works${others}`}
        onClick={() => files.change(Promise.all(shown.map(f => keepFile(f.id, keepTime))))}
      >
        Keep {keepTime}
      </button>
      <button
        type="button"
        title="Compare stored profiles with this file, which becomes the base"
        onClick={() => {
          const query = storedType(props, part?.sampleTypes ?? []);
          const values = { page: 'compare', adhoc: '', base: baseOf(state.adhoc) } as const;
          act({ do: 'set', values: chosen(query ? { ...values, query } : values) });
        }}
      >
        Compare with stored profiles
      </button>
      <Remove {...props} />
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
      <button type="button" onClick={set({ adhoc: state.base.adhoc, base: baseOf(state.adhoc) })}>
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
      <button type="button" title="Show A alone" onClick={set(chosen({ adhoc: state.base.adhoc, base: noSide }))}>
        Only A
      </button>
      <button type="button" title="Show B alone" onClick={set({ base: noSide })}>
        Only B
      </button>
    </div>
  );
}

/** The files that are shown; others can be chosen. */
function Sides(props: Context & { files: Files }) {
  const { state, files } = props;
  const file = fileOf(props, 'file');
  const part = file?.parts?.[partOf(state.adhoc)];
  const compared = isDiff(state);

  return (
    <>
      <div class={compared ? 'sides' : ''}>
        {compared && (
          <section class="side bar as-base" aria-label="A, the base">
            <span>A, the base:</span>
            <FileOf {...props} of="file_a" />
            <Choose text="Another base …" files={files} asBase />
          </section>
        )}
        <section class="side bar" aria-label={compared ? 'B' : 'File'}>
          {compared && <span>B:</span>}
          <FileOf {...props} of="file" />
          {!compared && part && <SampleTypes {...props} of={part} />}
          <Choose text="Another file, or two …" files={files} asBase={false} />
          {!compared && <Choose text="A base to compare with …" files={files} asBase />}
        </section>
      </div>
      <div class="bar">
        {compared && <Scale {...props} />}
        {compared && part && <SampleTypes {...props} of={part} />}
        {file && <FileActions {...props} file={file} />}
      </div>
    </>
  );
}

/** The files that are there; of two that are chosen, one is the base. */
function List(context: Context) {
  const { state, act } = context;
  const [base, setBase] = useState('');
  const time = (ms: number): string => formatTime(ms, state.tz === 'utc');

  // Others come and go meanwhile.
  useEffect(retryOf(context, 'files'), []);
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
                <th>Compare</th>
              </tr>
            </thead>
            <tbody>
              {list.map(f => (
                <tr key={f.id}>
                  <td>
                    <button
                      type="button"
                      onClick={() =>
                        act({ do: 'set', values: chosen({ adhoc: f.id, base: base ? baseOf(base) : noSide }) })
                      }
                    >
                      {f.name}
                    </button>
                  </td>
                  <td>{time(f.uploaded)}</td>
                  <td>{f.user}</td>
                  <td>
                    {time(f.expires)}
                    {f.kept && ', kept'}
                  </td>
                  <td>
                    <button
                      type="button"
                      aria-pressed={base === f.id}
                      title="Then choose the file that is compared with it"
                      onClick={() => setBase(base === f.id ? '' : f.id)}
                    >
                      as the base
                    </button>
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

/** What the page shows if no file is chosen. */
function Start(props: Context & { files: Files }) {
  return (
    <>
      <div class="drop">
        <p>Drop one file with profiles here, or two to compare them; of two, the first is the base.</p>
        <p>
          <Choose text="Choose files …" files={props.files} asBase={false} />
        </p>
        <p class="dim">
          pprof, Java Flight Recorder (JFR), the text of <code>perf script</code>, folded stacks; also compressed with
          gzip or zstd. A file is there for some time (<code>--adhoc.ttl</code>, by default a day) unless you keep it,
          and everybody who may read profiles here can see it.
        </p>
      </div>
      <List {...props} />
    </>
  );
}

export function Adhoc(context: Context) {
  const { state, loader } = context;
  const files = useFiles(context);
  const over = useDrops(files.bring);
  const gone = (['file', 'file_a'] as const).some(of => loader.get(of)?.problem?.status === 404);

  return (
    <div class={over ? 'adhoc over' : 'adhoc'}>
      {files.busy && <p role="status">{files.busy}</p>}
      {files.failure && <FailureBox text={files.failure} utc={state.tz === 'utc'} />}
      {state.adhoc ? <Sides {...context} files={files} /> : <Start {...context} files={files} />}
      {state.adhoc && !gone && <Views {...context} />}
    </div>
  );
}
