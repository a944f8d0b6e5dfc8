import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { canonicalJson, digestBytes, digestJson } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { type BoundHttp, type BoundSsh, bindAction } from "./bind.ts";
import type { GatewayFill } from "./gather.ts";
import type { Pack } from "./pack.ts";
import { placePack, troubleWithPlace } from "./place.ts";
import { readPack } from "./read.ts";

function load(text: string): Pack {
  const { pack, findings } = readPack(Buffer.from(text, "utf8"), "pack.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  return pack;
}

const acme = load(readFileSync(join(import.meta.dirname, "../../../packs/example.yaml"), "utf8"));

const odd = load(`format: gw.pack/v1
pack: odd
provider:
  origin: http://127.0.0.1:8080
  credential: odd
  auth: { scheme: header, header: X-Key }
actions:
  search:
    effect: read
    request: { method: GET, path: /search }
    input:
      q: { in: query, type: string }
      raw: { in: query, type: string, percent: literal, optional: true }
      include_archived: { in: query, type: boolean, optional: true }
      label: { in: query, type: array, items: { type: string }, optional: true }
      ids: { in: query, type: array, items: { type: integer }, style: comma, optional: true }
  builds:
    effect: read
    request: { method: GET, path: "/projects/{project_id}/builds/{number}" }
    input:
      project_id: { in: path, type: string }
      number: { in: path, type: integer }
  message.send:
    effect: send
    max_cost_cents: 3
    request: { method: POST, path: /messages, body: application/x-www-form-urlencoded }
    input:
      to: { in: body, type: array, items: { type: string } }
      text: { in: body, type: string }
      urgent: { in: body, type: boolean, optional: true }
      kind: { in: body, as: message_kind, const: plain }
  note.put:
    effect: write
    request: { method: PUT, path: "/notes/{id}", body: application/json }
    input:
      id: { in: path, type: string }
      title: { in: body, type: ["string", "null"], optional: true }
      tags: { in: body, type: array, items: { type: string }, optional: true }
      extra: { in: body, type: object, additionalProperties: true, optional: true }
      secret_text: { in: body, type: string, opaque: true, optional: true }
      count: { in: body, as: "9count", type: integer, optional: true }
      ratio: { in: body, as: "É", type: number, optional: true }
      match: { in: header, as: If-Match, type: string, optional: true }
      accept: { in: header, as: Accept, const: application/vnd.odd+json }
  order:
    effect: purchase
    request: { method: POST, path: /orders/, body: application/json }
  upload:
    effect: write
    full_url:
      method: PUT
      body: multipart/form-data
      credential: store
      allow: [{ origin: "http://127.0.0.1:8080", prefix: /upload/, query: true }]
    input:
      file: { in: body, part: file, type: string }
`);

function bind(pack: Pack, name: string, args: JsonObject, fill: GatewayFill = {}): BoundHttp {
  const bound = bindAction(pack, name, args, fill);
  assert.ok(bound.kind === "http");
  return bound;
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Denied) return error.errors[0]?.code ?? error.code;
    throw error;
  }
  return "accepted";
}

