import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied, Fault } from "../../../src/kernel/failure.ts";
import { projects, promote, revoke, search, upload } from "../../../test/support/requests/routes.ts";
import type { FileSink } from "../src/multipart/part.ts";
import { type AcceptedRequest, beginRequest, type IntakeOptions } from "../src/pipeline.ts";
import { type Command, defineRoute, type Route } from "../src/route.ts";

type AnyCommand = Command<unknown, unknown, unknown>;

interface Sent {
  readonly target?: string;
  readonly type?: string;
  readonly body?: string | Buffer;
  readonly fields?: readonly string[];
}

async function accept<C extends AnyCommand>(
  route: Route<C>,
  sent: Sent,
  options?: IntakeOptions,
): Promise<AcceptedRequest<C>> {
  const type = sent.type === undefined ? [] : ["Content-Type", sent.type];
  const rawHeaders = ["Host", "t", ...type, ...(sent.fields ?? [])];
  const intake = beginRequest(
    route,
    { method: route.method, target: sent.target ?? route.template.text, rawHeaders },
    options,
  );
  if (sent.body !== undefined) await intake.push(Buffer.from(sent.body));
  return intake.finish();
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return error.code;
  }
  return "accepted";
}

const json = "application/json";
const form = "application/x-www-form-urlencoded";
const good = '{"environment":"staging","release":"r1"}';

test("one command comes of a request, whatever the spelling of its JSON, and with one digest", async () => {
  const first = await accept(promote, { type: json, body: good });
  const second = await accept(promote, {
    type: `${json}; charset=UTF-8`,
    body: ' { "release" : "\\u00721",\n"environment":"staging" } ',
  });
  assert.equal(first.digest, second.digest);
  assert.equal(first.mediaType, json);
  assert.equal(first.command.body.environment, "staging");
  assert.equal(second.mediaType, json);
});

test("omitted, null and empty string give three commands with three digests", async () => {
  const bodies = [good, good.replace("}", ',"note":null}'), good.replace("}", ',"note":""}')];
  const digests = await Promise.all(bodies.map(async (body) => (await accept(promote, { type: json, body })).digest));
  assert.equal(new Set(digests).size, 3);
});

test("a form becomes the typed command that a JSON body of the same schema would be", async () => {
  const schema = {
    type: "object",
    required: ["q"],
    properties: {
      q: { type: "string" },
      page: { type: "integer" },
      label: { type: "array", items: { type: "string" } },
    },
  } as const;
  const asJson = defineRoute({ method: "POST", path: "/s", body: { kind: "json", schema } });
  const asForm = defineRoute({ method: "POST", path: "/s", body: { kind: "form", schema } });
  const one = await accept(asJson, { type: json, body: '{"q":"a b","page":2,"label":["x"]}' });
  const two = await accept(asForm, { type: form, body: "page=2&label=x&q=a+b" });
  assert.equal(one.digest, two.digest);
});

test("query and form are two members of the command and never fill each other", async () => {
  assert.equal(
    await codeOf(accept(search, { target: "/v1/searches?q=a", type: form, body: "q=b" })),
    "schema_violation",
  );
  assert.equal(await codeOf(accept(search, { type: form, body: "page=1" })), "schema_violation");
});

test("the head is judged before a byte of the body is looked at", () => {
  const head = (...rawHeaders: string[]) => ({
    method: "POST",
    target: "/v1/deployments/promote",
    rawHeaders: ["Host", "t", ...rawHeaders],
  });
  assert.throws(() => beginRequest(promote, head("Content-Type", "text/plain")), { code: "media_type_unsupported" });
  assert.throws(() => beginRequest(promote, head("Content-Length", "2")), { code: "media_type_missing" });
  assert.throws(() => beginRequest(promote, head("Content-Type", json, "Content-Length", "5000")), {
    code: "body_too_large",
  });
  assert.throws(() => beginRequest(promote, { ...head("Content-Type", json), method: "PUT" }), {
    code: "method_not_allowed",
  });
  assert.throws(() => beginRequest(promote, { ...head("Content-Type", json), target: "/other" }), {
    code: "not_found",
  });
});

test("bytes are counted as they arrive, before anything is parsed", () => {
  const intake = beginRequest(promote, {
    method: "POST",
    target: "/v1/deployments/promote",
    rawHeaders: ["Host", "t", "Content-Type", json],
  });
  intake.push(Buffer.alloc(4096, "["));
  assert.throws(() => intake.push(Buffer.from("[")), { code: "body_too_large" });
});

test("a no-body route accepts zero bytes and no type, and query names of its schema alone", async () => {
  const accepted = await accept(revoke, { target: "/v1/sessions/revoke?reason=lost", fields: ["Content-Length", "0"] });
  assert.deepEqual([accepted.mediaType, accepted.command.body], [null, null]);
  assert.equal(accepted.command.query.reason, "lost");
  assert.equal(await codeOf(accept(revoke, { type: json })), "body_not_allowed");
  assert.equal(await codeOf(accept(revoke, { body: "x" })), "body_not_allowed");
  assert.equal(await codeOf(accept(revoke, { fields: ["Transfer-Encoding", "chunked"] })), "body_not_allowed");
  assert.equal(await codeOf(accept(revoke, { target: "/v1/sessions/revoke?force=1" })), "schema_violation");
});

