import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "..");
const src = join(root, "src");
/** What API authors install: each has its sources, and is a room like those of src. */
const packages = ["request", "reference", "conformance"];

/** What the programs put together. */
const ALL = [
  ...["kernel", "conventions", "audit", "vault", "hub", "gateway", "adapters", "surfaces", "console", "receiver"],
  ...["packages/request", "packages/reference", "packages/conformance", "demo"],
];

/**
 * The direction of imports. A room is the longest prefix that matches; `may` lists the prefixes it may import.
 * Programs are the composition roots and may import everything; nothing imports a program.
 */
const rooms: readonly { readonly room: string; readonly may: readonly string[] }[] = [
  { room: "kernel", may: [] },
  { room: "packages/request", may: ["kernel", "conventions/url"] },
  { room: "conventions", may: ["kernel", "packages/request"] },
  // Shared with the package for strict requests, which the other conventions use.
  { room: "conventions/url", may: ["kernel"] },
  { room: "audit", may: ["kernel"] },
  { room: "vault", may: ["kernel"] },
  // What goes to and comes from a database that is trusted with nothing: signed by us, checked by us.
  { room: "hub", may: ["kernel", "conventions", "packages/request", "audit"] },
  { room: "gateway", may: ["kernel", "conventions", "packages/request", "audit", "vault"] },
  { room: "adapters", may: ["kernel", "conventions", "packages/request", "gateway"] },
  {
    room: "surfaces",
    may: ["kernel", "conventions", "gateway", "audit", "vault", "hub", ...packages.map((name) => `packages/${name}`)],
  },
  // The operator's own program in a browser: it does what the command line does, with the same parts.
  { room: "console", may: ["kernel", "conventions", "packages/request", "audit", "vault", "surfaces"] },
  { room: "receiver", may: ["kernel", "conventions/ssh"] },
  // A command of theirs reads files and ends as every command of ours does.
  {
    room: "packages/conformance",
    may: ["kernel", "conventions", "packages/request", "surfaces/cli/io.ts", "surfaces/cli/read-given-file.ts"],
  },
  {
    room: "packages/reference",
    may: [
      "kernel",
      "conventions",
      "packages/request",
      "adapters/store/sqlite",
      "surfaces/cli/io.ts",
      "surfaces/cli/read-given-file.ts",
    ],
  },
  { room: "programs", may: ALL },
  // It plays the real programs; one of them plays it.
  { room: "demo", may: [...ALL, "programs"] },
];

/** Single files or folders that stand under a narrower or wider rule than their room. */
const exceptions: readonly { readonly room: string; readonly may: readonly string[] }[] = [
  // One way to open a file that somebody may have planted.
  { room: "adapters/platform/linux/image", may: ["kernel", "conventions", "gateway", "vault/files"] },
  // One way to seal for several readers, whether what is sealed is an event or a credential.
  { room: "vault/readers-box.ts", may: ["kernel", "audit/keys"] },
  // Signed policy holds decisions made ahead, in the very shape in which they are decided on.
  {
    room: "vault/policy",
    may: [
      "kernel",
      "conventions/grant",
      "conventions/passkey",
      "conventions/webhook",
      "conventions/action/pack.ts",
      "conventions/action/place.ts",
      "conventions/budget/fleet-limit.ts",
    ],
  },
];

/** Modules of Node that a pure room may not touch: decisions are functions over data. */
const impure = new Set([
  "node:fs",
  "node:fs/promises",
  "node:net",
  "node:http",
  "node:https",
  "node:child_process",
  "node:timers",
  "node:timers/promises",
  "node:dns",
  "node:tls",
  "node:worker_threads",
]);
const pureRooms = ["kernel", "conventions", "packages/request"];

const sources = [src, join(root, "demo"), ...packages.map((name) => join(root, "packages", name, "src"))].flatMap(
  listSources,
);
const imports = new Map(sources.map((file) => [file, readImports(file)]));