test("no argument makes the request of another action of the pack", () => {
  const pack = load(`format: gw.pack/v1
pack: things
provider: { origin: "https://api.example" }
actions:
  one.delete:
    effect: write
    preview: none
    request: { method: DELETE, path: "/things/{id}" }
    input:
      id: { in: path, type: string }
  all.delete:
    effect: write
    preview: none
    request: { method: DELETE, path: "/things/a:all" }
  some.read:
    effect: read
    request: { method: GET, path: "/things/{path+}" }
    input:
      path: { in: path, type: string }
  keys.read:
    effect: read
    request: { method: GET, path: "/things/{id}/keys/{name}" }
    input:
      id: { in: path, type: string }
      name: { in: path, type: string }
  secrets.read:
    effect: read
    request: { method: GET, path: "/things/secrets/{path+}" }
    input:
      path: { in: path, type: string }
`);
  const refused = (error: unknown) => error instanceof Denied && error.code === "segment_refused";
  const target = (name: string, args: JsonObject): string => (bindAction(pack, name, args) as BoundHttp).url.slice(19);
  assert.throws(() => bindAction(pack, "one.delete", { id: "a:all" }), refused);
  assert.equal(target("one.delete", { id: "all" }), "/things/all");
  assert.equal(target("all.delete", {}), "/things/a:all");
  for (const path of ["x/keys/y", "secrets/a", "secrets/a/b"])
    assert.throws(() => bindAction(pack, "some.read", { path }), refused, path);
  for (const path of ["x", "a:all", "secrets", "x/keys", "x/keys/y/z"])
    assert.ok(target("some.read", { path }).startsWith("/things/"), path);
  // Both say it in part; the one with the literal first is meant.
  assert.throws(() => bindAction(pack, "keys.read", { id: "secrets", name: "a" }), refused);
  assert.equal(target("secrets.read", { path: "keys/a" }), "/things/secrets/keys/a");
});

test("no argument makes what servers take for the request of another action", () => {
  const pack = load(`format: gw.pack/v1
pack: jobs
provider: { origin: "https://api.example" }
actions:
  job.delete: { effect: write, preview: none, request: { method: DELETE, path: "/jobs/{id}" }, input: { id: { in: path, type: string } } }
  all.delete: { effect: write, preview: none, needs: { approval: each_use }, request: { method: DELETE, path: /jobs/all/ } }
  log.delete:
    effect: write
    preview: none
    request: { method: DELETE, path: "/jobs/{id}/logs/{name}" }
    input: { id: { in: path, type: string }, name: { in: path, type: string } }
  job.look: { effect: read, request: { method: HEAD, path: "/jobs/{id}" }, input: { id: { in: path, type: string } } }
  job.read: { effect: read, request: { method: GET, path: "/jobs/{id}" }, input: { id: { in: path, type: string } } }
  job.log: { effect: read, request: { method: GET, path: "/jobs/{id}/log" }, input: { id: { in: path, type: string } } }
  job.list: { effect: read, request: { method: GET, path: /jobs/list } }
  job.run: { effect: write, preview: none, request: { method: GET, path: /jobs/run } }
`);
  const refused = (error: unknown) => error instanceof Denied && error.code === "segment_refused";
  for (const id of ["all", "ALL", "7/logs/x", "7/LOGS/x"])
    assert.throws(() => bindAction(pack, "job.delete", { id }), refused, id);
  for (const name of ["job.look", "job.read"])
    assert.throws(() => bindAction(pack, name, { id: "Run" }), refused, name);
  const target = (name: string, id: string): string => (bindAction(pack, name, { id }) as BoundHttp).url.slice(19);
  assert.equal(target("job.delete", "7/logs"), "/jobs/7%2Flogs");
  assert.equal(target("job.look", "list"), "/jobs/list");
  assert.equal(target("job.read", "7/log"), "/jobs/7%2Flog", "a read that asks nobody is no more than this one");
});

