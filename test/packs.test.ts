import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type BoundHttp, bindAction } from "../src/conventions/action/bind.ts";
import { type ActionDefinition, hasSideEffect, type Pack } from "../src/conventions/action/pack.ts";
import { readPack } from "../src/conventions/action/read.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { readArguments } from "../src/surfaces/cli/call.ts";
import { type ExpectedCall, expectedCalls } from "./packs-calls.ts";

const exchanged = [
  "aws-s3",
  "aws-ec2",
  "aws-lambda",
  "google-calendar",
  "microsoft-graph",
  "notion",
  "github-app",
] as const;
const names = ["github", "gitlab", "slack", "stripe", "jira", "anthropic", "openai", ...exchanged] as const;
const textOf = (name: string): string => readFileSync(join(import.meta.dirname, `../packs/${name}.yaml`), "utf8");

function load(text: string): Pack {
  const { pack, findings } = readPack(Buffer.from(text, "utf8"), "pack.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  return pack;
}

interface Seen {
  readonly method: string | undefined;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const seen: Seen[] = [];
const provider = createServer((incoming, answer) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const { method, url: target = "", headers } = incoming;
    seen.push({ method, target, headers, body: Buffer.concat(chunks).toString("utf8") });
    answer.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
});
let origin = "";
before(async () => {
  await new Promise<void>((done) => provider.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
after(() => provider.close());

/** The very pack, but for where it leads. */
function loopbackPack(name: string): Pack {
  const text = textOf(name).replace(/^ {2}origin: .*$/m, `  origin: ${origin}`);
  return load(text);
}

async function call(bound: BoundHttp): Promise<Seen> {
  seen.length = 0;
  const { method, headers, body } = bound;
  const status = await new Promise((done, failed) => {
    const length = body === null ? {} : { "content-length": body.byteLength };
    const sent = request(bound.url, { method, headers: { ...headers, ...length }, agent: false }, (answer) => {
      answer.resume();
      answer.on("end", () => done(answer.statusCode));
    });
    sent.on("error", failed);
    sent.end(body ?? undefined);
  });
  assert.equal(status, 200);
  const [only, second] = seen;
  assert.ok(only !== undefined && second === undefined);
  return only;
}

function bind(pack: Pack, action: string, args: JsonObject): BoundHttp {
  const bound = bindAction(pack, action, args);
  assert.ok(bound.kind === "http");
  return bound;
}

for (const name of names) {
  test(`the pack ${name} has no lint error, and no more actions than a person reads`, () => {
    const { pack, findings } = readPack(Buffer.from(textOf(name)), `${name}.yaml`);
    assert.deepEqual(
      findings.filter(({ severity }) => severity === "error"),
      [],
    );
    assert.equal(pack?.name, name);
    assert.ok(pack.actions.size >= 2 && pack.actions.size <= 40, String(pack.actions.size));
  });

  test(`every action of ${name} reaches a provider as its documentation says`, async () => {
    const pack = loopbackPack(name);
    const calls: Readonly<Record<string, ExpectedCall>> = expectedCalls[name];
    assert.deepEqual([...pack.actions.keys()].sort(), Object.keys(calls).sort());
    for (const [action, expected] of Object.entries(calls)) {
      const got = await call(bind(pack, action, expected.args));
      const url = new URL(got.target, origin);
      assert.equal(got.method, expected.method, action);
      assert.equal(url.pathname, expected.path, action);
      assert.deepEqual([...url.searchParams].sort(), Object.entries(expected.query ?? {}).sort(), action);
      const version = pack.provider?.version;
      if (version) assert.equal(got.headers[version.header.toLowerCase()], version.value, action);
      for (const [header, value] of Object.entries(expected.headers ?? {})) assert.equal(got.headers[header], value);
      if (expected.json !== undefined) {
        assert.equal(got.headers["content-type"], "application/json", action);
        assert.deepEqual(JSON.parse(got.body), expected.json, action);
      } else if (expected.form !== undefined) {
        assert.equal(got.headers["content-type"], "application/x-www-form-urlencoded", action);
        assert.deepEqual([...new URLSearchParams(got.body)].sort(), Object.entries(expected.form).sort(), action);
      } else if (expected.bytes !== undefined) {
        assert.deepEqual([got.headers["content-type"], got.body], [expected.bytes.type, expected.bytes.text], action);
      } else {
        assert.equal(got.body, "", action);
        assert.equal(got.headers["content-type"], undefined, action);
      }
    }
  });

  test(`what ${name} sends or buys asks a person each time, no GET acts, and text and lists are bounded`, () => {
    for (const action of load(textOf(name)).actions.values()) {
      if (action.effect === "send" || action.effect === "purchase")
        assert.equal(action.needs.approval, "each_use", action.qualifiedName);
      if (action.kind === "http" && action.method === "GET")
        assert.equal(hasSideEffect(action.effect), false, action.qualifiedName);
      for (const { name: field, schema, constant } of action.inputs) {
        const bounded = schema.type !== "string" || schema.maxLength !== undefined || constant !== undefined;
        assert.ok(bounded && (schema.type !== "array" || schema.maxItems !== undefined), `${action.name} ${field}`);
      }
    }
  });
}

for (const name of [...names, "gh"]) {
  test(`every action of ${name} stands under an example call that it takes`, () => {
    const pack = load(textOf(name));
    const examples = [...textOf(name).matchAll(/^ {2}# gw call (\S+)(.*)$/gm)];
    assert.deepEqual(
      examples.map(([, action]) => action).sort(),
      [...pack.actions.values()].map((one) => one.qualifiedName).sort(),
    );
    for (const [, qualified = "", rest = ""] of examples) {
      const action = pack.actions.get(qualified.slice(name.length + 1));
      assert.ok(action !== undefined, qualified);
      const words = shellWords(rest);
      const input = words[0] === "--input" ? words[1] : undefined;
      const texts = action.inputs.filter(({ schema }) => schema.type === "string").map((field) => field.name);
      bind(pack, action.name, readArguments(input === undefined ? words : words.slice(2), input, new Set(texts)));
    }
  });
}

/** Words as a shell parts them; quotes of either kind hold together. */
function shellWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_whole, double?: string, single?: string) => double ?? single ?? ""),
  );
}

const repo = { owner: "octo-org", repo: "app" };
const refused: readonly (readonly [pack: (typeof names)[number], action: string, args: JsonObject, why: string])[] = [
  ["github", "issue.get", { owner: "octo-org/x", repo: "app", number: 1 }, "a slash in the owner"],
  ["github", "issue.get", { owner: "octo-org", repo: "..", number: 1 }, "a repository that climbs"],
  ["github", "issue.get", { ...repo, number: 0 }, "issue zero"],
  ["github", "pull.merge", { ...repo, number: 1, merge_method: "squash" }, "a merge of whatever the head is"],
  ["github", "pull.merge", { ...repo, number: 1, sha: "main", merge_method: "squash" }, "a branch for a commit"],
  ["github", "release.draft", { ...repo, tag_name: "v1", draft: false }, "a release that is published at once"],
  ["gitlab", "issue.get", { project: "a/../b", iid: 1 }, "a project that climbs"],
  ["gitlab", "merge_request.merge", { project: "a/b", iid: 1 }, "a merge without its commit"],
  ["slack", "message.post", { channel: "#general", text: "x" }, "a channel by name"],
  ["slack", "message.post", { channel: "D0123456789", text: "x" }, "a direct message"],
  ["slack", "message.post", { channel: "C0123456789", text: "x", unfurl_links: true }, "a link that is fetched"],
  ["slack", "channel.list", { types: "private_channel" }, "private channels"],
  ["stripe", "refund.create", { payment_intent: "pi_3MtwBwLkdIwHu7ix28a3tqPa", reason: "duplicate" }, "no amount"],
  [
    "stripe",
    "refund.create",
    { payment_intent: "pi_3MtwBwLkdIwHu7ix28a3tqPa", amount: -1, reason: "duplicate" },
    "a charge in disguise",
  ],
  ["stripe", "customer.get", { id: "search" }, "another endpoint for an identifier"],
  ["jira", "issue.get", { key: "OPS-17/comment" }, "another endpoint for a key"],
  ["aws-s3", "object.get", { bucket: "acme/other", key: "x" }, "another bucket than it names"],
  ["aws-ec2", "instance.stop", { instance: "i-*" }, "every instance"],
  ["aws-lambda", "function.invoke", { name: "*", payload: {} }, "every function"],
  ["google-calendar", "event.delete", { calendar: "primary", event: "x/y" }, "another endpoint for an event"],
  ["microsoft-graph", "message.get", { message: "AAMk/attachments" }, "another endpoint for a message"],
  ["jira", "transition.do", { key: "OPS-17", transition: { id: "31", fields: {} } }, "members beside the transition"],
];
for (const [name, action, args, why] of refused) {
  test(`${name}.${action} refuses ${why}`, () => {
    assert.throws(() => bind(load(textOf(name)), action, args), Denied);
  });
}

test("a refund is repeated only with its token, is confirmed by a read and reconciled by its payment", () => {
  const refund = load(textOf("stripe")).actions.get("refund.create");
  assert.ok(refund !== undefined);
  assert.equal(refund.effect, "purchase");
  assert.equal(refund.retry, "idempotent_write");
  assert.equal(refund.asksEachCall, true);
  assert.equal(refund.confirm, "refund.get");
  assert.deepEqual(refund.unknown, { retryAllowed: true, reconcile: "refund.list", tokenRetry: false });
});

test("no pack but Stripe's, whose provider takes tokens, repeats a write", () => {
  for (const name of names.filter((one) => one !== "stripe")) {
    for (const { effect, retry, qualifiedName } of load(textOf(name)).actions.values())
      assert.equal(retry, hasSideEffect(effect) ? "non_idempotent_write" : "read", qualifiedName);
  }
});

/** GitHub's own description of its API, in the generated form that npm carries: prettier's indentation is its grammar. */
const described = readFileSync(new URL(import.meta.resolve("@octokit/openapi-types/types.d.ts")), "utf8");

function block(text: string, opening: string, indent: number): string | null {
  const start = text.indexOf(`\n${" ".repeat(indent)}${opening} {\n`);
  if (start < 0) return null;
  const end = text.indexOf(`\n${" ".repeat(indent)}}`, start);
  return text.slice(start, end + 1);
}

/** Members at one depth, with whether they must be there. */
function members(text: string | null, indent: number): ReadonlyMap<string, boolean> {
  const found = (text ?? "").matchAll(new RegExp(`^ {${indent}}"?([A-Za-z_][A-Za-z0-9_-]*)"?(\\??):`, "gm"));
  return new Map([...found].map(([, name = "", mark]) => [name, mark === ""]));
}

const paths = block(described, "export interface paths", 0) ?? "";
const operations = described.slice(described.indexOf("\nexport interface operations {\n"));
const unnamed = (path: string): string => path.replaceAll(/\{[^}]*\}/g, "{}");
const routes = new Map([...paths.matchAll(/^ {2}"(\/[^"]*)": \{$/gm)].map(([, path = ""]) => [unnamed(path), path]));

/** What an action says that GitHub's description does not, and what that requires and the action does not send. */
function troubles(action: ActionDefinition): readonly string[] {
  assert.ok(action.kind === "http");
  const { name, method, template, pages, inputs } = action;
  const path = routes.get(unnamed(template.text)) ?? "";
  const item = block(paths, `${JSON.stringify(path)}:`, 2) ?? "";
  const id = new RegExp(`^ {4}${method.toLowerCase()}: operations\\["([^"]+)"\\];`, "m").exec(item)?.[1];
  if (id === undefined) return [`${name}: ${method} ${template.text} unknown`];
  const operation = block(operations, `${JSON.stringify(id)}:`, 2) ?? "";
  const asked = operation.slice(0, operation.indexOf("\n    responses: {"));
  const query = members(block(asked, "query:", 6) ?? block(asked, "query?:", 6), 8);
  const body = members(block(asked, '"application/json":', 8), 10);
  const found: string[] = [];
  for (const [place, known] of [
    ["query", query],
    ["body", body],
  ] as const) {
    const fields = inputs.filter((input) => input.place === place);
    const paging = place === "query" && pages !== null ? [pages.cursorParam, pages.sizeParam ?? pages.cursorParam] : [];
    for (const wireName of [...fields.map((field) => field.wireName), ...paging])
      if (!known.has(wireName)) found.push(`${name}: ${place} ${wireName} unknown`);
    for (const [wanted, must] of known)
      if (must && !fields.some((field) => field.wireName === wanted && !field.optional))
        found.push(`${name}: ${place} ${wanted} missing`);
  }
  return found;
}

const allTroubles = (text: string): readonly string[] => [...load(text).actions.values()].flatMap(troubles);

test("every GitHub action is an operation of GitHub's own description, with all that it requires and nothing unknown", () => {
  assert.ok(routes.size > 500, "the description is there");
  assert.deepEqual(allTroubles(textOf("github")), []);
});

test("an action that GitHub does not describe, or that leaves a required value out, is found", () => {
  const changed = (from: string | RegExp, to: string): readonly string[] => {
    const text = textOf("github").replace(from, to);
    assert.notEqual(text, textOf("github"));
    return allTroubles(text);
  };
  assert.deepEqual(changed("/rerun-failed-jobs", "/rerun-failing"), [
    "run.rerun_failed: POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failing unknown",
  ]);
  assert.deepEqual(changed("method: PUT", "method: PATCH").length, 1);
  assert.deepEqual(changed(/^ {6}head_branch: .*\n/m, ""), ["pull.create: body head missing"]);
  assert.deepEqual(changed(/^ {6}q: .*\n/m, ""), ["issue.search: query q missing"]);
  assert.deepEqual(changed("tag_name: { in: body", "tag_name: { in: body, as: tag"), [
    "release.draft: body tag unknown",
    "release.draft: body tag_name missing",
  ]);
  assert.deepEqual(changed("cursor_param: page", "cursor_param: after"), ["issue.search: query after unknown"]);
});