test("a list parameter repeats, and its order is part of the command", async () => {
  const one = await accept(projects, { target: "/v1/projects?label=a&label=b" });
  const two = await accept(projects, { target: "/v1/projects?label=b&label=a" });
  assert.deepEqual(one.command.query.label, ["a", "b"]);
  assert.notEqual(one.digest, two.digest);
});

const multi = "multipart/form-data; boundary=XX";
function uploadBody(content: Buffer | string, manifest = '{"version":"1"}', filename = "a.bin"): Buffer {
  return Buffer.concat([
    Buffer.from(`--XX\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n${manifest}\r\n`),
    Buffer.from(
      `--XX\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from("\r\n--XX--\r\n"),
  ]);
}

test("a file stands in the command by size and digest, its name and type as claims", async () => {
  const accepted = await accept(upload, { type: multi, body: uploadBody("DATA") });
  assert.deepEqual(JSON.parse(JSON.stringify(accepted.command.body)), {
    file: {
      ...{ size: 4, digest: digestBytes(Buffer.from("DATA")) },
      ...{ claimed_name: "a.bin", claimed_type: "application/octet-stream" },
    },
    manifest: { version: "1" },
  });
  assert.equal(accepted.files.get("file")?.toString(), "DATA");
});

test("any file content comes through a multipart body unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => {
      fc.pre(!Buffer.from(bytes).includes("\r\n--XX"));
      const accepted = await accept(upload, { type: multi, body: uploadBody(Buffer.from(bytes)) });
      assert.deepEqual(accepted.files.get("file"), Buffer.from(bytes));
      assert.equal(accepted.command.body.file.digest, digestBytes(bytes));
    }),
  );
});

test("a flipped byte never yields a different accepted command with the same digest", async () => {
  const bodies: readonly (readonly [Route<never>, string, Buffer])[] = [
    [
      promote as unknown as Route<never>,
      json,
      Buffer.from('{"environment":"staging","release":"r1","build":12,"weight":0.5,"tags":["a-b"],"note":null}'),
    ],
    [search as unknown as Route<never>, form, Buffer.from("q=a+b%20c&page=12&archived=true&label=x&label=y")],
    [upload as unknown as Route<never>, multi, uploadBody("some file content")],
  ];
  const shown = (request: AcceptedRequest<AnyCommand>): string =>
    JSON.stringify([request.command, [...request.files].map(([name, bytes]) => [name, bytes.toString("latin1")])]);
  for (const [route, type, body] of bodies) {
    const original = await accept<AnyCommand>(route as unknown as Route<AnyCommand>, { type, body });
    let accepted = 0;
    for (let at = 0; at < body.length; at++) {
      for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const damaged = Buffer.from(body);
        damaged[at] = (damaged[at] ?? 0) ^ bit;
        let request: AcceptedRequest<AnyCommand>;
        try {
          request = await accept<AnyCommand>(route as unknown as Route<AnyCommand>, { type, body: damaged });
        } catch (error) {
          assert.ok(error instanceof Denied, String(error));
          continue;
        }
        accepted++;
        assert.equal(
          request.digest === original.digest,
          canonical(shown(request)) === canonical(shown(original)),
          damaged.toString("latin1"),
        );
      }
    }
    assert.ok(accepted > 0, "no flip was accepted, so nothing was shown");
  }
});

/** Order of members aside, which the digest ignores by design. */
function canonical(text: string): string {
  const sort = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sort);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, item]) => [name, sort(item)]),
    );
  };
  return JSON.stringify(sort(JSON.parse(text)));
}

test("a sink takes a file as it arrives, may hold back the sender, and is told when all was for nothing", async () => {
  const events: string[] = [];
  const openFile = (part: string): FileSink => ({
    write: async (bytes) => void events.push(`${part} ${bytes.length}`),
    end: async () => void events.push("end"),
    abort: () => void events.push("abort"),
  });
  const accepted = await accept(upload, { type: multi, body: uploadBody("DATA") }, { openFile });
  assert.deepEqual(events, ["file 4", "end"]);
  assert.equal(accepted.files.size, 0);
  assert.equal(accepted.command.body.file.size, 4);

  events.length = 0;
  const intake = beginRequest(
    upload,
    { method: "POST", target: "/v1/artifacts", rawHeaders: ["Host", "t", "Content-Type", multi] },
    { openFile },
  );
  const body = uploadBody("DATA");
  const waiting = intake.push(body.subarray(0, body.length - 8));
  assert.ok(waiting instanceof Promise);
  await waiting;
  intake.abort();
  assert.deepEqual(events.at(-1), "abort");
});

test("a route that contradicts itself is a fault at start, not at the first request", () => {
  const file = { kind: "file", filename: "optional", contentType: "optional" } as const;
  const none = { kind: "none" } as const;
  assert.throws(() => defineRoute({ method: "GET", path: "/a/{id}", body: none }), Fault);
  assert.throws(
    () =>
      defineRoute({
        method: "GET",
        path: "/a",
        params: { type: "object", properties: { id: { type: "string" } } },
        body: none,
      }),
    Fault,
  );
  assert.throws(
    () =>
      defineRoute({
        method: "POST",
        path: "/a",
        body: { kind: "multipart", parts: { a: { kind: "text", contentType: "refused", schema: { type: "string" } } } },
      }),
    Fault,
  );
  assert.throws(() => defineRoute({ method: "POST", path: "/a", body: { kind: "json", schema: {} } }), Fault);
  assert.throws(
    () =>
      defineRoute({
        method: "POST",
        path: "/a",
        body: { kind: "multipart", parts: { file } },
        signed: { scheme: "canonical", verify: () => true },
      }),
    Fault,
  );
  assert.doesNotThrow(() => defineRoute({ method: "POST", path: "/a", body: { kind: "multipart", parts: { file } } }));
});

test("an identifier in the path is decoded once, at one boundary", async () => {
  const route = defineRoute({
    method: "GET",
    path: "/p/{id}",
    params: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
    body: { kind: "none" },
  });
  assert.equal((await accept(route, { target: "/p/group%2Fname" })).command.params.id, "group/name");
  assert.equal((await accept(route, { target: "/p/a%252Fb" })).command.params.id, "a%2Fb");
  assert.equal(await codeOf(accept(route, { target: "/p/%2e%2e" })), "segment_refused");
  assert.equal(await codeOf(accept(route, { target: "/p/%2" })), "percent_malformed");
  assert.equal(await codeOf(accept(route, { target: "/p/a/b" })), "not_found");
});

test("a file already handed to a sink is dropped when the rest of the request is refused", async () => {
  for (const manifest of ['{"version":1}', '{"version":"1","version":"2"}', "{"]) {
    const events: string[] = [];
    const openFile = (): FileSink => ({
      write: () => {},
      end: () => void events.push("end"),
      abort: () => void events.push("abort"),
    });
    const file = uploadBody("DATA").toString().split("--XX\r\n")[2]?.split("--XX--")[0] ?? "";
    const body = `--XX\r\n${file}--XX\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n${manifest}\r\n--XX--\r\n`;
    const rawHeaders = ["Host", "t", "Content-Type", multi];
    const intake = beginRequest(upload, { method: "POST", target: "/v1/artifacts", rawHeaders }, { openFile });
    const refused = await codeOf(
      (async () => {
        try {
          await intake.push(Buffer.from(body));
        } catch (error) {
          intake.abort();
          throw error;
        }
        await intake.finish();
      })(),
    );
    assert.notEqual(refused, "accepted");
    assert.deepEqual(events, ["end", "abort"], manifest);
  }
});

test("a head that comes again is judged as the first time, for its own route alone, and is nobody's to change", async () => {
  const text = { type: "string" } as const;
  const of = (path: string) =>
    defineRoute({
      ...{ method: "POST", path, body: { kind: "json", schema: { type: "object" } } },
      params: { type: "object", properties: { id: text }, required: ["id"] },
      query: { type: "object", properties: { dry: { type: "boolean" } } },
    } as const);
  const [things, other] = [of("/v1/things/{id}"), of("/v1/{id}/7")];
  const head = (target: string, type = json) => ({
    ...{ method: "POST", target, rawHeaders: ["Host", "t", "Content-Type", type, "Content-Length", "2"] },
    memory: { judged: null },
  });
  const read = (route: typeof things, from: ReturnType<typeof head>) => {
    const intake = beginRequest(route, from);
    intake.push(Buffer.from("{}"));
    return intake.finish() as AcceptedRequest;
  };
  const again = head("/v1/things/7?dry=true");
  const [first, second] = [read(things, again), read(things, again)];
  const plainly = ({ command: { params, query } }: AcceptedRequest) => JSON.stringify([params, query]);
  assert.equal(plainly(second), '[{"id":"7"},{"dry":true}]');
  assert.equal(first.digest, second.digest);
  assert.equal(first.command.params, second.command.params, "read once");
  for (const shared of [first.command.params, first.command.query] as object[])
    assert.throws(() => Object.assign(shared, { id: "8", dry: false }), TypeError);
  // The same bytes stand for another thing where another route takes them.
  assert.equal(plainly(read(other, again)), '[{"id":"things"},{"dry":true}]');
  assert.equal(plainly(read(things, again)), '[{"id":"7"},{"dry":true}]');
  const refused = head("/v1/things/7", "text/plain");
  for (let time = 0; time < 2; time++) assert.throws(() => read(things, refused), { code: "media_type_unsupported" });
});