describe("the agent supplies typed arguments; the action picks everything else", () => {
  test("method, origin, path, query, headers and body come from the definition", () => {
    const bound = bind(acme, "membership.plan", { project_id: "p/1", subject_id: "u", role: "viewer", if_match: "7" });
    assert.equal(bound.method, "POST");
    assert.equal(bound.url, "https://api.acme.example/v1/projects/p%2F1/memberships/plan");
    assert.equal(bound.origin, "https://api.acme.example");
    assert.equal(bound.body?.toString("utf8"), '{"if_match":"7","role":"viewer","subject_id":"u"}');
    assert.deepEqual(bound.headers, {
      accept: "application/json",
      "content-type": "application/json",
      "x-api-version": "2026-10-01",
    });
    assert.equal(bound.credential, "acme-deploy");
    assert.deepEqual(bound.auth, { scheme: "bearer", header: "authorization" });
    assert.equal(bound.effect, "preview");
    assert.equal(bound.retry, "read");
    assert.equal(bound.packDigest, acme.digest);
  });

  test("a query is built in the order of the definition, lists in their declared form", () => {
    const bound = bind(odd, "search", { label: ["a", "b c"], include_archived: false, q: "x+y", ids: [1, 2] });
    assert.equal(bound.url, "http://127.0.0.1:8080/search?q=x%2By&include_archived=false&label=a&label=b+c&ids=1%2C2");
    assert.equal(bound.body, null);
    assert.equal(bound.network, "private");
  });

  test("a constant is filled in, and an agent may say only the same", () => {
    const form = bind(odd, "message.send", { to: ["a", "b"], text: "1 + 1 = 2 & 100%41" });
    assert.equal(form.body?.toString("utf8"), "to=a&to=b&text=1+%2B+1+%3D+2+%26+100%2541&message_kind=plain");
    assert.equal(form.headers["content-type"], "application/x-www-form-urlencoded");
    assert.equal(
      codeOf(() => bind(odd, "message.send", { to: ["a"], text: "x", kind: "fancy" })),
      "value_not_allowed",
    );
  });

  test("omitted, null and empty stay three states", () => {
    const bodies = [{}, { title: null }, { title: "" }].map((args) =>
      bind(odd, "note.put", { id: "1", ...args }).body?.toString("utf8"),
    );
    assert.deepEqual(bodies, ["{}", '{"title":null}', '{"title":""}']);
  });

  test("an action without body inputs still sends the body it declares, a trailing slash stays", () => {
    const bound = bind(odd, "order", {});
    assert.equal(bound.url, "http://127.0.0.1:8080/orders/");
    assert.equal(bound.body?.toString("utf8"), "{}");
    assert.equal(bound.asksEachCall, true);
    assert.equal(bound.maxCostCents, null);
  });

  test("a header input is one line of printable text", () => {
    assert.equal(bind(odd, "note.put", { id: "1", match: '"abc"' }).headers["if-match"], '"abc"');
    for (const match of ["a\r\nX-Evil: 1", "a\nb", "é", " a", "a\t", "a\0", "a".repeat(5000)]) {
      assert.equal(
        codeOf(() => bind(odd, "note.put", { id: "1", match })),
        "header_value_refused",
      );
    }
  });

  const refused: readonly [string, string, JsonObject, string][] = [
    ["an unknown argument", "builds", { project_id: "a", number: 1, method: "DELETE" }, "unknown_member"],
    [
      "an origin as an argument",
      "builds",
      { project_id: "a", number: 1, origin: "https://evil.example" },
      "unknown_member",
    ],
    ["a missing argument", "builds", { project_id: "a" }, "missing_member"],
    ["a number as text", "builds", { project_id: "a", number: "1" }, "wrong_type"],
    ["a number with a fraction", "builds", { project_id: "a", number: 1.5 }, "wrong_type"],
    ["a list for a scalar", "search", { q: ["a", "b"] }, "wrong_type"],
    ["null for text", "search", { q: null }, "wrong_type"],
    ["an encoded path", "builds", { project_id: "a%2Fb", number: 1 }, "already_encoded"],
    ["an encoded query", "search", { q: "%41" }, "already_encoded"],
    ["a climbing path", "builds", { project_id: "../../admin", number: 1 }, "segment_refused"],
    ["an empty segment", "builds", { project_id: "", number: 1 }, "segment_refused"],
    ["an empty list", "search", { q: "a", label: [] }, "value_not_allowed"],
    ["a lone surrogate", "search", { q: "\ud800" }, "text_malformed"],
  ];
  for (const [name, action, args, code] of refused) {
    test(`${name} is refused`, () =>
      assert.equal(
        codeOf(() => bind(odd, action, args)),
        code,
      ));
  }

  test("a lone surrogate anywhere in a body is refused as text, for it has no digest", () => {
    for (const extra of [{ a: "\ud800" }, { "\udc00": 1 }, { a: [{ b: "x\ud83d" }] }]) {
      assert.equal(
        codeOf(() => bind(odd, "note.put", { id: "1", extra })),
        "text_malformed",
      );
    }
  });

  test("percent: literal is encoded once more", () => {
    assert.ok(bind(odd, "search", { q: "a", raw: "a%2Fb" }).url.endsWith("raw=a%252Fb"));
  });

  test("an action that does not exist gets the answer of one out of scope", () => {
    for (const name of ["nope", "__proto__", "constructor", "odd.search", ""]) {
      assert.equal(
        codeOf(() => bind(odd, name, {})),
        "action_not_permitted",
      );
    }
  });
});

