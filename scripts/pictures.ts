import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Pictures of the documents, from text: what a person draws with characters is drawn with lines. */
export function diagrams(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".txt"))
    .map((name) => [join(folder, name.replace(/txt$/, "svg")), drawDiagram(readFileSync(join(folder, name), "utf8"))]);
}

const WIDE = 8.4;
const HIGH = 20;
const EDGE = 14;

/** Which ways a character's line goes out of its cell. */
const ARMS: Readonly<Record<string, string>> = {
  ...{ "─": "EW", "│": "NS", "┌": "ES", "┐": "WS", "└": "NE", "┘": "NW" },
  ...{ "├": "NES", "┤": "NWS", "┬": "EWS", "┴": "NEW", "┼": "NEWS", "┄": "EW", "┆": "NS" },
  ...{ "▶": "W", "◀": "E", "▲": "S", "▼": "N" },
};
const HEADS: Readonly<Record<string, string>> = {
  "▶": "-4,-5 5,0 -4,5",
  "◀": "4,-5 -5,0 4,5",
  "▲": "-5,4 0,-5 5,4",
  "▼": "-5,-4 0,5 5,-4",
};
const OUT: Readonly<Record<string, readonly [number, number]>> = {
  N: [0, -HIGH / 2],
  S: [0, HIGH / 2],
  E: [WIDE / 2, 0],
  W: [-WIDE / 2, 0],
};
const STYLE =
  "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1f2933;white-space:pre}.t{font-weight:700}path{stroke:#7b8794;fill:none;stroke-width:1.4}.d{stroke-dasharray:3 4}polygon{fill:#7b8794}rect{fill:#fbfcfd}" +
  "@media(prefers-color-scheme:dark){text{fill:#e4e7eb}path{stroke:#9aa5b1}polygon{fill:#9aa5b1}rect{fill:#161b22}}";

/** A diagram of boxes, lines and arrows below its title, as drawn in a text file. The first words in a box are strong. */
function drawDiagram(source: string): string {
  const [title = "", , ...rows] = source.trimEnd().split("\n");
  const words: string[] = [];
  const heads: string[] = [];
  let lines = "";
  let dashes = "";
  for (const [y, row] of rows.entries()) {
    for (const [x, character] of [...row].entries()) {
      const arms = ARMS[character];
      if (arms === undefined) continue;
      const at = centre(x, y).map(round).join(" ");
      const drawn = [...arms].map((way) => `M${at}l${OUT[way]?.join(" ")}`).join("");
      if (character === "┄" || character === "┆") dashes += drawn;
      else lines += drawn;
      const head = HEADS[character];
      if (head !== undefined) heads.push(`<polygon transform="translate(${at})" points="${head}"/>`);
    }
    for (const { text, x } of wordsOf(row)) {
      const strong = row[x - 2] === "│" && "┌├┬┼".includes(rows[y - 1]?.[x - 2] ?? " ");
      words.push(`<text${strong ? ' class="t"' : ""} x="${round(left(x))}" y="${base(y)}">${escaped(text)}</text>`);
    }
  }
  const dashed = dashes === "" ? [] : [`<path class="d" d="${dashes}"/>`];
  return sheet(title, rows, STYLE, [`<path d="${lines}"/>`, ...dashed, ...heads, ...words]);
}

const TERMINAL_STYLE =
  "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d7dde4;white-space:pre}rect{fill:#161b22}.b{font-weight:700;fill:#fff}.f{fill:#8b98a5}.c1{fill:#ff7b72}.c2{fill:#7ee787}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#76e3ea}";

/** What a terminal shows, with the attributes that it draws it with. */
export function drawTerminal(title: string, painted: string): string {
  const rows = painted.trimEnd().split("\n");
  let look = "";
  const parts: string[] = [];
  const plain: string[] = [];
  for (const [y, row] of rows.entries()) {
    const [first = "", ...rest] = row.split("\u001b[");
    let line = runOf(look, first);
    let words = first;
    for (const piece of rest) {
      const end = piece.indexOf("m");
      const text = piece.slice(end + 1);
      look = lookAfter(look, piece.slice(0, end));
      line += runOf(look, text);
      words += text;
    }
    parts.push(`<text x="${EDGE}" y="${base(y)}">${line}</text>`);
    plain.push(words);
  }
  return sheet(title, plain, TERMINAL_STYLE, parts);
}

function runOf(look: string, text: string): string {
  if (text === "" || look === "") return escaped(text);
  return `<tspan class="${look}">${escaped(text)}</tspan>`;
}

/** Of what a terminal can do, what `gw` uses: strong, faint and six colours. */
function lookAfter(before: string, codes: string): string {
  return codes.split(";").reduce((look, code) => {
    const number = Number(code);
    if (number === 1) return `${look} b`.trim();
    if (number === 2) return `${look} f`.trim();
    if (number > 30 && number < 37) return `${look} c${number - 30}`.trim();
    return number === 0 ? "" : look;
  }, before);
}

function sheet(title: string, rows: readonly string[], style: string, parts: readonly string[]): string {
  const width = Math.ceil(Math.max(...rows.map((row) => [...row].length)) * WIDE + 2 * EDGE);
  const height = rows.length * HIGH + 2 * EDGE;
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
  return [
    open,
    `<title>${escaped(title)}</title>`,
    `<style>${style}</style>`,
    '<rect width="100%" height="100%" rx="10"/>',
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

/** Words stay together until two blanks or a line part them. */
function wordsOf(row: string): readonly { readonly text: string; readonly x: number }[] {
  const blanked = [...row].map((character) => (ARMS[character] === undefined ? character : " ")).join("");
  return [...blanked.matchAll(/\S+(?: \S+)*/g)].map((found) => ({
    text: found[0],
    x: [...blanked.slice(0, found.index)].length,
  }));
}

const left = (x: number): number => EDGE + x * WIDE;
const base = (y: number): number => EDGE + y * HIGH + 15;
const centre = (x: number, y: number): readonly [number, number] => [left(x) + WIDE / 2, EDGE + y * HIGH + HIGH / 2];
const round = (number: number): number => Math.round(number * 10) / 10;
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
