/** Answers that are nearly right, and the same ones again for the same number. For tests only. */
export interface ChangedAnswer {
  readonly method: string;
  readonly bytes: Buffer;
  readonly pieces: readonly Buffer[];
}

const STATUS = [
  "HTTP/1.1 200 OK",
  "HTTP/1.1 201 ",
  "HTTP/1.1 404",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 204 No",
  "HTTP/1.1 304 Same",
];
const ODD_STATUS = [
  "HTTP/1.1 103 Early",
  "HTTP/1.1 100 Continue",
  "HTTP/1.1 101 Switch",
  "HTTP/1.1 999 Odd",
  "HTTP/1.1 099 Odd",
  "HTTP/1.1  200 OK",
  "HTTP/1.1\t200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 2000 OK",
  "HTTP/2.0 200 OK",
  "HTTP/01.1 200 OK",
  "ICE/1.1 200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1 200 O\0K",
  "HTTP/1.1 200 O\u00e9K",
];
const FIELDS = [
  "A: b",
  'ETag: "1"',
  "a:",
  "A:\t b \t",
  "Date: Thu, 31 Dec 2009 20:55:48 +0000",
  "X: \u00e9\u00ff",
  "A: b",
  "Vary: a,b",
];
const ODD_FIELDS = [
  "Content-Length: 5",
  "Content-Length: 4",
  "Content-Length: 05",
  "Content-Length: +5",
  "Content-Length: 5, 5",
  "Content-Length: 0x5",
  "Content-Length:",
  "Content-Length: 99999999999999999999",
  "content-length:\t5\t",
  "Content-Length-X: 4",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: CHUNKED",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: chunkedchunked",
  "Transfer-Encoding:",
  "Transfer-Encoding : chunked",
  "Connection: close",
  "Connection: keep-alive, Close",
  "Connection: upgrade",
  "Upgrade: h2c",
  "Keep-Alive: timeout=5",
  "Proxy-Connection: close",
  " folded",
  "\tfolded",
  ": nameless",
  "no colon",
  "B\u00e9: c",
  "A: b\0c",
  "A: b\rc: d",
  "A: b\nc: d",
  "A: \u007f",
  "A(: b",
];
const CHUNKS = [
  "5\r\nhello\r\n",
  "3\r\nabc\r\n",
  "00a\r\n0123456789\r\n",
  "A\r\n0123456789\r\n",
  "1;x\r\nb\r\n",
  '2;x=y;z="a;b\\"c"\r\nok\r\n',
];
const ODD_CHUNKS = [
  "5 \r\nhello\r\n",
  "5;\r\nhello\r\n",
  "5; x\r\nhello\r\n",
  "5;x=\r\nhello\r\n",
  '5;x="a\r\nhello\r\n',
  '5;x="a"b\r\nhello\r\n',
  "5;;x\r\nhello\r\n",
  "5;x=y=z\r\nhello\r\n",
  "5;x y\r\nhello\r\n",
  "5\nhello\r\n",
  "5\r\nhello\n",
  "5\r\nhelloX\r\n",
  "0x5\r\nhello\r\n",
  "-5\r\nhello\r\n",
  "\r\nhello\r\n",
  "ffffffffffffffff\r\nhello\r\n",
  "fffffffffffffffff\r\nhello\r\n",
  "000000000000005\r\nhello\r\n",
  '5;x="\u00e9\t "\r\nhello\r\n',
  '5;x="\\\u0001"\r\nhello\r\n',
];
const LAST = ["0\r\n\r\n", "0\r\nETag: x\r\n\r\n", "000\r\n\r\n", "0;x\r\n\r\n"];
const ODD_LAST = [
  "0\r\nContent-Length: 5\r\n\r\n",
  "0\r\nTransfer-Encoding: chunked\r\n\r\n",
  "0\r\nConnection: close\r\n\r\n",
  "0\r\n folded\r\n\r\n",
  "0\r\nno colon\r\n\r\n",
  "0\r\n\n",
  "0\n\n",
  "0\r\n\rX",
];
const BEHIND = ["", "", "", "\r\n", "X", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"];
const BYTES = [0, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x30, 0x3a, 0x3b, 0x3d, 0x41, 0x61, 0x66, 0x7f, 0x80, 0xff];

export function changedAnswer(seed: number): ChangedAnswer {
  const random = randomOf(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const one = (list: readonly string[]): string => list[below(list.length)] ?? "";
  const some = (list: readonly string[], most: number): string[] =>
    Array.from({ length: below(most + 1) }, () => one(list));
  const odd = (chance: number): boolean => random() < chance;
  const framed = below(3);
  const chunks = [
    ...some(CHUNKS, 3),
    ...(odd(0.2) ? [one(ODD_CHUNKS)] : []),
    ...some(CHUNKS, 1),
    odd(0.15) ? one(ODD_LAST) : one(LAST),
  ].join("");
  const [framing, body] = [
    ["Content-Length: 5", "hello"],
    ["Transfer-Encoding: chunked", chunks],
    ["", odd(0.5) ? "" : "hello"],
  ][framed] as [string, string];
  const early = odd(0.15)
    ? `HTTP/1.1 10${2 + below(3)} Early\r\n${some(FIELDS, 1)
        .map((field) => `${field}\r\n`)
        .join("")}\r\n`
    : "";
  const lines = [
    odd(0.15) ? one(ODD_STATUS) : one(STATUS),
    ...some(FIELDS, 3),
    ...(odd(0.3) ? [one(ODD_FIELDS)] : []),
    ...(framing === "" ? [] : [framing]),
    ...(odd(0.1) ? [one(ODD_FIELDS)] : []),
    ...some(FIELDS, 2),
  ];
  const text = `${early}${lines.join("\r\n")}\r\n\r\n${body}${one(BEHIND)}`;
  const bytes = change(Buffer.from(text, "latin1"), odd(0.4) ? 1 + below(3) : 0, below);
  return { method: odd(0.1) ? "HEAD" : "GET", bytes, pieces: split(bytes, below(6), below) };
}

/** Replaces, takes away, adds or doubles a byte, so many times. */
function change(bytes: Buffer, times: number, below: (count: number) => number): Buffer {
  const text = [...bytes];
  for (let round = 0; round < times && text.length > 0; round++) {
    const at = below(text.length);
    const byte = BYTES[below(BYTES.length)] ?? 0;
    switch (below(4)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.splice(at, 1);
        break;
      case 2:
        text.splice(at, 0, byte);
        break;
      case 3:
        text.length = at;
        break;
    }
  }
  return Buffer.from(text);
}

function split(bytes: Buffer, cuts: number, below: (count: number) => number): readonly Buffer[] {
  const at = Array.from({ length: cuts }, () => below(bytes.length + 1)).sort((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
}

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