describe("a full URL is taken only by its own kind of action", () => {
  test("under the allow-list, without the provider's version or credential", () => {
    const bound = bind(acme, "report.download", { url: "https://files.acme.example/reports/1.csv" });
    assert.equal(bound.url, "https://files.acme.example/reports/1.csv");
    assert.equal(bound.credential, null);
    assert.deepEqual(bound.headers, { accept: "*/*" });
    assert.equal(bound.limits.responseBytes, 1_048_576);
  });

  test("and nowhere else", () => {
    for (const url of [
      "https://evil.example/reports/1",
      "https://files.acme.example/reports/../x",
      "file:///etc/passwd",
    ]) {
      assert.equal(
        codeOf(() => bind(acme, "report.download", { url })),
        "url_not_allowed",
      );
    }
    assert.equal(
      codeOf(() => bind(acme, "report.download", {})),
      "missing_member",
    );
  });

  test("it may carry a body and a credential of its own", () => {
    const bound = bind(odd, "upload", { url: "http://127.0.0.1:8080/upload/x?sig=1", file: "AAEC" });
    assert.equal(bound.credential, "store");
    assert.equal(bound.network, "private");
    assert.ok((bound.body as Buffer).includes(Buffer.from([0, 1, 2])));
  });
});

describe("what the gateway fills in itself", () => {
  test("execution takes the plan's identifier and the expected revision, nothing else", () => {
    const bound = bind(acme, "membership.apply", {}, { planId: "plan_1", planRevision: "7" });
    assert.equal(bound.body?.toString("utf8"), '{"expected_revision":"7","plan_id":"plan_1"}');
    assert.equal(
      codeOf(() => bind(acme, "membership.apply", {})),
      "missing_member",
    );
    assert.equal(
      codeOf(() => bind(acme, "membership.apply", {}, { planId: "plan_1" })),
      "missing_member",
    );
    assert.equal(
      codeOf(() => bind(acme, "membership.apply", { role: "owner" }, { planId: "p" })),
      "unknown_member",
    );
  });

  test("a rollback is built from the stored record; the agent says which and why", () => {
    const rollback = {
      environment: "production",
      expectedCurrentReleaseId: "r2",
      expectedTargetGeneration: 4,
      restoreReleaseId: "r1",
      approvalId: "apr_1",
    };
    const bound = bind(acme, "deployment.rollback", { origin_deployment_id: "d1", reason: "broken" }, { rollback });
    assert.equal(bound.url, "https://api.acme.example/v1/environments/production/rollbacks");
    assert.equal(
      bound.body?.toString("utf8"),
      '{"approval_id":"apr_1","expected_current_release_id":"r2","expected_target_generation":4,"origin_deployment_id":"d1","reason":"broken","restore_release_id":"r1"}',
    );
    const sneaky = { origin_deployment_id: "d1", reason: "x", restore_release_id: "r0" };
    assert.equal(
      codeOf(() => bind(acme, "deployment.rollback", sneaky, { rollback })),
      "unknown_member",
    );
    assert.equal(
      codeOf(() => bind(acme, "deployment.rollback", { origin_deployment_id: "d1", reason: "x" })),
      "missing_member",
    );
  });

  test("pages carry their size, and a provider's cursor as it is, escapes and all", () => {
    assert.equal(bind(acme, "project.list", {}).url, "https://api.acme.example/v1/projects?sort=id&limit=50");
    const next = bind(acme, "project.list", { state: "active" }, { cursor: "a%2F+&b", pageSize: 5 });
    assert.equal(next.url, "https://api.acme.example/v1/projects?state=active&sort=id&limit=5&cursor=a%252F%2B%26b");
  });
});

