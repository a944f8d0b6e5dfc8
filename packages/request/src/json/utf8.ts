/** Where the first ill-formed sequence starts in bytes known to be ill-formed. Only refusals come here, so it may be slow. */
export function firstIllFormedByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** The length of the well-formed sequence at `at`, 0 when there is none: Unicode 16, table 3-7. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const second = bytes[at + 1] ?? 0;
  const [low, high] = secondRange(lead);
  if (second < low || second > high) return 0;
  for (let index = at + 2; index < at + length; index++) if (((bytes[index] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

function secondRange(lead: number): readonly [number, number] {
  switch (lead) {
    case 0xe0:
      return [0xa0, 0xbf];
    case 0xed:
      return [0x80, 0x9f];
    case 0xf0:
      return [0x90, 0xbf];
    case 0xf4:
      return [0x80, 0x8f];
  }
  return [0x80, 0xbf];
}
