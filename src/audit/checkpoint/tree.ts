import { createHash } from "node:crypto";

/** The Merkle tree of RFC 6962, grown one leaf at a time with one hash a level. */
export interface Tree {
  size(): number;
  add(leaf: Uint8Array): void;
  root(): Buffer;
}

export function growTree(): Tree {
  // Roots of the perfect subtrees that make up the tree, largest first: the ones in the binary form of its size.
  const peaks: Buffer[] = [];
  let size = 0;
  return {
    size: () => size,
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

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

function joinNodes(left: Buffer, right: Buffer): Buffer {
  return createHash("sha256").update(NODE).update(left).update(right).digest();
}
