// SPDX-License-Identifier: Apache-2.0
// The flame graph: what it is of, the boxes, and details of one box.
import { useMemo, useState } from 'preact/hooks';
import type { FlameAnswer } from '../api/answer.ts';
import { isOther, rowHeight } from '../draw/flame.ts';
import { changesOf, colorsOf } from '../draw/palette.ts';
import { changeText, doubtText, partText } from '../model/compared.ts';
import { namesOf, search } from '../model/search.ts';
import type { Kind } from '../model/series.ts';
import { findHash, hashText, layout, nextNode, nodeAt, pathTo, type Tree } from '../model/tree.ts';
import { formatChange, formatScaled, formatShare } from '../model/unit.ts';
import { comparedBy, shownKind, usePalette } from '../parts/hooks.ts';
import { type Place, Tip } from '../parts/tip.tsx';
import type { Context } from '../state/context.ts';
import { isNarrowed } from '../state/requests.ts';
import type { State } from '../state/state.ts';
import { Actions, functionKeys } from './actions.tsx';
import { FlameCanvas } from './flamecanvas.tsx';
import { FlameTree } from './flametree.tsx';
import { Groups } from './groups.tsx';
import type { Picking } from './rowlist.tsx';

/** What the values of a node are shown of; `inverted`: stacks grow from their ends. */
interface Shown {
  tree: Tree;
  scaled: boolean;
  inverted: boolean;
}

/** The values of a node: of a comparison, those of both sides. */
function Values({ tree, node, scaled, inverted }: Shown & { node: number }) {
  const a = tree.answer;
  const total = a.total_of[node] as number;
  // Inverted, the boxes beside the root are the ends of stacks, and all of them is their own.
  const self = (inverted && tree.depth[node] === 1 ? total : a.self[node]) as number;
  const before = a.total_of_a?.[node];

  if (before !== undefined && scaled)
    return (
      <>
        <span>A {formatShare(before, a.total)}</span> <span>B {formatShare(total, a.total)} of the total</span>{' '}
        <span>
          {node > 0 && changeText({ a: before, b: total, delta: total - before, tested: true })}
          {verdictOf(a, node)}
        </span>
      </>
    );
  return before === undefined ? (
    <>
      {!(inverted && tree.depth[node] !== 1) && (
        <span>
          self {formatScaled(self, a)} {formatShare(self, a.total)}
        </span>
      )}{' '}
      <span>
        total {formatScaled(total, a)} {formatShare(total, a.total)}
      </span>
    </>
  ) : (
    <>
      <span>A {formatScaled(before, a, total)}</span> <span>B {formatScaled(total, a, before)}</span>{' '}
      <span>
        B−A {formatChange(before, total, a)}
        {verdictOf(a, node)}
      </span>
    </>
  );
}

/** How far the true difference of a node may be from the one that is shown, and whether it is more than noise. */
function verdictOf(a: FlameAnswer, node: number): string {
  const interval = a.interval?.[node];

  // By share, the whole cannot change.
  if (!a.sure || (node === 0 && !a.seconds)) return '';
  if (interval === null || interval === undefined) return ': few samples';
  const part = partText(interval, { a: a.total_of_a?.[node] ?? 0, b: 0, delta: 0, tested: true });
  return `${part && ` ± ${part}`}${a.sure[node] || a.few_buckets || a.drift ? '' : ': noise'}`;
}

/** Where a node's function is defined. */
function fileOf(tree: Tree, node: number): string {
  const a = tree.answer;

  return `${a.strings[a.file[node] as number]}${a.inlined[node] === 1 ? ' inlined' : ''}`;
}

/** Details of a node, for the line below the graph. */
function Detail(props: Shown & { node: number }) {
  const { tree, node } = props;

  return (
    <div class="detail" role="status">
      <b>{tree.name(node)}</b> <Values {...props} /> <span class="dim">{fileOf(tree, node)}</span>
    </div>
  );
}

/** What the colours of a comparison mean. */
function ChangeLegend({ fills, share, noise }: { fills: string[]; share: boolean; noise: boolean }) {
  const width = 14;

  return (
    <span class="change-legend">
      less{' '}
      <svg width={fills.length * width} height="12" role="img" aria-label="blue is less, orange is more">
        {fills.map((fill, i) => (
          <rect key={i} x={i * width} width={width} height="12" fill={fill} />
        ))}
      </svg>{' '}
      {share ? 'more of the total' : 'more'}; grey: the same{noise ? ', or noise' : ''}; + new, − gone
    </span>
  );
}

