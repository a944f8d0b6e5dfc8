import { parseJson } from "../packages/request/src/json/parse.ts";
import type { JsonValue } from "../src/kernel/json.ts";
import { type Bench, rate } from "./bench.ts";

const ROUNDS = 4;

/** Strict parsing beside JSON.parse, both from the bytes that arrived. */
export const bench: Bench = {
  name: "json",
  async run(emit) {
    for (const [label, bytes] of [
      ["1 KiB", body(1024)],
      ["100 KiB", body(102_400)],
      ["5 MiB", body(5_242_880)],
      ["5 MiB, not ASCII", body(5_242_880, "Grüße, 世界")],
      ["5 MiB, one object, every name new", manyMembers(5_242_880, (index) => `m${index}`)],
      ["5 MiB, one object, names are multiples of 2^16", manyMembers(5_242_880, (index) => String(index * 65_536))],
    ] as const) {
      let [ours, theirs] = [0, 0];
      // Turn about, so that the machine's moods fall on both alike.
      for (let round = 0; round < ROUNDS; round++) {
        ours = Math.max(
          ours,
          rate(() => parseJson(bytes), 150, 1),
        );
        theirs = Math.max(
          theirs,
          rate(() => JSON.parse(bytes.toString("utf8")), 150, 1),
        );
      }
      emit({
        case: `strict parse, ${label}`,
        value: (ours * bytes.length) / 1e6,
        unit: "MB/s",
        beside: "JSON.parse of the decoded bytes",
        ratio: ours / theirs,
      });
    }
  },
};

/** Records such as a call sends: identifiers, numbers, flags, a little nesting. */
function body(size: number, note = "quarterly access review"): Buffer {
  const items: JsonValue[] = [];
  for (let index = 0, length = 0; length < size - 20; index++) {
    const item = {
      id: `user-${index}`,
      role: index % 3 === 0 ? "editor" : "viewer",
      active: index % 2 === 0,
      quota: index * 17,
      ratio: index / 7,
      labels: ["a", "b"],
      range: { start: "2026-01-01", end: null },
      note,
    };
    length += Buffer.byteLength(JSON.stringify(item)) + 1;
    items.push(item);
  }
  return Buffer.from(JSON.stringify({ items }));
}

function manyMembers(size: number, name: (index: number) => string): Buffer {
  const members: string[] = [];
  for (let index = 0, length = 0; length < size; index++) {
    const member = `"${name(index)}":${index}`;
    length += member.length + 1;
    members.push(member);
  }
  return Buffer.from(`{${members.join(",")}}`);
}
