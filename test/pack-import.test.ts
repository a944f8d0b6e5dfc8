import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { bindAction } from "../src/conventions/action/bind.ts";
import { hasSideEffect, type Pack } from "../src/conventions/action/pack.ts";
import { readPack } from "../src/conventions/action/read.ts";
import type { CliIo, Exit } from "../src/surfaces/cli/io.ts";
import { type PackImportOptions, runPackImport } from "../src/surfaces/cli/pack-import.ts";
import { lintPack, runPackLint } from "../src/surfaces/cli/pack-lint.ts";

const vectors = join(import.meta.dirname, "../../shared/vectors/openapi-pairs");
const skip = existsSync(vectors) ? false : "the public OpenAPI pairs are not here";
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly exit: Exit;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

async function run(work: (io: CliIo) => Promise<Exit>): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const never = (): never => assert.fail("nothing should be asked");
  const asks = { isTty: false, color: false, ask: never, askSecret: never, readSecret: never };
  const exit = await work({ out: (line) => out.push(line), err: (line) => err.push(line), ...asks });
  return { exit, out, err };
}

const importing = (document: string, options: Omit<PackImportOptions, "json"> & { readonly json?: boolean }) =>
  run((io) => runPackImport(document, { json: false, ...options }, io));

function load(file: string): Pack {
  const { pack, findings } = readPack(readFileSync(file), file);
  assert.ok(pack !== null, JSON.stringify(findings));
  return pack;
}

const documents: readonly (readonly [file: string, operations: number, actions: number])[] = [
  ["netlify/old-2.12.0.swagger2.json", 115, 113],
  ["netlify/new-2.60.0.swagger2.json", 181, 177],
  ["adyen-management/ManagementService-v1.json", 130, 130],
  ["adyen-management/ManagementService-v3.json", 134, 134],
];
for (const [file, operations, actions] of documents) {
  test(`all of ${file} becomes a pack that lint takes, or is left out with its reason`, { skip }, async () => {
    const out = join(folder, `${file.replaceAll(/\W/g, "-")}.yaml`);
    const { exit } = await importing(join(vectors, file), { all: true, pack: "drafted", out });
    assert.equal(exit, 0);
    const { pack, findings } = lintPack(readFileSync(out), out, () => []);
    assert.equal(pack?.actions.size, actions);
    assert.deepEqual(
      findings.filter(({ severity }) => severity === "error"),
      [],
    );
    const left =
      readFileSync(out, "utf8").match(/^# REVIEW: (?:GET|PUT|POST|DELETE|PATCH) \/\S* is left out: /gm) ?? [];
    assert.equal(actions + left.length, operations);
    for (const action of pack.actions.values()) {
      const side = hasSideEffect(action.effect);
      // What a method says it does to the world is the least that is drafted.
      assert.ok(action.kind === "http" && (side || action.method === "GET" || action.method === "HEAD"), action.name);
      assert.equal(action.needs.approval, side ? "each_use" : "session", action.name);
      assert.equal(action.retry, side ? "non_idempotent_write" : "read", action.name);
    }
  });
}

test("a sample of Netlify is callable as drafted", { skip }, async () => {
  const out = join(folder, "sample.yaml");
  const document = join(vectors, "netlify/new-2.60.0.swagger2.json");
  const { exit } = await importing(document, { operations: "getSite, listSiteDeploys", pack: "netlify", out });
  assert.equal(exit, 0);
  const lint = await run((io) => runPackLint(out, { json: true }, io));
  assert.deepEqual([lint.exit, JSON.parse(lint.out.join("\n")).actions], [0, 2]);
  const pack = load(out);
  assert.deepEqual([...pack.actions.keys()], ["get_site", "list_site_deploys"]);
  assert.equal(pack.provider?.credential, "netlify");
  const bound = bindAction(pack, "list_site_deploys", { site_id: "a/b", page: 2 });
  assert.ok(bound.kind === "http");
  assert.equal(bound.url, "https://api.netlify.com/api/v1/sites/a%2Fb/deploys?page=2");
});

test("a sample of Adyen carries its key in its own header, and leaves tokens to the gateway", { skip }, async () => {
  const out = join(folder, "adyen.yaml");
  const document = join(vectors, "adyen-management/ManagementService-v3.json");
  const operations = "get-companies,post-merchants-merchantId-webhooks";
  const { exit } = await importing(document, {
    operations,
    pack: "adyen",
    origin: "https://management-live.adyen.com",
    out,
  });
  assert.equal(exit, 0);
  const pack = load(out);
  assert.equal(pack.actions.size, 2);
  assert.equal(pack.provider?.origin, "https://management-live.adyen.com");
  assert.deepEqual(pack.provider.auth, { scheme: "header", header: "x-api-key" });
});

const small = join(folder, "small.json");
writeFileSync(
  small,
  JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Small", version: "1" },
    servers: [{ url: "https://api.small.example" }],
    paths: {
      "/things": { get: { operationId: "listThings", responses: { "200": { description: "" } } } },
      "/raw": { options: { operationId: "rawOptions", responses: { "200": { description: "" } } } },
    },
  }),
);