describe("an SSH action binds to host, user, host key and typed fields", () => {
  test("nothing in it is a command line", () => {
    const bound = bindAction(acme, "worker.restart", { worker: "mail-1" }) as BoundSsh;
    const { kind, host, port, user, credential, operation, fields } = bound;
    assert.deepEqual(
      { kind, host, port, user, credential, operation, fields },
      {
        kind: "ssh",
        host: "app-1.acme.example",
        port: 22,
        user: "gw",
        credential: "acme-ssh",
        operation: "restart_worker",
        fields: { worker: "mail-1" },
      },
    );
    assert.match(bound.hostKey, /^ssh-ed25519 /);
    for (const worker of ["a;reboot", "$(x)", "-x", "", "A", "a\n"]) {
      assert.equal(
        codeOf(() => bindAction(acme, "worker.restart", { worker })),
        "value_not_allowed",
      );
    }
  });

  test("its digest covers host, user, key, operation and fields", () => {
    const bound = bindAction(acme, "worker.restart", { worker: "mail-1" }) as BoundSsh;
    const { action, host, port, user, hostKey, operation, fields } = bound;
    assert.equal(bound.requestDigest, digestJson({ action, fields, host, host_key: hostKey, operation, port, user }));
  });
});

describe("multipart", () => {
  const args = { manifest: { name: "x" }, file: Buffer.from("\r\n--gw-fake--\r\n").toString("base64") };

  test("the same values give the same bytes, and a file cannot end its own part", async () => {
    const one = bind(acme, "artifact.upload", args);
    assert.deepEqual(one.body, bind(acme, "artifact.upload", args).body);
    const type = one.headers["content-type"] ?? "";
    const form = await new Response(one.body as Buffer<ArrayBuffer>, { headers: { "content-type": type } }).formData();
    assert.deepEqual([...form.keys()], ["manifest", "file"]);
    const file = form.get("file");
    assert.ok(file instanceof File);
    assert.equal(file.name, "artifact.bin");
    assert.equal(await file.text(), "\r\n--gw-fake--\r\n");
  });

  test("a file is shown by the size and digest of what will be sent", () => {
    const bytes = Buffer.from(args.file, "base64");
    assert.deepEqual(bind(acme, "artifact.upload", args).shown["file"], {
      opaque: true,
      bytes: bytes.byteLength,
      digest: digestBytes(bytes),
    });
  });

  test("base64 has one spelling", () => {
    for (const file of ["AAE", "AAF=", "AAE =", "AA-_", "é"]) {
      assert.equal(
        codeOf(() => bind(acme, "artifact.upload", { ...args, file })),
        "value_not_allowed",
      );
    }
  });
});

describe("what a person must see", () => {
  test("is every argument, exactly, with the constants", () => {
    const text = `long ${"x".repeat(3000)}`;
    assert.deepEqual({ ...bind(odd, "message.send", { to: ["a"], text }).shown }, { to: ["a"], text, kind: "plain" });
  });

  test("opaque fields stand as size and digest", () => {
    const { shown } = bind(odd, "note.put", { id: "1", secret_text: "hé" });
    assert.deepEqual(shown["secret_text"], { opaque: true, bytes: 3, digest: digestBytes(Buffer.from("hé", "utf8")) });
  });
});

/** Values that an action's body may hold, lone surrogates left to their own test. */
const json: fc.Arbitrary<JsonValue> = fc.jsonValue({ stringUnit: "grapheme" }) as fc.Arbitrary<JsonValue>;

