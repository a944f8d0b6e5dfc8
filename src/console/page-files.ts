import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installation } from "../kernel/installation.ts";

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface PageFiles {
  find(path: string): PageFile | undefined;
}

interface Built {
  readonly script: Buffer;
  readonly style: Buffer;
}

/** The page as the package carries it; in a clone it is built from its sources at each start, which takes no longer than reading it. */
export async function readPage(): Promise<PageFiles> {
  const { script, style } = await findBuilt();
  const files = new Map<string, PageFile>([
    ["/", { type: "text/html; charset=utf-8", bytes: Buffer.from(documentOf(script, style)) }],
    ["/page.js", { type: "text/javascript; charset=utf-8", bytes: script }],
    ["/page.css", { type: "text/css; charset=utf-8", bytes: style }],
    ...ICONS.map(([path, text]) => [path, { type: "image/svg+xml", bytes: Buffer.from(text) }] as const),
  ]);
  return { find: (path) => files.get(path) };
}

async function findBuilt(): Promise<Built> {
  const folder = join(import.meta.dirname, "page");
  const built = join(folder, "page.js");
  if (existsSync(built)) return { script: readFileSync(built), style: readFileSync(join(folder, "page.css")) };
  const builder = join(installation, "scripts", "build-page.ts");
  const { buildPage } = (await import(pathToFileURL(builder).href)) as { buildPage(): Built };
  return buildPage();
}

/** What a browser loads is what stands in the document, byte for byte. */
function documentOf(script: Buffer, style: Buffer): string {
  const integrity = (bytes: Buffer): string => `sha256-${createHash("sha256").update(bytes).digest("base64")}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gw</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page.css" integrity="${integrity(style)}">
<script type="module" src="/page.js" integrity="${integrity(script)}"></script>
</head>
<body><div id="page"><p class="boot">gw console needs JavaScript, from this machine alone.</p></div></body>
</html>
`;
}

/** The plain icon, and one for each number of cards that wait: a page cannot draw one that the policy would let it show. */
const ICONS: readonly (readonly [path: string, text: string])[] = [
  ["/icon.svg", iconOf("")],
  ...["1", "2", "3", "4", "5", "6", "7", "8", "9"].map((count) => [`/icon-${count}.svg`, iconOf(count)] as const),
  ["/icon-more.svg", iconOf("+")],
];

function iconOf(badge: string): string {
  const mark =
    badge === ""
      ? ""
      : `<circle cx="22" cy="22" r="10" fill="#c62828"/><text x="22" y="27.5" font-family="sans-serif" font-size="16" font-weight="700" fill="#fff" text-anchor="middle">${badge}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5bea"/><path d="M9 11h14M9 16h9M9 21h14" stroke="#fff" stroke-width="3" stroke-linecap="round"/>${mark}</svg>`;
}
