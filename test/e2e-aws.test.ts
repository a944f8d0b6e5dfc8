import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import aws4 from "aws4";
import { asUser, call, type Gateway, Home, makeFolder, openPlane, openRun, type Plane } from "./support/home.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";

const ID = "AKIDEXAMPLEAKIDEXAMP";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const TOKEN = "FQoGZXIvYXdzEXAMPLETOKENofasession==";

function pack(name: string, origin: string, auth: string): string {
  return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: aws-key
  auth: ${auth}
  network: private
actions:
  function.get:
    effect: read
    request: { method: GET, path: "/2015-03-31/functions/{name}" }
    input:
      name: { in: path, type: string, maxLength: 64 }
      qualifier: { in: query, type: string, maxLength: 64, optional: true, as: Qualifier }
  function.invoke:
    effect: write
    request: { method: POST, path: "/2015-03-31/functions/{name}/invocations", body: application/json }
    input:
      name: { in: path, type: string, maxLength: 64 }
      order: { in: body, type: string, maxLength: 200 }
`;
}

/** What the service does with a request: it signs what arrived with the key it has, and compares. */
function isSigned({ method, url, headers, body }: Received, sessionToken?: string): boolean {
  const { authorization, host, "content-type": type } = headers;
  const given = {
    host,
    ...(type === undefined ? {} : { "content-type": type }),
    "x-amz-date": headers["x-amz-date"],
  };
  const signed = aws4.sign(
    {
      method,
      path: url,
      service: "lambda",
      region: "eu-west-1",
      headers: given,
      ...(body.length === 0 ? {} : { body }),
      extraHeadersToIgnore: { "content-length": true },
    } as aws4.Request,
    { accessKeyId: ID, secretAccessKey: SECRET, ...(sessionToken === undefined ? {} : { sessionToken }) },
  );
  const token = headers["x-amz-security-token"];
  return authorization === signed.headers?.["Authorization"] && token === sessionToken;
}

describe("an AWS key", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    const add = ["credential", "add", "aws-key", "--kind", "aws-sigv4", "--origin", provider.origin];
    await home.must(add, { input: `${ID}:${SECRET}` });
    const scope = "{ scheme: aws-sigv4, region: eu-west-1, service: lambda }";
    await home.trustPack("lambda", pack("lambda", provider.origin, scope));
    gateway = await home.up();
    const query = scope.replace(" }", ", form: query }");
    await home.trustBeside("presigned", pack("presigned", provider.origin, query));
    await home.trustBeside("plain", pack("plain", provider.origin, "{ scheme: bearer }"));
    agent = openPlane(home.agentSocket);
    provider.answer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"state":"Active"}');
    });
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("signs reads and writes as they leave, for the region and the service of the pack", async () => {
    const run = await openRun(home, agent, ["lambda.function.get", "lambda.function.invoke"], {
      attempts: 5,
      side_effects: 2,
    });
    const read = await call(agent, run, "lambda.function.get", { name: "my function", qualifier: "v 1+2" });
    assert.equal(read.body["outcome"], "success", read.text);
    const write = await call(agent, run, "lambda.function.invoke", { name: "orders", order: "größer" });
    assert.equal(write.body["outcome"], "success", write.text);
    const [first, second] = provider.received.slice(-2);
    assert.ok(first !== undefined && isSigned(first), JSON.stringify(first));
    assert.ok(second !== undefined && isSigned(second), JSON.stringify(second?.headers));
    assert.ok(!JSON.stringify(provider.received).includes(SECRET), "the secret key stays");
  });

  test("rotated to one of a session, it sends the session's token along", async () => {
    await home.must(["credential", "rotate", "aws-key"], { input: `${ID}:${SECRET}:${TOKEN}` });
    const run = await openRun(home, agent, ["lambda.function.get"]);
    const read = await call(agent, run, "lambda.function.get", { name: "orders" });
    assert.equal(read.body["outcome"], "success", read.text);
    const last = provider.received.at(-1);
    assert.ok(last !== undefined && isSigned(last, TOKEN), JSON.stringify(last?.headers));
  });

  test("in the query form the signature stands in the address, for a minute, and nowhere in the log", async () => {
    const run = await openRun(home, agent, ["presigned.function.get"]);
    const read = await call(agent, run, "presigned.function.get", { name: "my function", qualifier: "v 1+2" });
    assert.equal(read.body["outcome"], "success", read.text);
    const { method = "", url = "", headers } = provider.received.at(-1) ?? {};
    assert.equal(headers?.authorization, undefined);
    const { pathname, searchParams } = new URL(url, provider.origin);
    assert.equal(searchParams.get("X-Amz-Expires"), "60");
    assert.equal(searchParams.get("X-Amz-Security-Token"), TOKEN);
    const at = `X-Amz-Date=${searchParams.get("X-Amz-Date")}&X-Amz-Expires=60`;
    const signed = aws4.sign(
      {
        ...{ method, path: `${pathname}?Qualifier=v%201%2B2&${at}`, service: "lambda", region: "eu-west-1" },
        ...{ signQuery: true, headers: { host: headers?.host } },
      } as aws4.Request,
      { accessKeyId: ID, secretAccessKey: SECRET, sessionToken: TOKEN },
    );
    const expected = new URL(signed.path ?? "", provider.origin).searchParams.get("X-Amz-Signature");
    assert.equal(searchParams.get("X-Amz-Signature"), expected);
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    assert.ok(!exported.out.includes(String(expected)));
    provider.answer((request, response) =>
      response.end(new URL(request.url, provider.origin).searchParams.get("X-Amz-Signature")),
    );
    const echoed = await call(agent, run, "presigned.function.get", { name: "orders" });
    const sent = new URL(provider.received.at(-1)?.url ?? "", provider.origin).searchParams.get("X-Amz-Signature");
    assert.ok(sent !== null && !echoed.text.includes(sent), echoed.text);
  });

  test("is not sent where a pack asks for a token, and what comes back with its token is withheld", async () => {
    const before = provider.received.length;
    const run = await openRun(home, agent, ["plain.function.get", "lambda.function.get"], { attempts: 3 });
    const refused = await call(agent, run, "plain.function.get", { name: "orders" });
    assert.equal(refused.body["outcome"], "error", refused.text);
    assert.match(refused.text, /credential_not_bound/);
    assert.equal(provider.received.length, before, "nothing left");
    provider.answer((request, response) => response.end(JSON.stringify(request.headers)));
    const echoed = await call(agent, run, "lambda.function.get", { name: "orders" });
    assert.ok(!echoed.text.includes(TOKEN), echoed.text);
  });

  test("a secret that is no access key is refused at the door", async () => {
    const add = ["credential", "add", "other", "--kind", "aws-sigv4", "--origin", provider.origin];
    const refused = await home.operator(add, { input: "just-some-long-token" });
    assert.equal(refused.code, 1);
    assert.match(refused.err, /credential_invalid/);
  });
});
