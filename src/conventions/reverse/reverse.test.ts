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

/** As text: objects that were read have no prototype. */
function inputOf(found: Reversed): string {
  return found.kind === "action" ? JSON.stringify(found.input) : found.code;
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
  thing.put:
    effect: write
    request: { method: PUT, path: "/things/{id}", body: opaque, media_type: text/plain }
    input:
      id: { in: path, type: string, maxLength: 9 }
      bytes: { in: body, type: string, maxLength: 40 }
      agent: { in: header, as: User-Agent, const: acme-bot }
      unless: { in: header, as: If-None-Match, enum: ["*"], optional: true }
      kept: { in: header, as: Cache-Control, type: string, maxLength: 40, optional: true }
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

  test("what keeps a write from replacing something is never dropped, and a read may go without", () => {
    for (const name of ["if-none-match", "if-modified-since"]) {
      assert.equal(said(send(pack, "POST /touch", { headers: [[name, "*"]] })), "request_not_in_packs", name);
      const read = send(pack, "GET /things/a", { headers: [[name, "*"]] });
      assert.ok(read.kind === "action" && read.dropped.includes(name), name);
    }
  });

  test("a field that tools send anyway is the action's input where it declares one, and its own name stands for the tool's", () => {
    const put = (headers: readonly HeaderLine[]) =>
      send(pack, "PUT /things/a", { headers: [["content-type", "text/plain"], ...headers], body: "x" });
    const found = put([
      ["user-agent", "curl/8"],
      ["if-none-match", "*"],
      ["cache-control", "max-age=9"],
      ["traceparent", "00"],
    ]);
    assert.ok(found.kind === "action");
    assert.deepEqual({ ...found.input }, { id: "a", bytes: "eA==", unless: "*", kept: "max-age=9" });
    assert.deepEqual(found.dropped, ["user-agent", "traceparent"]);
    const plain = put([]);
    assert.ok(plain.kind === "action");
    assert.deepEqual({ ...plain.input }, { id: "a", bytes: "eA==" });
    assert.equal(said(put([["if-none-match", '"3"']])), "request_not_in_packs");
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

describe("how a request is spelled", () => {
  const pack = packOf(`
  root: { ${READ}, path: / } }
  kept: { ${READ}, path: /kept/ } }
  find:
    effect: read
    request: { method: GET, path: /find }
    input:
      q: { in: query, type: string, maxLength: 9 }
      sort: { in: query, const: name }
      a: { in: query, type: string, maxLength: 9, optional: true }
  form:
    effect: write
    request: { method: POST, path: /form, body: application/x-www-form-urlencoded }
    input:
      n: { in: body, type: integer, minimum: 0, maximum: 99 }
      tags: { in: body, as: tag, type: array, items: { type: string, maxLength: 9 }, maxItems: 4, optional: true }
  fixed: { effect: write, request: { method: POST, path: /fixed, body: application/json }, input: { sort: { in: body, const: name } } }
  numbered: { ${READ}, path: "/t/{id}" }, input: { id: { in: path, type: integer, minimum: 1, maximum: 9 } } }
  named: { ${READ}, path: "/t/{name}" }, input: { name: { in: path, type: string, maxLength: 9 }, q: { in: query, type: string, maxLength: 9 } } }
  rest: { ${READ}, path: "/files/{path+}" }, input: { path: { in: path, type: string, maxLength: 20 } } }
`);

  test("the order of names makes no difference, and neither do escapes", () => {
    for (const line of ["q=x&sort=name&a=1", "a=1&sort=name&q=%78", "sort=name&q=x&a=1"]) {
      const found = send(pack, `GET /find?${line}`);
      assert.deepEqual(found.kind === "action" && found.input, { q: "x", a: "1" }, line);
    }
  });

  test("the rest of a path is one input, slashes and all", () => {
    const found = send(pack, "GET /files/a%20b/c");
    assert.equal(inputOf(found), '{"path":"a b/c"}');
    assert.equal(said(send(pack, "GET /files")), "path_not_in_packs");
  });

  test("a final slash is part of a path, where an action has one and where it has none", () => {
    assert.equal(said(send(pack, "GET /")), "root");
    assert.equal(said(send(pack, "GET /kept/")), "kept");
    assert.equal(said(send(pack, "GET /kept")), "path_not_in_packs");
    assert.equal(said(send(pack, "GET /find/?q=x&sort=name")), "path_not_in_packs");
  });

  test("a form is read member by member, as the types have it", () => {
    const form = (body: string) =>
      send(pack, "POST /form", { body, headers: [["content-type", "application/x-www-form-urlencoded"]] });
    const found = form("tag=a&n=7&tag=b");
    assert.deepEqual(found.kind === "action" && found.input, { n: 7, tags: ["a", "b"] });
    for (const body of ["n=x", "n=7&n=7", "n=7&more=1", "tag=a", ""])
      assert.equal(said(form(body)), "request_not_in_packs", body);
  });

  test("the nearest came farthest: past its path, its query, its fields, its body", () => {
    const nearestOf = (line: string, more: Parameters<typeof send>[2] = {}) => {
      const found = send(pack, line, more);
      return found.kind === "refused" ? `${found.nearest?.action} ${found.nearest?.depth}` : said(found);
    };
    assert.equal(nearestOf("POST /find"), "acme.find 1");
    assert.equal(nearestOf("GET /t/x"), "acme.named 3");
    assert.equal(nearestOf("GET /t/7"), "numbered");
    assert.equal(nearestOf("GET /find?sort=name"), "acme.find 3");
    assert.equal(nearestOf("GET /find?q=x"), "acme.find 3");
    assert.equal(nearestOf("GET /find?q=x&sort=age"), "acme.find 3");
    assert.equal(nearestOf("GET /find?q=x&sort=name&more=1"), "acme.find 4");
    assert.equal(nearestOf("GET /find?q=x&sort=name", { headers: [["range", "bytes=0-1"]] }), "acme.find 5");
    assert.equal(nearestOf("GET /find?q=x&sort=name", { json: {} }), "acme.find 6");
    assert.equal(nearestOf("GET /find?q=0123456789&sort=name"), "acme.find 8");
  });

  test("a value that binding refuses is told with where it stands", () => {
    const found = send(pack, "GET /find?q=0123456789&sort=name");
    assert.ok(found.kind === "refused" && found.nearest?.why.includes("/q"), JSON.stringify(found));
    const other = send(pack, "POST /fixed", { json: { sort: "age" } });
    assert.ok(other.kind === "refused" && other.nearest?.why.includes('"name"'), JSON.stringify(other));
  });
});

describe("a body that is not taken apart", () => {
  const pack = packOf(`
  invoke: { effect: write, request: { method: POST, path: /invoke, body: application/json }, input: { payload: { in: body, whole: true, type: object, additionalProperties: true } } }
  put: { effect: write, request: { method: PUT, path: /file, body: opaque, media_type: text/plain }, input: { bytes: { in: body, type: string, maxLength: 8 } } }
  upload: { effect: write, request: { method: POST, path: /upload, body: multipart/form-data }, input: { note: { in: body, type: string, maxLength: 9 } } }
`);
  const as = (type: string, body: string) => ({ body, headers: [["content-type", type]] as readonly HeaderLine[] });

  test("is the one input that stands for all of it", () => {
    const whole = send(pack, "POST /invoke", { json: { a: 1, b: [2] } });
    assert.equal(inputOf(whole), '{"payload":{"a":1,"b":[2]}}');
    const bytes = send(pack, "PUT /file", as("text/plain", "abc"));
    assert.deepEqual(bytes.kind === "action" && bytes.input, { bytes: "YWJj" });
    const none = send(pack, "PUT /file", as("text/plain", ""));
    assert.deepEqual(none.kind === "action" && none.input, { bytes: "" });
    assert.equal(said(send(pack, "PUT /file", as("text/html", "abc"))), "request_not_in_packs");
    assert.equal(said(send(pack, "PUT /file", as("text/plain", "abcdefg"))), "request_not_in_packs");
  });

  test("is refused where it is an upload of several parts, in words that say what to use", () => {
    const form = "multipart/form-data; boundary=x";
    const found = send(
      pack,
      "POST /upload",
      as(form, '--x\r\ncontent-disposition: form-data; name="note"\r\n\r\na\r\n--x--\r\n'),
    );
    assert.ok(found.kind === "refused" && found.nearest?.depth === 6, JSON.stringify(found));
    assert.ok(found.nearest.why.includes("gw call"));
  });
});

describe("a document", () => {
  const query = "query Things($first: Int!) { things(first: $first) { id } }";
  const document = (name: string, text: string) => `
  ${name}:
    effect: read
    request: { method: POST, path: /graphql, body: application/json }
    input:
      query: { in: body, const: "${text}", language: graphql }
      variables: { in: body, type: object, additionalProperties: true, optional: true }
`;
  const pack = packOf(document("things", query) + document("others", "query Others { others { id } }"));
  const post = (json: unknown) => send(pack, "POST /graphql", { json });

  test("is the action's own with other blanks, and any other is not this action", () => {
    const spaced = "query Things( $first : Int! ) {\n  things(first: $first) {\n id }\n}";
    const found = post({ query: spaced, variables: { first: 2 } });
    assert.equal(said(found), "things");
    assert.equal(inputOf(found), '{"variables":{"first":2}}');
    assert.equal(said(post({ query: "query Others { others { id } }" })), "others");
    for (const json of [{}, [], "x", { query: 7 }, { query: "" }, { query: query.replace("id", "id secret") }])
      assert.equal(said(post(json)), "request_not_in_packs", JSON.stringify(json));
    assert.equal(said(send(pack, "POST /graphql")), "request_not_in_packs");
  });

  test("that has the name of an action's is nearer to it than one of another name", () => {
    const nearestOf = (text: string) => {
      const found = post({ query: text });
      return found.kind === "refused" ? [found.nearest?.action, found.nearest?.depth] : [];
    };
    assert.deepEqual(nearestOf("query Others { others { id secret } }"), ["acme.others", 7]);
    assert.deepEqual(nearestOf("query Nothing { nothing }"), ["acme.things", 6]);
  });
});