/** What is grey because it may be noise, and why everything may be. */
function Noise({ data, state, act }: Context & { data: FlameAnswer }) {
  const doubt = doubtText(data);

  return (
    <>
      {!data.few_buckets && (
        <label>
          <input
            type="checkbox"
            checked={state.noise}
            onChange={e => act({ do: 'set', values: { noise: e.currentTarget.checked } })}
          />{' '}
          colour noise, too
        </label>
      )}
      {doubt && (
        <span class="doubt" role="status" title={doubt} tabIndex={0}>
          {doubt}
        </span>
      )}
    </>
  );
}

/** What the sum of a kind of values over several profiles is. */
const sums: Record<Kind, string> = { flow: 'total', state: 'mean', counter: 'increase' };

/** The total of the profiles. What filters leave is a part of it; samples without a stack are in no box. */
function Sum(props: Context & { data: FlameAnswer; part?: string }) {
  const { data, state } = props;
  const word = state.time || state.aggregate || state.adhoc ? 'total' : sums[shownKind(props)];
  const boxes = data.total_of[0] as number;
  const text = (v: number): string => formatScaled(v, data);

  if (boxes === data.total)
    return (
      <b>
        {word} {text(data.total)}
      </b>
    );
  if (isNarrowed(state) || props.part)
    return (
      <b>
        {word} {text(boxes)} of {text(data.total)}, {formatShare(boxes, data.total)}
      </b>
    );
  return (
    <>
      <b>
        {word} {text(data.total)}
      </b>
      <span class="dim">, {text(data.total - boxes)} of it without a stack</span>
    </>
  );
}

function Total(props: Context & { data: FlameAnswer; scaled: boolean; part?: string }) {
  const { data, scaled } = props;
  const b = data.total_of[0] as number;
  const a = data.total_of_a?.[0];

  return a === undefined ? (
    <Sum {...props} />
  ) : scaled ? (
    <b>total {formatScaled(a, data)}, to which B is scaled</b>
  ) : (
    <b>
      total {formatScaled(a, data, b)} → {formatScaled(b, data, a)} {formatChange(a, b, data)}
      {verdictOf(data, 0)}
    </b>
  );
}

/** What the colours of boxes mean; a comparison has a legend of its own. */
const colorings: Record<State['color'], string> = {
  package: 'a colour for each package',
  binary: 'a colour for each binary',
  self: 'darker: more self time',
  one: '',
};

/**
 * `part`: one of several graphs of a page, with its title; its boxes do not begin at the outermost frame. Callers grow
 * upwards from the function.
 */
