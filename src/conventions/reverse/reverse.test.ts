import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pack } from "../action/pack.ts";
import { readPack } from "../action/read.ts";
import { isPlaceholder, placeholderOf } from "./placeholder.ts";
import type { HeaderLine, Reversed } from "./plain.ts";
import { reverse } from "./reverse.ts";

const PLACEHOLDER = placeholderOf("run_1");

function packOf(actions: string, name = "acme", provider = ""): Pack {
  const head = `format: gw.pack/v1\npack: ${name}\nprovider:\n  origin: https://api.acme.example\n${provider}`;
  const { pack, findings } = readPack(Buffer.from(`${head}actions:\n${actions}`), "acme.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  return pack;
}

function send(
  packs: Pack | readonly Pack[],
  line: string,
  more: { readonly headers?: readonly HeaderLine[]; readonly body?: string; readonly json?: unknown } = {},
): Reversed {
  const [method = "", target = ""] = line.split(" ");
  const { headers = [], body, json } = more;
  const text = json === undefined ? body : JSON.stringify(json);
  const type: readonly HeaderLine[] = json === undefined ? [] : [["content-type", "application/json"]];
  const request = {
    origin: "https://api.acme.example",
    method,
    target,
    headers: [...headers, ...type],
    body: text === undefined ? null : Buffer.from(text),
  };
  return reverse([packs].flat() as readonly Pack[], request, PLACEHOLDER);
}

function said(found: Reversed): string {
  return found.kind === "action" ? found.action.name : found.code;
}

const READ = "effect: read, request: { method: GET";

describe("which action a request is", () => {
  const pack = packOf(`
  me.repos: { ${READ}, path: /users/me/repos } }
  user.repos: { ${READ}, path: "/users/{name}/repos" }, input: { name: { in: path, type: string, maxLength: 20 } } }
  issue.close:
    effect: write
    request: { method: PATCH, path: "/issues/{id}", body: application/json }
    input: { id: { in: path, type: integer, minimum: 1, maximum: 99 }, state: { in: body, const: closed } }
  issue.edit:
    effect: write
    request: { method: PATCH, path: "/issues/{id}", body: application/json }
    input:
      id: { in: path, type: integer, minimum: 1, maximum: 99 }
      state: { in: body, enum: [open, closed], optional: true }
      title: { in: body, type: string, maxLength: 20, optional: true }
`);

  test("a literal path is never what a parameter stands for", () => {
    assert.equal(said(send(pack, "GET /users/me/repos")), "me.repos");
    assert.equal(said(send(pack, "GET /users/ada/repos")), "user.repos");
    // The literal one takes no query, so nothing does.
    assert.equal(said(send(pack, "GET /users/me/repos?page=2")), "request_not_in_packs");
  });

  test("what says by a constant what another takes as an input is the one that is meant", () => {
    assert.equal(said(send(pack, "PATCH /issues/7", { json: { state: "closed" } })), "issue.close");
    assert.equal(said(send(pack, "PATCH /issues/7", { json: { state: "open" } })), "issue.edit");
    assert.equal(said(send(pack, "PATCH /issues/7", { json: { state: "closed", title: "x" } })), "issue.edit");
  });

  test("two packs that both say it need a choice, and one of them alone does not", () => {
    const twin = packOf(`  me: { ${READ}, path: /users/me/repos } }\n`, "twin");
    assert.equal(said(send([pack, twin], "GET /users/me/repos")), "pack_choice_needed");
    assert.equal(said(send([pack, twin], "GET /users/ada/repos")), "user.repos");
  });

  test("values keep the types that the definition gives them, and do not fit where they have none", () => {
    const found = send(pack, "PATCH /issues/7", { json: { title: "7" } });
    assert.ok(found.kind === "action");
    assert.deepEqual(found.input, { id: 7, title: "7" });
    for (const id of ["007", "7.0", "1e1", "+7", "0", "100", "x", "%37%2f"]) {
      assert.equal(said(send(pack, `PATCH /issues/${id}`, { json: { title: "x" } })), "request_not_in_packs", id);
    }
  });

  test("the nearest action is named with what kept it from fitting", () => {
    const miss = send(pack, "PATCH /issues/7", { json: { title: "x", admin: true } });
    assert.ok(miss.kind === "refused");
    assert.equal(miss.nearest?.action, "acme.issue.edit");
    const path = send(pack, "GET /users/ada/keys");
    assert.ok(path.kind === "refused" && path.code === "path_not_in_packs");
    assert.equal(path.nearest?.action, "acme.user.repos");
  });
});

describe("what a tool says beside its request", () => {
  const pack = packOf(
    `
  thing.list:
    effect: read
    request: { method: GET, path: /things, tolerates: [ts] }
    pages: { items: items, link: next, cursor_param: page, size_param: per_page }
  thing.diff: { effect: read, request: { method: GET, path: "/things/{id}", accept: text/x-diff }, input: { id: { in: path, type: string, maxLength: 9 } } }
  thing.get: { effect: read, request: { method: GET, path: "/things/{id}" }, input: { id: { in: path, type: string, maxLength: 9 } } }
  thing.touch:
    effect: write
    request: { method: POST, path: /touch, body: application/json, empty_body: true }
    input:
      note: { in: body, type: string, maxLength: 9, optional: true }
      match: { in: header, as: If-Match, type: string, maxLength: 20, optional: true }
`,
    "acme",
    `  accepts: [application/vnd.acme+json]\n  tolerates: [X-Acme-Client]\n  version: { header: X-Version, value: "2" }\n`,
  );

  test("fields that tools add are dropped by name; those that change the request are not, unless declared", () => {
    const found = send(pack, "GET /things/a", {
      headers: [
        ["user-agent", "x"],
        ["x-whatever", "1"],
        ["x-version", "2"],
      ],
    });
    assert.ok(found.kind === "action");
    assert.deepEqual(found.dropped, ["user-agent", "x-whatever"]);
    for (const name of ["if-match", "range", "x-http-method-override", "content-encoding", "prefer"]) {
      assert.equal(said(send(pack, "GET /things/a", { headers: [[name, "x"]] })), "request_not_in_packs", name);
    }
    const held = send(pack, "POST /touch", { headers: [["if-match", '"3"']] });
    assert.ok(held.kind === "action");
    assert.deepEqual(held.input, { match: '"3"' });
    assert.equal(said(send(pack, "GET /things/a", { headers: [["x-version", "1"]] })), "request_not_in_packs");
  });

  test("a field that nobody knows stops what is not a read, unless the provider tolerates it", () => {
    assert.equal(said(send(pack, "POST /touch", { headers: [["x-dry-run", "1"]] })), "request_not_in_packs");
    assert.equal(said(send(pack, "POST /touch", { headers: [["x-acme-client", "1"]] })), "thing.touch");
  });

  test("what it would accept decides between two answers to one path", () => {
    const get = (accept: string) => said(send(pack, "GET /things/a", { headers: [["accept", accept]] }));
    assert.equal(get("text/x-diff"), "thing.diff");
    assert.equal(get("*/*"), "thing.get");
    assert.equal(said(send(pack, "GET /things/a")), "thing.get");
    assert.equal(get("application/vnd.acme+json, */*;q=0.1"), "thing.get");
    assert.equal(get("image/png"), "request_not_in_packs");
  });

  test("one page of a list is asked for with what the tool said and nothing else", () => {
    const page = (line: string) => {
      const found = send(pack, line);
      return found.kind === "action" ? found.page : found.code;
    };
    assert.deepEqual(page("GET /things"), { size: null, cursor: null });
    assert.deepEqual(page("GET /things?per_page=30&page=2"), { size: 30, cursor: "2" });
    assert.equal(page("GET /things?per_page=lots"), "request_not_in_packs");
    assert.equal(page("GET /things?page=1&page=2"), "request_not_in_packs");
  });

  test("a tolerated query member is dropped and named", () => {
    const found = send(pack, "GET /things?ts=123");
    assert.deepEqual(found.kind === "action" && found.dropped, ["query ts"]);
  });

  test("no body and an empty object are the same where the action says that it may be empty", () => {
    for (const more of [{}, { json: {} }, { body: "" }])
      assert.equal(said(send(pack, "POST /touch", more)), "thing.touch");
    const strict = packOf(`
  make: { effect: write, request: { method: POST, path: /make, body: application/json }, input: { a: { in: body, type: string, maxLength: 9, optional: true } } }
`);
    assert.equal(said(send(strict, "POST /make", { json: {} })), "make");
    assert.equal(said(send(strict, "POST /make")), "request_not_in_packs");
  });

  test("a body of another type, twice the same member, or none where one is due, is refused", () => {
    const form: readonly HeaderLine[] = [["content-type", "application/x-www-form-urlencoded"]];
    assert.equal(said(send(pack, "POST /touch", { body: "note=x", headers: form })), "request_not_in_packs");
    const json: readonly HeaderLine[] = [["content-type", "application/json"]];
    const twice = '{"note":"a","note":"b"}';
    assert.equal(said(send(pack, "POST /touch", { body: twice, headers: json })), "request_not_in_packs");
    assert.equal(said(send(pack, "POST /touch", { body: '{"note":"a"}' })), "request_not_in_packs");
  });
});

describe("a bracket in a name is part of it", () => {
  const pack = packOf(`
  find: { effect: read, request: { method: GET, path: /find }, input: { tags: { in: query, as: "tag[]", type: array, items: { type: string, maxLength: 9 }, maxItems: 4 } } }
`);

  test("escaped or not, it is the declared one and no other", () => {
    for (const line of ["GET /find?tag[]=a&tag[]=b", "GET /find?tag%5B%5D=a&tag%5b%5d=b"]) {
      const found = send(pack, line);
      assert.deepEqual(found.kind === "action" && found.input, { tags: ["a", "b"] });
    }
    assert.equal(said(send(pack, "GET /find?tag[0]=a")), "request_not_in_packs");
    assert.equal(said(send(pack, "GET /find?tag=a")), "request_not_in_packs");
  });
});

describe("the placeholder", () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  test("is taken as a token, after a scheme, and as either half of Basic", () => {
    const forms = [PLACEHOLDER, `Bearer ${PLACEHOLDER}`, `token ${PLACEHOLDER}`];
    const halves = [
      `x-access-token:${PLACEHOLDER}`,
      `:${PLACEHOLDER}`,
      `${PLACEHOLDER}:`,
      `${PLACEHOLDER}:x-oauth-basic`,
    ];
    for (const value of [...forms, ...halves.map(basic)]) assert.ok(isPlaceholder(value, PLACEHOLDER), value);
  });

  test("is nothing that carries more than itself, and not another run's", () => {
    const other = placeholderOf("run_2");
    const smuggled = [
      basic(`ghp_secret:${PLACEHOLDER}`),
      basic(`${PLACEHOLDER}:secret`),
      `Bearer ${PLACEHOLDER} secret`,
    ];
    for (const value of [other, `Bearer ${other}`, ...smuggled, "", "Bearer", `${PLACEHOLDER}x`]) {
      assert.equal(isPlaceholder(value, PLACEHOLDER), false, value);
    }
  });

  test("any other proof of who is asking is refused before anything else is looked at", () => {
    const pack = packOf(`  get: { ${READ}, path: /get } }\n`);
    for (const name of ["authorization", "cookie", "x-api-key", "proxy-authorization"]) {
      assert.equal(said(send(pack, "GET /get", { headers: [[name, "s3cret"]] })), "credential_foreign");
      assert.equal(said(send(pack, "GET /nowhere", { headers: [[name, "s3cret"]] })), "credential_foreign");
      assert.equal(said(send(pack, "GET /get", { headers: [[name, PLACEHOLDER]] })), "get");
      assert.equal(JSON.stringify(send(pack, "GET /get", { headers: [[name, "s3cret"]] })).includes("s3cret"), false);
    }
  });
});

