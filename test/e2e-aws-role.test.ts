import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
} from "./support/home.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";
import { isSignedBy, type Session, startTokenService, type TokenService } from "./support/sts.ts";

const KEY = { id: "AKIDEXAMPLEAKIDEXAMP", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const ROLE = "arn:aws:iam::123456789012:role/teams/agents";

function pack(origin: string): string {
  return `
format: gw.pack/v1
pack: store
provider:
  origin: ${origin}
  credential: acme-role
  auth: { scheme: aws-sigv4, region: eu-west-1, service: s3 }
actions:
  object.get:
    effect: read
    request: { method: GET, path: "/{bucket}/{key}" }
    token: { scopes: ["s3:GetObject"], resources: ["arn:aws:s3:::{bucket}/{key}"] }
    input:
      bucket: { in: path, type: string, maxLength: 63 }
      key: { in: path, type: string, maxLength: 500 }
  object.delete:
    effect: write
    request: { method: DELETE, path: "/{bucket}/{key}" }
    token: { scopes: ["s3:DeleteObject"] }
    input:
      bucket: { in: path, type: string, maxLength: 63 }
      key: { in: path, type: string, maxLength: 200 }
  object.tag:
    effect: read
    request: { method: GET, path: "/{bucket}/{key}/tags" }
    token: { scopes: ["s3:GetObjectTagging"] }
    input:
      bucket: { in: path, type: string, maxLength: 63 }
      key: { in: path, type: string, maxLength: 200 }
`;
}

/** A store that takes what a key of a session signed, and only what the policy of that session has. */
function guard(api: TestProvider, { sessions }: TokenService): void {
  api.answer((request, response) => {
    const session = sessionOf(request, sessions);
    const [, bucket = "", key = ""] = request.url.split("/").map(decodeURIComponent);
    const wanted = request.method === "GET" ? "s3:GetObject" : "s3:DeleteObject";
    const named = `arn:aws:s3:::${bucket}/${key}`.replaceAll(/[$*?]/g, (one) => `\${${one}}`);
    const allowed = session?.policy.Statement.some(
      ({ Action, Resource }) => Action.includes(wanted) && Resource.some((one) => one === "*" || one === named),
    );
    const good = session !== undefined && isSignedBy(request, session, "s3");
    response.writeHead(good && allowed ? 200 : 403, { "content-type": "application/json" });
    response.end(JSON.stringify({ good, allowed }));
  });
}

function sessionOf({ headers }: Received, sessions: TokenService["sessions"]): Session | undefined {
  return sessions.get(/Credential=([A-Z0-9]+)\//.exec(headers.authorization ?? "")?.[1] ?? "");
}

describe("a role at AWS", asUser, () => {
  let home: Home;
  let sts: TokenService;
  let api: TestProvider;
  let gateway: Gateway;
  let agent: Plane;

  before(async () => {
    sts = await startTokenService(KEY, ROLE, "acme-external");
    api = await startProvider();
    guard(api, sts);
    home = await new Home(makeFolder()).init();
    const scopes = ["s3:GetObject", "s3:DeleteObject"].flatMap((one) => ["--scope", one]);
    const about = ["--kind", "aws-role", "--role", ROLE, "--region", "eu-west-1", "--external-id", "acme-external"];
    const places = ["--token-endpoint", `${sts.origin}/`, "--origin", api.origin];
    await home.must(["credential", "add", "acme-role", ...about, ...places, ...scopes], {
      input: `${KEY.id}:${KEY.secret}`,
    });
    await home.trustPack("store", pack(api.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await api?.close();
    await sts?.close();
  });

  const open = () =>
    openRun(home, agent, ["store.object.get", "store.object.delete", "store.object.tag"], {
      attempts: 9,
      side_effects: 2,
    });

  test("a key of the role is got for what the action needs, on what the call names, and is kept for the next", async () => {
    const run = await open();
    for (const _time of [1, 2]) {
      const read = await call(agent, run, "store.object.get", { bucket: "b", key: "report.csv" });
      assert.equal(read.body["outcome"], "success", read.text);
    }
    assert.equal(sts.received.length, 1);
    const [{ policy } = assert.fail()] = [...sts.sessions.values()];
    assert.deepEqual(policy.Statement, [
      { Effect: "Allow", Action: ["s3:GetObject"], Resource: ["arn:aws:s3:::b/report.csv"] },
    ]);
    const written = await call(agent, run, "store.object.delete", { bucket: "b", key: "report.csv" });
    assert.equal(written.body["outcome"], "success", written.text);
    assert.equal(sts.received.length, 2, "another action, another key");
  });

  test("no input widens what a key is good for", async () => {
    const run = await open();
    const read = await call(agent, run, "store.object.get", { bucket: "b", key: "*" });
    assert.equal(read.body["outcome"], "success", read.text);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: how a policy of AWS writes a star that is meant
    assert.deepEqual([...sts.sessions.values()].at(-1)?.policy.Statement[0]?.Resource, ["arn:aws:s3:::b/${*}"]);
    const beyond = await call(agent, run, "store.object.tag", { bucket: "b", key: "x" });
    assert.match(beyond.text, /token_scope_missing/);
  });

  test("what one call names keeps no other from its key: not in another script, not too long, not refused", async () => {
    const run = await open();
    const key = "\u5831\u544a/\u00e9t\u00e9";
    const foreign = await call(agent, run, "store.object.get", { bucket: "b", key });
    assert.equal(foreign.body["outcome"], "success", foreign.text);
    assert.deepEqual([...sts.sessions.values()].at(-1)?.policy.Statement[0]?.Resource, [`arn:aws:s3:::b/${key}`]);
    const asked = sts.received.length;
    const long = await call(agent, run, "store.object.get", { bucket: "b", key: "\u5831".repeat(400) });
    assert.match(long.text, /token_refused.*2048/);
    assert.equal(sts.received.length, asked, "nothing was sent");
    sts.refuses = "refused.csv";
    const refused = await call(agent, run, "store.object.get", { bucket: "b", key: "refused.csv" });
    assert.match(refused.text, /token_refused.*MalformedPolicyDocument/);
    const other = await call(agent, run, "store.object.get", { bucket: "b", key: "other.csv" });
    assert.equal(other.body["outcome"], "success", other.text);
  });

  test("with a clock that is hours off, what AWS says of its own counts; the secrets stand nowhere", async () => {
    sts.skewMs = -5 * 3_600_000;
    const asked = sts.received.length;
    await home.must(["credential", "test", "acme-role"]);
    assert.equal(sts.received.length, asked + 2, "refused once, with a time to go by");
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    for (const { secret, token } of sts.sessions.values())
      for (const one of [secret, token]) assert.ok(!exported.out.includes(one));
    assert.ok(!exported.out.includes(KEY.secret));
    assert.match(exported.out, /exchange\.acme-role/);
    assert.equal((await home.verify()).code, 0);
  });

  test("a role without an action, with a wildcard or without a region is refused at the door", async () => {
    const base = ["credential", "add", "other", "--kind", "aws-role", "--role", ROLE, "--origin", api.origin];
    for (const [more, words] of [
      [["--region", "eu-west-1"], /at least one/],
      [["--region", "eu-west-1", "--scope", "s3:*"], /without wildcards/],
      [["--scope", "s3:GetObject"], /--region/],
    ] as const) {
      const refused = await home.operator([...base, ...more], { input: `${KEY.id}:${KEY.secret}` });
      assert.match(refused.err, words);
    }
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    assert.equal(rows.length, 1);
  });
});