describe("the request digest", () => {
  const note = fc.record(
    {
      id: fc.string({ unit: "grapheme-ascii", minLength: 1 }),
      title: fc.option(fc.string({ unit: "grapheme" })),
      tags: fc.array(fc.string({ unit: "grapheme" }), { maxLength: 3 }),
      extra: fc.dictionary(fc.string({ unit: "grapheme" }), json, { maxKeys: 4 }),
      count: fc.maxSafeInteger(),
      ratio: fc.double({ noNaN: true, noDefaultInfinity: true }),
      match: fc.constantFrom("a", '"b"'),
    },
    { requiredKeys: ["id"] },
  );

  test("equals SHA-256 over the general canonical JSON of {action, method, url, headers, body}", () => {
    fc.assert(
      fc.property(note, (args) => {
        let bound: BoundHttp;
        try {
          bound = bind(odd, "note.put", args as JsonObject);
        } catch (error) {
          assert.ok(error instanceof Denied);
          return;
        }
        const { action, method, url, headers } = bound;
        const text = bound.body?.toString("utf8") ?? "";
        const body = JSON.parse(text) as JsonValue;
        assert.equal(text, canonicalJson(body));
        assert.equal(bound.requestDigest, digestJson({ action, method, url, headers, body }));
      }),
      { numRuns: runsOf(300) },
    );
  });

  test("two calls with different arguments never share one, and the order of arguments never matters", () => {
    fc.assert(
      fc.property(note, note, (a, b) => {
        let digests: readonly string[];
        try {
          const turned = Object.fromEntries(Object.entries(a).reverse());
          digests = [a, turned, b].map((args) => bind(odd, "note.put", args as JsonObject).requestDigest);
        } catch (error) {
          assert.ok(error instanceof Denied);
          return;
        }
        assert.equal(digests[0], digests[1]);
        assert.equal(digests[0] === digests[2], canonicalJson(a as JsonObject) === canonicalJson(b as JsonObject));
      }),
    );
  });

  test("form text and parts are covered too", () => {
    const form = bind(odd, "message.send", { to: ["a"], text: "x" });
    const { action, method, url, headers } = form;
    const body = form.body?.toString("utf8") ?? "";
    assert.equal(form.requestDigest, digestJson({ action, method, url, headers, body }));
    const upload = bind(acme, "artifact.upload", { manifest: { name: "x" }, file: "AAEC" });
    const [manifest, file] = [Buffer.from('{"name":"x"}'), Buffer.from([0, 1, 2])];
    const parts = [
      {
        name: "manifest",
        filename: null,
        media_type: "application/json",
        bytes: manifest.byteLength,
        digest: digestBytes(manifest),
      },
      {
        name: "file",
        filename: "artifact.bin",
        media_type: "application/octet-stream",
        bytes: 3,
        digest: digestBytes(file),
      },
    ];
    assert.equal(
      upload.requestDigest,
      digestJson({ action: upload.action, method: "POST", url: upload.url, headers: upload.headers, body: parts }),
    );
    const other = bind(acme, "artifact.upload", { manifest: { name: "x" }, file: "AAED" });
    assert.notEqual(other.headers["content-type"], upload.headers["content-type"], "the boundary follows the bytes");
  });

  test("the idempotency token and the correlation id are no part of it, for they differ between attempts", () => {
    assert.deepEqual(Object.keys(bind(acme, "report.status", { job_id: "1" }).headers).sort(), [
      "accept",
      "x-api-version",
    ]);
  });
});

