/** Version, trace, parent, flags; a later version may say more, which nobody here understands. */
const FORM = /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;
const OWN_LENGTH = 55;
const MOST = 200;

/**
 * The trace that a caller says its request belongs to: `traceparent` of W3C Trace Context. Null for anything that is not
 * one, twice the field included: the recommendation asks to go on as if it were not there, and it decides nothing here.
 */
export function readTraceparent(value: unknown): string | null {
  if (typeof value !== "string" || value.length > MOST) return null;
  const [, version, more] = FORM.exec(value) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return null;
  return value.slice(0, OWN_LENGTH);
}
