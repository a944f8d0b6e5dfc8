import fc, { type StringConstraints } from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };
const POINTS = 0x110000 - SURROGATES.count;

/** Every character that there is, half of one excepted. fast-check's own unit for that makes a map of all million of them first: a second, and 160 MB. */
const character = fc.nat({ max: POINTS - 1 }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (text) => {
    const point = typeof text === "string" && text.isWellFormed() ? text.codePointAt(0) : undefined;
    if (point === undefined || text !== String.fromCodePoint(point)) throw new Error("not one character");
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);

/** Text of whatever characters. */
export function anyText(constraints: Omit<StringConstraints, "unit"> = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: character });
}