test("without --out the draft goes to standard output, and --json tells what was left out", async () => {
  const { exit, out } = await importing(small, { operations: "listThings", pack: "small" });
  assert.equal(exit, 0);
  assert.notEqual(readPack(Buffer.from(`${out.join("\n")}\n`), "out").pack, null);
  const json = JSON.parse((await importing(small, { all: true, pack: "small", json: true })).out.join("\n"));
  assert.equal(json.trusted, false);
  assert.deepEqual(json.actions, ["list_things"]);
  assert.deepEqual(
    json.left_out.map((one: { readonly operation: string }) => one.operation),
    ["OPTIONS /raw"],
  );
});

test("a file that is there is never written over", async () => {
  const out = join(folder, "mine.yaml");
  writeFileSync(out, "mine");
  const { exit, err } = await importing(small, { all: true, pack: "small", out });
  assert.equal(exit, 1);
  assert.match(err.join("\n"), /^file_unreadable: /);
  assert.equal(readFileSync(out, "utf8"), "mine");
});

test("neither or both of --operations and --all is a mistake of use", async () => {
  assert.equal((await importing(small, { pack: "small" })).exit, 2);
  assert.equal((await importing(small, { pack: "small", operations: " , " })).exit, 2);
  assert.equal((await importing(small, { pack: "small", operations: "listThings", all: true })).exit, 2);
});

test("a file that is missing, no document or of another version is refused with its code, and nothing is written", async () => {
  const out = join(folder, "never.yaml");
  const bad = join(folder, "bad.json");
  const cases = [
    [join(folder, "none.json"), "file_unreadable"],
    ["{", "document_malformed"],
    ['{"openapi":"2.9.9"}', "document_invalid"],
    ["[]", "document_invalid"],
  ] as const;
  for (const [text, code] of cases) {
    const file = code === "file_unreadable" ? text : bad;
    if (file === bad) writeFileSync(bad, text);
    const { exit, err } = await importing(file, { all: true, pack: "small", out });
    assert.equal(exit, 1, text);
    assert.equal(err[0]?.split(":")[0], code, text);
    assert.equal(existsSync(out), false);
  }
});

/** More operations than a pack can hold, and one of its tags alone has more. */
function large(): string {
  const file = join(folder, "large.json");
  const paths = Object.fromEntries(
    Array.from({ length: 539 }, (_, n) => {
      const tag = n < 501 ? "repos" : n < 521 ? "Issues and pulls" : "meta";
      const operation = (id: string) => ({
        ...{ operationId: id, tags: [tag], responses: { "200": { description: "ok" } } },
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string", maxLength: 64 } }],
      });
      return [
        `/${tag.split(" ")[0]?.toLowerCase()}/thing${n}/{id}`,
        { [n % 2 === 0 ? "get" : "delete"]: operation(`op${n}`) },
      ];
    }),
  );
  const servers = [{ url: "https://api.large.example" }];
  writeFileSync(file, JSON.stringify({ openapi: "3.1.0", info: { title: "Large", version: "1" }, servers, paths }));
  return file;
}

test("more actions than a pack holds are refused with the tags, and come in by tag, path and method", async () => {
  const file = large();
  const whole = await importing(file, { all: true, pack: "large", out: join(folder, "large.yaml") });
  assert.equal(whole.exit, 1);
  assert.match(whole.err.join(), /^pack_too_large: .*--split.*repos \(501\), Issues and pulls \(20\), meta \(18\)/);
  const drafted = async (choice: Partial<PackImportOptions>): Promise<number> => {
    const { exit, out, err } = await importing(file, { pack: "large", json: true, ...choice });
    assert.equal(exit, 0, err.join());
    return (JSON.parse(out.join("\n")) as { readonly actions: readonly string[] }).actions.length;
  };
  assert.equal(await drafted({ tag: "META" }), 18);
  assert.equal(await drafted({ tag: "meta,issues and pulls" }), 38);
  assert.equal(await drafted({ path: "/repos", method: "get" }), 251);
  assert.equal(await drafted({ path: "/repos/thing1,/repos/thing2/", method: "GET,DELETE" }), 2);
  const none = await importing(file, { pack: "large", tag: "nothing" });
  assert.deepEqual([none.exit, none.err.join().split(":")[0]], [1, "value_not_allowed"]);
});

test("a document is split by tag into packs that lint takes, and a tag that is too large into several", async () => {
  const out = join(folder, "split");
  const { exit, out: told, err } = await importing(large(), { all: true, pack: "large", split: true, out, json: true });
  assert.equal(exit, 0, err.join());
  const { packs } = JSON.parse(told.join("\n")) as {
    readonly packs: readonly { readonly pack: string; readonly file: string }[];
  };
  const counts = packs.map(({ pack, file }) => [pack, load(file).actions.size]);
  assert.equal(
    counts.reduce((sum, [, count]) => sum + Number(count), 0),
    539,
  );
  assert.ok(counts.every(([, count]) => Number(count) <= 500));
  assert.deepEqual(
    [...new Set(packs.map(({ pack }) => pack.replace(/-\d+$/, "")))],
    ["large-issues-and-pulls", "large-meta", "large-repos"],
  );
  assert.ok(packs.some(({ pack }) => pack === "large-repos-2"));
  // A folder is needed, and what is there already is never written over.
  assert.equal((await importing(large(), { all: true, pack: "large", split: true })).exit, 2);
  assert.equal((await importing(large(), { all: true, pack: "large", split: true, out })).exit, 1);
});