test("imports run in the direction of the table", () => {
  const breaches: string[] = [];
  for (const [file, targets] of imports) {
    const from = nameOf(file);
    const rule = ruleOf(from);
    for (const target of targets.files) {
      const to = nameOf(target);
      const sameRoom = topOf(to) === topOf(from);
      if (!sameRoom && !rule.may.some((prefix) => to === prefix || to.startsWith(`${prefix}/`))) {
        breaches.push(`${from} imports ${to}`);
      }
      if (topOf(to) === "programs" && !["programs", "demo"].includes(topOf(from)))
        breaches.push(`${from} imports the program ${to}`);
    }
  }
  assert.deepEqual(breaches, []);
});

test("pure rooms touch no files, sockets, processes or timers", () => {
  const breaches: string[] = [];
  for (const [file, targets] of imports) {
    const from = nameOf(file);
    if (!pureRooms.includes(topOf(from)) || from.endsWith(".test.ts")) continue;
    for (const name of targets.modules) if (impure.has(name)) breaches.push(`${from} imports ${name}`);
  }
  assert.deepEqual(breaches, []);
});

test("no file imports itself through others", () => {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      cycles.push([...path.slice(at), file].map((name) => nameOf(name)).join(" -> "));
      return;
    }
    if (done.has(file)) return;
    for (const next of imports.get(file)?.files ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of sources) visit(file, []);
  assert.deepEqual(cycles, []);
});

test("no room of the gateway uses itself through others", () => {
  const uses = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const from = roomInGateway(file);
    if (from === null || file.endsWith(".test.ts")) continue;
    const known = uses.get(from) ?? new Set();
    uses.set(from, known);
    for (const target of targets.used) {
      const to = roomInGateway(target);
      if (to !== null && to !== from) known.add(to);
    }
  }
  const cycles: string[] = [];
  const visit = (room: string, path: readonly string[]): void => {
    const at = path.indexOf(room);
    if (at >= 0) cycles.push([...path.slice(at), room].join(" -> "));
    else for (const next of uses.get(room) ?? []) visit(next, [...path, room]);
  };
  for (const room of uses.keys()) visit(room, []);
  assert.deepEqual(cycles, []);
  assert.ok(uses.size > 8);
});

test("a room of the gateway takes what it names in its needs, not the whole core", () => {
  // `contained` begins whole calls, as an agent does.
  const whole = [...imports.keys()].filter(
    (file) =>
      roomInGateway(file) !== null &&
      roomInGateway(file) !== "contained" &&
      !file.endsWith(".test.ts") &&
      /import [^;]*\bCore\b[^;]*core\.ts"/.test(readFileSync(file, "utf8")),
  );
  assert.deepEqual(
    whole.map((file) => nameOf(file)),
    [],
  );
});

test("only adapters, surfaces and programs read the time, randomness or timers of the machine", () => {
  const breaches: string[] = [];
  for (const file of sources) {
    const from = nameOf(file);
    if (from.endsWith(".test.ts") || ![...pureRooms, "gateway"].includes(topOf(from))) continue;
    const text = readFileSync(file, "utf8");
    for (const word of ["Date.now(", "Math.random(", "setTimeout(", "setInterval(", "performance.now("]) {
      if (text.includes(word)) breaches.push(`${from} uses ${word})`);
    }
  }
  assert.deepEqual(breaches, []);
});

test("a package for API authors reaches what the rooms that it may import reach, and names what they import", () => {
  for (const name of packages) {
    const folder = join(root, "packages", name);
    const reached = new Map<string, Imports>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      const found = readImports(file);
      reached.set(file, found);
      for (const next of found.files) visit(next);
    };
    for (const file of listSources(join(folder, "src"))) if (!file.endsWith(".test.ts")) visit(file);
    const tops = new Set([...reached.keys()].map((file) => topOf(nameOf(file))));
    assert.ok(
      ["gateway", "audit", "vault", "programs"].every((room) => !tops.has(room)),
      name,
    );
    const { dependencies = {}, peerDependencies = {} } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    ) as Readonly<Record<string, Readonly<Record<string, string>>>>;
    const imported = [...reached.values()].flatMap(({ modules }) => modules.filter((module) => !isBuiltin(module)));
    assert.deepEqual([...new Set(imported)].sort(), Object.keys({ ...dependencies, ...peerDependencies }).sort(), name);
    const { dependencies: ours } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    for (const [module, version] of Object.entries(dependencies))
      assert.equal(version, ours[module] ?? version, module);
  }
});