describe("no argument value whatsoever can change origin, method, path shape or add a parameter", () => {
  const text = fc.oneof(
    anyText(),
    fc
      .array(
        fc.constantFrom(
          "/",
          "..",
          "\\",
          "?",
          "#",
          "&",
          "=",
          "%2F",
          "%",
          "@",
          ":",
          "\r\n",
          "//evil.example",
          " ",
          "+",
          "\ud800",
          "a",
        ),
        { maxLength: 6 },
      )
      .map((all) => all.join("")),
  );
  const anything: fc.Arbitrary<JsonValue> = fc.oneof(text, json, fc.array(text, { maxLength: 3 }));

  test("for paths, queries, headers and bodies", () => {
    fc.assert(
      fc.property(anything, anything, anything, anything, (a, b, c, d) => {
        const attempts: readonly (readonly [string, JsonObject, RegExp, readonly string[]])[] = [
          ["builds", { project_id: a, number: b }, /^\/projects\/[^/]+\/builds\/[^/]+$/, []],
          ["search", { q: a, raw: b, label: c, ids: d }, /^\/search$/, ["q", "raw", "label", "ids"]],
          ["search", { q: a, label: c }, /^\/search$/, ["q", "label"]],
          ["search", { q: a, raw: b }, /^\/search$/, ["q", "raw"]],
          ["note.put", { id: a, match: b, extra: c, title: d }, /^\/notes\/[^/]+$/, []],
          ["note.put", { id: a, match: b }, /^\/notes\/[^/]+$/, []],
        ];
        for (const [name, args, path, names] of attempts) {
          let bound: BoundHttp;
          try {
            bound = bind(odd, name, args);
          } catch (error) {
            assert.ok(error instanceof Denied, String(error));
            continue;
          }
          const url = new URL(bound.url);
          assert.equal(url.origin, "http://127.0.0.1:8080");
          assert.match(url.pathname, path);
          assert.equal(bound.method, name === "note.put" ? "PUT" : "GET");
          assert.deepEqual([...new Set(url.searchParams.keys())], names);
          for (const [header, value] of Object.entries(bound.headers)) {
            assert.ok(["accept", "content-type", "if-match"].includes(header));
            assert.match(value, /^[\x20-\x7e]*$/);
          }
          assert.doesNotThrow(() => new Headers(bound.headers));
        }
      }),
      { numRuns: runsOf(700) },
    );
  });
});

describe("names and bodies as providers have them", () => {
  const text = (input: string): string => `format: gw.pack/v1
pack: plain
provider: { origin: "https://api.example.com", credential: plain, auth: { scheme: bearer } }
actions:
  tag.set:
    effect: write
    request: { method: PUT, path: "/tags/{_id}", body: application/json }
    input:
      _id: { in: path, type: string }
${input}`;
  const bare = load(text("      version: { in: body, whole: true, type: [string, array, integer] }\n"));

  test("an input may be called _id, and one input may be the whole JSON body, in canonical form", () => {
    for (const value of ["1.2.3", 7, ["b", "a"], ""]) {
      const bound = bindAction(bare, "tag.set", { _id: "x", version: value }) as BoundHttp;
      assert.equal(bound.url, "https://api.example.com/tags/x");
      assert.equal(String(bound.body), canonicalJson(value));
      assert.deepEqual(bound.sentAs, { version: "the whole body" });
    }
  });

  test("a bare body is one required input, of a JSON body, and __proto__ is no name", () => {
    for (const input of [
      "      a: { in: body, whole: true, type: string }\n      b: { in: body, type: string }\n",
      "      a: { in: body, whole: true, optional: true, type: string }\n",
      "      a: { in: query, whole: true, type: string }\n",
      "      a: { in: body, whole: true, as: b, type: string }\n",
      "      __proto__: { in: body, type: string }\n",
    ]) {
      const { pack, findings } = readPack(Buffer.from(text(input), "utf8"), "pack.yaml");
      assert.equal(pack, null, input);
      assert.ok(
        findings.some(({ severity }) => severity === "error"),
        input,
      );
    }
  });

  test("a placed pack goes to its own origin, below its base path, with the same digest, and nowhere odd", () => {
    const place = {
      pack: "plain",
      origin: "https://ghe.acme.example",
      basePath: "/api/v3",
      network: "public",
    } as const;
    const placed = placePack(bare, place);
    const bound = bindAction(placed, "tag.set", { _id: "x", version: "1" }) as BoundHttp;
    assert.equal(bound.url, "https://ghe.acme.example/api/v3/tags/x");
    assert.equal(placed.digest, bare.digest);
    for (const change of [
      { basePath: "/api/../v3" },
      { basePath: "/api/" },
      { basePath: "api" },
      { basePath: "/{x}" },
      { origin: "http://ghe.acme.example" },
      { origin: "https://ghe.acme.example/x" },
      { origin: "https://10.0.0.1" },
    ])
      assert.notEqual(troubleWithPlace({ ...place, ...change }), null, JSON.stringify(change));
  });
});
