import { createHash } from "node:crypto";

/** The Merkle tree of RFC 6962, grown one leaf at a time with one hash a level. */
export interface Tree {
  size(): number;
  add(leaf: Uint8Array): void;
  root(): Buffer;
  /** Roots of the perfect subtrees that make up the tree, largest first: the ones in the binary form of its size. */
  peaks(): readonly Buffer[];
}

/** Grows on from a tree of which only the peaks are known. */
export function growTree(from: { readonly size: number; readonly peaks: readonly Buffer[] } = EMPTY): Tree {
  const peaks: Buffer[] = [...from.peaks];
  let { size } = from;
  return {
    size: () => size,
    peaks: () => peaks,
    add(leaf) {
      let node: Buffer = createHash("sha256").update(LEAF).update(leaf).digest();
      for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
        const left = peaks.pop();
        if (left !== undefined) node = joinNodes(left, node);
      }
      peaks.push(node);
      size++;
    },
    root() {
      const last = peaks.at(-1);
      if (last === undefined) return createHash("sha256").digest();
      return peaks.slice(0, -1).reduceRight((right, left) => joinNodes(left, right), last);
    },
  };
}

const EMPTY = { size: 0, peaks: [] };
const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

function joinNodes(left: Buffer, right: Buffer): Buffer {
  return createHash("sha256").update(NODE).update(left).update(right).digest();
}
