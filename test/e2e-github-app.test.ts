import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { jwtVerify } from "jose";
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
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const app = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = app.privateKey.export({ format: "pem", type: "pkcs1" }).toString();

function pack(name: string, origin: string, credential: string): string {
  return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: ${credential}
  auth: { scheme: oauth2, scopes: [issues:read] }
actions:
  issue.get:
    effect: read
    request: { method: GET, path: "/repos/{owner}/{repo}/issues/{number}" }
    input: &where
      owner: { in: path, type: string, maxLength: 64 }
      repo: { in: path, type: string, maxLength: 64 }
      number: { in: path, type: integer }
    token: { repository: repo }
  issue.close:
    effect: write
    request: { method: PATCH, path: "/repos/{owner}/{repo}/issues/{number}", body: application/json }
    input:
      owner: { in: path, type: string, maxLength: 64 }
      repo: { in: path, type: string, maxLength: 64 }
      number: { in: path, type: integer }
      state: { in: body, const: closed }
    needs: { approval: each_use }
    token: { repository: repo, scopes: [issues:write] }
  file.get:
    effect: read
    request: { method: GET, path: "/repos/{owner}/{repo}/contents/{path}" }
    input:
      owner: { in: path, type: string, maxLength: 64 }
      repo: { in: path, type: string, maxLength: 64 }
      path: { in: path, type: string, maxLength: 64 }
    token: { repository: repo, scopes: [contents:read] }
`.replace(" &where", "");
}

/** GitHub's exchange, by its documentation: a server that checks the app's JWT and hands out what was asked for. */
describe("an app and a service account", asUser, () => {
  let home: Home;
  let github: TestProvider;
  /** The same service at another place: two packs with different tokens for one place would be a change to review. */
  let second: TestProvider;
  let calendar: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  /** What each token was asked to be good for, by token. */
  const handedOut = new Map<string, Members>();
  let more: Members = {};

  before(async () => {
    github = await startProvider();
    second = await startProvider();
    const answer: Parameters<TestProvider["answer"]>[0] = async (request, response) => {
      const reply = (status: number, body: object) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      const bearer = request.headers.authorization?.slice("Bearer ".length) ?? "";
      if (request.url === "/token") {
        const assertion = new URLSearchParams(request.body).get("assertion") ?? "";
        const about = { issuer: "robot@acme.example", audience: `${github.origin}/token` };
        const { payload, protectedHeader } = await jwtVerify(assertion, app.publicKey, about);
        assert.deepEqual(
          [payload["scope"], payload.sub, protectedHeader.kid],
          ["https://g.example/calendar", undefined, "g1"],
        );
        handedOut.set("google-token-1", {});
        return reply(200, { access_token: "google-token-1", token_type: "Bearer", expires_in: 3599 });
      }
      if (request.url === "/app/installations/77/access_tokens") {
        try {
          const { payload } = await jwtVerify(bearer, app.publicKey, { issuer: "4711", algorithms: ["RS256"] });
          assert.ok(Number(payload.exp) - Number(payload.iat) <= 600);
        } catch {
          return reply(401, { message: "A JSON web token could not be decoded" });
        }
        const asked = JSON.parse(request.body) as Members;
        const token = `ghs_installation${handedOut.size + 1}`;
        handedOut.set(token, asked);
        const names = (asked["repositories"] ?? []) as readonly string[];
        return reply(201, {
          token,
          expires_at: new Date(Date.now() + 3_600_000).toISOString(),
          permissions: { ...(asked["permissions"] as Members), metadata: "read", ...more },
          repository_selection: "selected",
          repositories: names.map((name) => ({ name })),
        });
      }
      return reply(handedOut.has(bearer) ? 200 : 401, { number: 1 });
    };
    github.answer(answer);
    second.answer(answer);
    home = await new Home(makeFolder()).init();
    const named = ["--kind", "github-app", "--client-id", "4711", "--installation", "77"];
    const about = [...named, "--origin", github.origin];
    const pinned = ["--scope", "issues:read", "--scope", "issues:write"];
    const wide = await home.must(["credential", "add", "acme-wide", ...named, "--origin", second.origin], {
      input: pem,
    });
    assert.match(wide.err, /a token of acme-wide has every permission of the app/);
    const added = await home.must(["credential", "add", "acme-bot", ...about, ...pinned], { input: pem });
    assert.doesNotMatch(added.err, /every permission/);
    await home.trustPack("hub", pack("hub", github.origin, "acme-bot"));
    const unnarrowed = pack("wide", second.origin, "acme-wide").replace(", scopes: [issues:read]", "");
    await home.trustPack("wide", unnarrowed.replaceAll(/^ {4}token: .*\n/gm, ""));
    const file = join(dirname(home.folder), "google.json");
    const key = { type: "service_account", client_email: "robot@acme.example", private_key_id: "g1" };
    const whole = { ...key, token_uri: `${github.origin}/token`, private_key: pem };
    writeFileSync(file, JSON.stringify(whole), { mode: 0o600 });
    const google = ["--kind", "jwt-bearer", "--google-key", file, "--scope", "https://g.example/calendar"];
    calendar = await startProvider();
    await home.must(["credential", "add", "calendar", ...google, "--origin", calendar.origin]);
    await home.trustPack(
      "cal",
      pack("cal", calendar.origin, "calendar").replace("oauth2, scopes: [issues:read]", "bearer"),
    );
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await github?.close();
    await second?.close();
    await calendar?.close();
  });

  const tokenOf = (provider = github): string =>
    provider.received.at(-1)?.headers.authorization?.slice("Bearer ".length) ?? "";

  test("a token is narrowed to the repository and the permissions that the action needs", async () => {
    const run = await openRun(home, agent, ["hub.issue.get", "hub.issue.close"], { side_effects: 1 });
    for (const repo of ["site", "docs", "site"]) {
      const read = await call(agent, run, "hub.issue.get", { owner: "acme", repo, number: 1 });
      assert.equal(read.body["outcome"], "success", read.text);
      assert.deepEqual(handedOut.get(tokenOf()), { permissions: { issues: "read" }, repositories: [repo] });
    }
    assert.equal(handedOut.size, 2, "one for each repository");
    const closing = call(agent, run, "hub.issue.close", { owner: "acme", repo: "site", number: 1 });
    const [question] = await home.approvals();
    const notes = JSON.stringify(question);
    assert.match(notes, /a token of acme-bot, narrowed to issues:write on site, 60 minutes/);
    await home.approve(idOf(question, "approval_id"));
    assert.equal((await closing).body["outcome"], "success");
    assert.deepEqual(handedOut.get(tokenOf()), { permissions: { issues: "write" }, repositories: ["site"] });
  });

  test("a token that nothing narrows says so on the card, in the list and to gw doctor", async () => {
    const run = await openRun(home, agent, ["wide.issue.close"], { side_effects: 1 });
    const closing = call(agent, run, "wide.issue.close", { owner: "acme", repo: "site", number: 1 });
    const [question] = await home.approvals();
    assert.match(
      JSON.stringify(question),
      /a token of acme-wide, with every permission of the app on every repository of the installation/,
    );
    await home.approve(idOf(question, "approval_id"));
    assert.equal((await closing).body["outcome"], "success");
    assert.deepEqual(handedOut.get(tokenOf(second)), {});
    const listed = (await home.run(["credential", "list"])).out.split("\n");
    const told = listed.filter((line) => line.includes("every permission of the app"));
    assert.equal(told.length, 1, listed.join("\n"));
    assert.match(told[0] ?? "", /^acme-wide /);
    const { out } = await home.run(["doctor"]);
    assert.match(out, /warning +permissions +a token of acme-wide has every permission of its app/);
    assert.doesNotMatch(out, /a token of acme-bot has/);
  });

  test("what the credential is not pinned to is refused before anything is sent, and so is more than was asked for", async () => {
    const linted = await home.run(["pack", "lint", join(dirname(home.folder), "hub.yaml")]);
    assert.match(linted.out, /warning token_scope_missing: .*acme-bot is not pinned to contents:read/);
    const sent = github.received.length;
    const run = await openRun(home, agent, ["hub.issue.get", "hub.file.get"], { attempts: 4 });
    const refused = await call(agent, run, "hub.file.get", { owner: "acme", repo: "site", path: "x" });
    assert.equal(refused.body["code"], "token_scope_missing", refused.text);
    assert.equal(github.received.length, sent);
    more = { administration: "write" };
    const wide = await call(agent, run, "hub.issue.get", { owner: "acme", repo: "third", number: 1 });
    assert.equal(wide.body["code"], "token_scope_beyond", wide.text);
    more = {};
  });

  test("a Google service account is added from its key file alone", async () => {
    const run = await openRun(home, agent, ["cal.issue.get"]);
    const read = await call(agent, run, "cal.issue.get", { owner: "acme", repo: "site", number: 1 });
    assert.equal(read.body["outcome"], "success", read.text);
    assert.equal(calendar.received.at(-1)?.headers.authorization, "Bearer google-token-1");
  });

  test("another key is refused by the provider, and a key of another type at the door", async () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
      format: "pem",
      type: "pkcs8",
    });
    await home.must(["credential", "rotate", "acme-bot"], { input: other.toString() });
    const run = await openRun(home, agent, ["hub.issue.get"]);
    const refused = await call(agent, run, "hub.issue.get", { owner: "acme", repo: "site", number: 1 });
    assert.equal(refused.body["code"], "token_refused", refused.text);
    const curve = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString();
    const wrong = await home.operator(["credential", "rotate", "acme-bot"], { input: curve });
    assert.match(wrong.err, /RSA/);
  });
});