describe("two actions that can send one request", () => {
  function overlaps(a: string, b: string): boolean {
    const text = `format: gw.pack/v1\npack: acme\nprovider: { origin: "https://api.acme.example" }\nactions:\n  a: ${a}\n  b: ${b}\n`;
    const { findings, pack } = readPack(Buffer.from(text), "acme.yaml");
    assert.notEqual(pack, null, "what was trusted before the rule still works");
    return findings.some(({ code, severity }) => code === "pack_actions_overlap" && severity === "error");
  }
  const post = (input: string, path = "/x") =>
    `{ effect: write, request: { method: POST, path: "${path}", body: application/json }, input: { ${input} } }`;
  const text = "type: string, maxLength: 9";

  test("are an error of lint, and a tool can send neither", () => {
    const twins = packOf(`  a: { ${READ}, path: /x } }\n  b: { ${READ}, path: /x }, needs: { approval: each_use } }\n`);
    assert.equal(said(send(twins, "GET /x")), "action_ambiguous");
    assert.ok(overlaps(`{ ${READ}, path: /x } }`, `{ ${READ}, path: /x } }`));
    assert.ok(
      overlaps(
        post(`t: { in: body, ${text} }`),
        post(`t: { in: body, ${text} }, u: { in: body, ${text}, optional: true }`),
      ),
    );
    assert.ok(
      overlaps(post(`i: { in: path, ${text} }`, "/x/{i}"), post(`j: { in: path, ${text} }`, "/x/{j}")),
      "whatever their parameters are called",
    );
  });

  test("are none where a constant, a required input, a path or a body tells them apart", () => {
    assert.equal(overlaps(post("k: { in: body, const: a }"), post("k: { in: body, const: b }")), false);
    assert.equal(overlaps(post("k: { in: body, const: a }"), post(`k: { in: body, ${text} }`)), false);
    assert.equal(overlaps(post(`t: { in: body, ${text} }`), post(`u: { in: body, ${text} }`)), false);
    assert.equal(overlaps(post("", "/x/y"), post(`i: { in: path, ${text} }`, "/x/{i}")), false);
    assert.equal(overlaps(post(""), "{ effect: write, request: { method: POST, path: /x } }"), false);
  });
});
