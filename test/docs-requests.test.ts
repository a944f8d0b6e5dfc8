import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { FastifyInstance } from "fastify";
import { type Members, makeFolder } from "./support/home.ts";

const root = dirname(import.meta.dirname);
const PACKAGE = "@agent-action-gateway/request";

/** What the page leaves to whoever uses it, as small as it can be. */
const THEIRS = `
export const records: unknown[] = [];
const newCorrelationId = () => "evt_1";
const principalOfConnection = (_request: unknown) => "ada";
const mayPromote = (principal: string, environment: string) => \`\${principal} promotes to \${environment}\`;
const promoteTo = async (environment: string, release: string) => ({ environment, release });
const journal = { append: async (record: unknown) => void records.push(record) };
const log = { error: (what: unknown) => console.error(what) };
`;

const page = readFileSync(join(root, "docs", "requests.md"), "utf8");
const block = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
const [imports = "", code = ""] = [block.slice(0, block.indexOf("\n\n")), block.slice(block.indexOf("\n\n"))];

/** The page's own lines, with the package at its source. */
function writeExample(name: string, text: string): string {
  const file = join(makeFolder(), name);
  const source = (name: string): string => JSON.stringify(join(root, "packages", "request", "src", name));
  const here = imports
    .replace(`"${PACKAGE}"`, source("index.ts"))
    .replace(`"${PACKAGE}/fastify"`, source("fastify.ts"))
    .replace('"fastify"', JSON.stringify(fileURLToPath(import.meta.resolve("fastify"))));
  writeFileSync(file, `${here}\n${THEIRS}\n${text}\nexport { app };\n`);
  return file;
}

test("the example of docs/requests.md serves, refuses and records as the page says", async () => {
  const module = (await import(pathToFileURL(writeExample("example.mts", code)).href)) as {
    readonly app: FastifyInstance;
    readonly records: readonly { readonly decision: unknown; readonly fields: unknown }[];
  };
  const { app, records } = module;
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  const ask = async (body: string, path = "/v1/environments/staging/promotions") => {
    const reply = await fetch(`${origin}${path}`, {
      ...{ method: "POST", body, headers: { "content-type": "application/json" } },
    });
    return { status: reply.status, body: (await reply.json()) as Members };
  };
  try {
    assert.deepEqual(await ask('{"release":"r1"}'), { status: 200, body: { environment: "staging", release: "r1" } });
    assert.deepEqual(records[0]?.fields, { "/params/environment": "staging", "/body/release": "r1" });
    assert.equal((await ask('{"release":"r1","release":"r2"}')).body["code"], "json_duplicate_member");
    assert.equal((await ask('{"release":"r1"}', "/v1/environments/moon/promotions")).status, 422);
    assert.equal((await ask("{}", "/v1/nowhere")).status, 404);
  } finally {
    await app.close();
  }
});

test("a handler that asks for a member the schema lacks does not compile", () => {
  const [good, bad] = [
    writeExample("good.mts", code),
    writeExample("bad.mts", code.replace("command.body.release", "command.body.releas")),
  ];
  const options = [
    "--ignoreConfig",
    "--noEmit",
    "--singleThreaded",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2024",
    "--module",
    "nodenext",
  ];
  const types = [
    "--allowImportingTsExtensions",
    "--typeRoots",
    join(root, "node_modules", "@types"),
    "--types",
    "node",
  ];
  const compiler = join(root, "node_modules", ".bin", "tsc");
  const { stdout } = spawnSync(compiler, [...options, ...types, good, bad], { encoding: "utf8", cwd: root });
  const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
  assert.deepEqual([errors.length, /bad\.mts.*'releas' does not exist/.test(errors[0] ?? "")], [1, true], stdout);
});