export function Flame(
  props: Context & Partial<Picking> & { data: FlameAnswer; part?: 'callers' | 'callees'; title?: string },
) {
  const { data, state, act, part } = props;
  const [pointed, setPointed] = useState<{ node: number; at: Place }>({ node: -1, at: { x: 0, y: 0 } });
  const hover = pointed.node < data.name.length ? pointed.node : -1;
  const [focus, setFocus] = useState(0);
  const [active, setActive] = useState(false);
  const [zooms, setZooms] = useState(0);
  const palette = usePalette();
  const tree = useMemo(() => layout(data, state.order), [data, state.order]);
  const compared = data.total_of_a !== undefined;
  const byShare = comparedBy(props) === 'share';
  const colors = useMemo(
    () => (compared ? changesOf(tree, palette, state.noise) : colorsOf(tree, palette, state.color)),
    [tree, palette, state.color, state.noise, compared],
  );
  const found = useMemo(() => search(data, state.find, part ? 0 : 1), [data, state.find, part]);
  // The function that was chosen in the view beside.
  const picked = useMemo(
    () => (state.beside && props.picked ? namesOf(data, props.picked) : null),
    [data, state.beside, props.picked],
  );
  const zoomed = useMemo(() => (state.zoom ? findHash(tree, state.zoom) : 0), [tree, state.zoom]);
  const zoom = Math.max(zoomed, 0);
  // What had the focus may be gone with other data.
  const focused = Math.min(focus, tree.count - 1);
  const rooted = !part && state.view === 'flame';
  const upwards = part === 'callers';
  const inverted = !part && state.view === 'invert';
  const height = tree.rows.length * rowHeight;
  const scene = {
    tree,
    colors,
    palette,
    fills: compared ? palette.change : palette.boxes,
    mark: (node: number) =>
      !compared || !node ? '' : data.total_of_a?.[node] === 0 ? '+ ' : data.total_of[node] === 0 ? '− ' : '',
    matches: state.find ? found.names : picked,
  };

  const zoomTo = (node: number): void => {
    if (node < 0 || (isOther(tree, node) && !rooted)) return;
    if (isOther(tree, node))
      return act({ do: 'set', values: { under: pathTo(tree, data.parent[node] as number), zoom: '' } });
    setZooms(zooms + 1);
    act({ do: 'set', values: { zoom: node === 0 ? '' : hashText(tree.hash[node] as number) } });
  };
  const move = (node: number): void => {
    if (node >= 0 && node < tree.count) setFocus(node);
  };
  const onKey = (e: KeyboardEvent): void => {
    const row = tree.rows[tree.depth[focused] as number] as Uint32Array;
    const k = row.indexOf(focused);
    const match = (step: 1 | -1): void =>
      move(nextNode(tree, focused, step, i => state.find !== '' && found.names[data.name[i] as number] === 1));
    const [inwards, outwards] = upwards ? (['ArrowUp', 'ArrowDown'] as const) : (['ArrowDown', 'ArrowUp'] as const);
    const actions: Record<string, () => void> = {
      [inwards]: () => move(nodeAt(tree, (tree.depth[focused] as number) + 1, tree.x[focused] as number)),
      [outwards]: () => move(data.parent[focused] as number),
      ArrowRight: () => move(row[k + 1] ?? -1),
      ArrowLeft: () => move(row[k - 1] ?? -1),
      Enter: () => zoomTo(focused),
      '+': () => zoomTo(focused),
      Escape: () => zoomTo(0),
      0: () => zoomTo(0),
      '-': () => zoomTo(Math.max(0, data.parent[zoom] as number)),
      n: () => match(1),
      N: () => match(-1),
    };
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.code === 'KeyF' && e.shiftKey && rooted)
      act({ do: 'set', values: { under: pathTo(tree, focused), zoom: '' } });
    else if (actions[e.key]) actions[e.key]?.();
    else if (functionKeys(e, props, focused ? tree.name(focused) : '')) return;
    else return;
    e.preventDefault();
  };
  const shown = hover >= 0 ? hover : active ? focused : zoom;
  return (
    <div class={`flame ${part ?? ''}`}>
      {/* Keys: without them preact may turn one of these elements into another, and the observer would watch the wrong one. */}
      {zoomed < 0 && !part && !state.beside && (
        <div key="gone" class="notice warn" role="status">
          The box that this link zooms into is not in these profiles: everything is shown.
        </div>
      )}
      {found.error && (
        <div key="error" class="notice bad" role="alert">
          {found.error}
        </div>
      )}
      <div key="head" class="flame-head">
        {props.title && <span class="flame-title">{props.title}</span>}
        {!upwards && <Total {...props} scaled={byShare} />}
        {compared && !upwards && data.sure && <Noise {...props} />}
        {compared && !upwards && (
          <ChangeLegend
            fills={palette.change}
            share={byShare}
            noise={!!data.sure && !state.noise && !data.few_buckets}
          />
        )}
        {state.find && !found.error && (
          <span role="status">
            {' '}
            · {found.nodes} boxes match, {formatShare(found.weight, data.total)} of the total,{' '}
            {formatShare(found.self, data.total)} self{data.left_out.nodes > 0 && '; not searched: (other)'}
          </span>
        )}
        {zoom > 0 && <Actions {...props} name={tree.name(zoom)} />}
        {!compared && !part && zoom === 0 && <span class="dim coloring">{colorings[state.color]}</span>}
        {data.left_out.nodes > 0 && !upwards && (
          <span class="dim" title={rooted ? 'Click a box (other) to open it.' : 'The table has all functions.'}>
            {' '}
            · {data.left_out.nodes} smaller boxes are in (other)
          </span>
        )}
      </div>
      <div key="body" class="flame-body">
        {state.group_by && rooted && <Groups key="groups" {...props} />}
        <FlameTree
          key="tree"
          tree={tree}
          focused={focused}
          part={part ?? state.view}
          onKey={onKey}
          setActive={setActive}
        >
          <FlameCanvas
            scene={scene}
            zoom={zoom}
            zooms={zooms}
            focused={focused}
            ring={active}
            height={height}
            hover={hover}
            setHover={(node, at) => setPointed({ node, at })}
            click={node => {
              move(node);
              zoomTo(node);
              if (node > 0) props.pick?.(tree.name(node));
            }}
            map={!part}
            upwards={upwards}
          />
        </FlameTree>
      </div>
      {part === 'callees' && tree.count <= 2 && (
        <p key="nothing" class="dim">
          It calls nothing.
        </p>
      )}
      {!upwards && (
        <Detail
          key="detail"
          tree={tree}
          node={Math.max(0, Math.min(shown, tree.count - 1))}
          scaled={byShare}
          inverted={inverted}
        />
      )}
      {hover >= 0 && (
        <Tip key="tip" at={pointed.at}>
          <b>{tree.name(hover)}</b>
          <div>
            <Values tree={tree} node={hover} scaled={byShare} inverted={inverted} />
          </div>
          <div class="dim">{fileOf(tree, hover)}</div>
        </Tip>
      )}
    </div>
  );
}
