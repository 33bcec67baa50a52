// SPDX-License-Identifier: Apache-2.0
// The flame graph for those who do not see it: a tree with the focused box, its
// callers and the boxes beside it. It has the focus; keys move it.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { childrenOf, type Tree } from '../model/tree.ts';
import { formatScaled, formatShare } from '../model/unit.ts';

/** Boxes beside the focused one that are listed, at most. */
const beside = 40;

function labelOf(tree: Tree, node: number): string {
  const a = tree.answer;
  const self = a.self[node] as number;
  const total = a.total_of[node] as number;

  return `${tree.name(node)}, self ${formatScaled(self, a)}, total ${formatScaled(total, a)}, ${formatShare(total, a.total)}`;
}

function itemId(part: string, node: number): string {
  return `box-${part}-${node}`;
}

/** The callers from the outermost inwards, then the focused box among its siblings. */
function itemsOf(tree: Tree, focused: number): { node: number; level: number; size: number; place: number }[] {
  const callers: number[] = [];

  for (let i = tree.answer.parent[focused] as number; i >= 0; i = tree.answer.parent[i] as number) callers.unshift(i);
  const parent = callers.at(-1);
  const siblings = parent === undefined ? [0] : childrenOf(tree, parent);
  const at = siblings.indexOf(focused);
  const first = Math.max(0, Math.min(at - beside / 2, siblings.length - beside));
  return [
    ...callers.slice(-20).map(node => ({ node, level: (tree.depth[node] as number) + 1, size: 1, place: 1 })),
    ...siblings
      .slice(first, first + beside)
      .map((node, i) => ({ node, level: callers.length + 1, size: siblings.length, place: first + i + 1 })),
  ];
}

export function FlameTree(props: {
  tree: Tree;
  focused: number;
  /** Tells the graphs of one page apart. */
  part: string;
  onKey: (e: KeyboardEvent) => void;
  setActive: (active: boolean) => void;
  children: ComponentChildren;
}) {
  const { tree, focused, part } = props;
  const items = useMemo(() => itemsOf(tree, focused), [tree, focused]);

  return (
    <div
      class="flame-tree"
      role="tree"
      tabIndex={0}
      aria-label={`Flame graph, ${tree.count} boxes. Arrow keys move, Enter zooms.`}
      aria-activedescendant={itemId(part, focused)}
      onKeyDown={props.onKey}
      onFocus={() => props.setActive(true)}
      onBlur={() => props.setActive(false)}
    >
      {items.map(item => (
        <span
          key={item.node}
          id={itemId(part, item.node)}
          class="unseen"
          role="treeitem"
          aria-level={item.level}
          aria-setsize={item.size}
          aria-posinset={item.place}
          aria-selected={item.node === focused}
        >
          {labelOf(tree, item.node)}
        </span>
      ))}
      {props.children}
    </div>
  );
}