test("the demo is at the edge: only the program that plays it imports it", () => {
  const users = [...imports]
    .filter(([, { files }]) => files.some((file) => nameOf(file).startsWith("demo/")))
    .map(([file]) => nameOf(file))
    .filter((file) => !file.startsWith("demo/"));
  assert.deepEqual(users, ["programs/gw.ts"]);
});

test("docs/architecture.md names every room, and no room that is not there", () => {
  const page = readFileSync(join(root, "docs", "architecture.md"), "utf8");
  const below = (place: string): readonly string[] =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(place, join(entry.parentPath, entry.name)));
  const folders = [
    ...below(src),
    ...below(join(root, "demo")),
    ...packages,
    ...packages.flatMap((name) => below(join(root, "packages", name, "src"))),
  ];
  const two = folders.filter((folder) => folder.split("/").length <= 2);
  const listing = page.slice(page.indexOf("```\n") + 4, page.lastIndexOf("```\n"));
  const quoted = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);
  const named = new Set([listing, ...quoted].join(" ").match(/[a-z][a-z-]*/g));
  assert.deepEqual(
    two.filter((folder) => !named.has(folder.split("/").at(-1) ?? "")),
    [],
  );
  const rooms = [...listing.matchAll(/(?<=^|[\s(])([a-z][a-z-]*)\/(?=\s|$)/gm)].map(([, name = ""]) => name);
  const outside = ["src", "packages", "demo", "packs", "docs", "test", "bench", "scripts"];
  const names = new Set([...folders.map((folder) => folder.split("/").at(-1) ?? ""), ...outside]);
  assert.deepEqual(
    rooms.filter((name) => !names.has(name)),
    [],
  );
});

test("no folder or file is a drawer for anything", () => {
  const drawers = /(^|\/)(utils?|helpers?|common|shared|misc|service|manager)(\.ts|\/)/;
  assert.deepEqual(
    sources.map((file) => nameOf(file)).filter((file) => drawers.test(file)),
    [],
  );
});

function ruleOf(file: string): { readonly may: readonly string[] } {
  const found = [...exceptions, ...rooms]
    .filter(({ room }) => file === room || file.startsWith(`${room}/`))
    .sort((a, b) => b.room.length - a.room.length)[0];
  assert.ok(found, `${file} stands in no room: give it one in the table`);
  return found;
}

/** From src, or from the root where it stands beside src. */
function nameOf(file: string): string {
  return relative(file.startsWith(`${src}/`) ? src : root, file);
}

function topOf(file: string): string {
  const [top = file, name] = file.split("/");
  return top === "packages" ? `${top}/${name}` : top;
}

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The room of the gateway that a file stands in, or null where it stands beside them. */
function roomInGateway(file: string): string | null {
  const [top, room, name] = nameOf(file).split("/");
  return top === "gateway" && name !== undefined && room !== undefined ? room : null;
}

interface Imports {
  readonly files: readonly string[];
  /** Those of `files` that are imported for more than their types. */
  readonly used: readonly string[];
  readonly modules: readonly string[];
}

function readImports(file: string): Imports {
  const files: string[] = [];
  const used: string[] = [];
  const modules: string[] = [];
  const text = readFileSync(file, "utf8");
  for (const match of text.matchAll(
    /^\s*(?:import|export)\s([^"';]*?)from\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm,
  )) {
    const names = match[1];
    const name = match[2] ?? match[3] ?? match[4] ?? "";
    if (name.startsWith(".")) {
      files.push(resolve(dirname(file), name));
      if (names === undefined || !typesOnly(names)) used.push(resolve(dirname(file), name));
    } else modules.push(name);
  }
  return { files, used, modules };
}

function typesOnly(names: string): boolean {
  if (names.startsWith("type ")) return true;
  const listed = names.replaceAll(/[{}]/g, "").split(",");
  return listed.every((name) => name.trim() === "" || name.trim().startsWith("type "));
}
