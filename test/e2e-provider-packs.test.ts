import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { jwtVerify } from "jose";
import { exchangedCalls } from "./packs-calls.ts";
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
import { idOf } from "./support/reply.ts";
import { isSignedBy, type Session, startTokenService, type TokenService } from "./support/sts.ts";

const AWS = { id: "AKIDEXAMPLEAKIDEXAMP", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const ROLE = "arn:aws:iam::123456789012:role/agents";
const NOTION = "ntn_0123456789abcdefghij";
const GRAPH = ["Mail.Read", "Mail.Send", "Calendars.ReadWrite", "offline_access"];
const REFRESH = "refresh-token-of-ada-0";
const robot = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = robot.privateKey.export({ format: "pem", type: "pkcs8" }).toString();

type PackName = keyof typeof exchangedCalls;
/** One read and one write of each. */
const chosen: Readonly<Record<PackName, readonly [read: string, write: string]>> = {
  "aws-s3": ["object.get", "object.put"],
  "aws-ec2": ["instance.get", "instance.stop"],
  "aws-lambda": ["function.list", "function.invoke"],
  "google-calendar": ["event.list", "event.create"],
  "microsoft-graph": ["message.list", "mail.send"],
  notion: ["page.get", "page.create"],
  "github-app": ["issue.get", "issue.comment"],
};

/** What the key that a read goes with is good for. */
const narrowed: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  "aws-s3": [["s3:GetObject"], ["arn:aws:s3:::acme-reports/2026/june \u00e9.csv"]],
  "aws-ec2": [["ec2:DescribeInstances"], ["*"]],
  "aws-lambda": [["lambda:ListFunctions"], ["*"]],
};

/** The shipped packs through the real gateway, against providers on loopback that were written from the documentation: each looks at who asks. */
describe("packs of providers whose credentials are exchanged, or sign", asUser, () => {
  let home: Home;
  let tokens: TestProvider;
  let sts: TokenService;
  const providers = new Map<PackName, TestProvider>();
  /** What each token that was handed out is good for. */
  const goodFor = new Map<string, string>();
  let gateway: Gateway;
  let agent: Plane;

  before(async () => {
    sts = await startTokenService(AWS, ROLE, "acme-external");
    tokens = await startProvider();
    tokens.answer(async (request, response) => {
      const reply = (status: number, body: object): void =>
        void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      const access_token = `token-${randomBytes(12).toString("hex")}`;
      if (request.url === "/app/installations/77/access_tokens") {
        const bearer = request.headers.authorization?.slice("Bearer ".length) ?? "";
        await jwtVerify(bearer, robot.publicKey, { issuer: "4711" });
        const asked = JSON.parse(request.body) as { permissions: Members; repositories: readonly string[] };
        goodFor.set(access_token, `${JSON.stringify(asked.permissions)} ${asked.repositories.join()}`);
        const repositories = asked.repositories.map((name) => ({ name }));
        const expires_at = new Date(Date.now() + 3_600_000).toISOString();
        return reply(201, { token: access_token, expires_at, permissions: asked.permissions, repositories });
      }
      const form = new URLSearchParams(request.body);
      let scope = form.get("scope") ?? "";
      if (form.get("assertion") !== null) {
        const { payload } = await jwtVerify(form.get("assertion") ?? "", robot.publicKey, {
          issuer: "robot@acme.example",
        });
        scope = String(payload["scope"]);
      } else if (form.get("refresh_token") !== REFRESH) return reply(400, { error: "invalid_grant" });
      // As Microsoft does: all that was agreed to, whatever is asked for.
      else scope = GRAPH.join(" ");
      goodFor.set(access_token, scope);
      return reply(200, { access_token, token_type: "Bearer", expires_in: 3599, scope });
    });
    home = await new Home(makeFolder()).init();
    for (const name of Object.keys(chosen) as PackName[]) {
      const provider = await startProvider();
      providers.set(name, provider);
      provider.answer((request, response) => {
        response.writeHead(isKnown(name, request) ? 200 : 401, { "content-type": "application/json" });
        response.end(JSON.stringify({ ok: true }));
      });
      const text = readFileSync(join(import.meta.dirname, `../packs/${name}.yaml`), "utf8");
      await home.trustPack(name, text.replace(/^ {2}origin: .*$/m, `  origin: ${provider.origin}`));
    }
    await addCredentials();
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    for (const provider of providers.values()) await provider.close();
    await tokens?.close();
    await sts?.close();
  });

  function isKnown(name: PackName, request: Received): boolean {
    if (name.startsWith("aws-")) {
      const session = sessionOf(request);
      return session !== undefined && isSignedBy(request, session, name.slice("aws-".length));
    }
    const token = request.headers.authorization?.slice("Bearer ".length) ?? "";
    return name === "notion" ? token === NOTION : goodFor.has(token);
  }

  /** Whose key signed it: of a session that the token service gave for this action, and of none else. */
  function sessionOf(request: Received | undefined): Session | undefined {
    return sts.sessions.get(/Credential=([A-Z0-9]+)\//.exec(request?.headers.authorization ?? "")?.[1] ?? "");
  }

  async function addCredentials(): Promise<void> {
    const at = (...names: PackName[]): string[] =>
      names.flatMap((name) => ["--origin", providers.get(name)?.origin ?? ""]);
    const add = (label: string, more: readonly string[], input: string) =>
      home.must(["credential", "add", label, ...more], { input });
    const all = (["aws-s3", "aws-ec2", "aws-lambda"] as const).map((name) =>
      readFileSync(join(import.meta.dirname, `../packs/${name}.yaml`), "utf8"),
    );
    const actions = new Set(all.join("").match(/(?<=")[a-z0-9]+:[A-Z][A-Za-z]+(?=")/g));
    const role = ["--kind", "aws-role", "--role", ROLE, "--region", "eu-west-1", "--external-id", "acme-external"];
    const places = ["--token-endpoint", `${sts.origin}/`, ...at("aws-s3", "aws-ec2", "aws-lambda")];
    const scopes = [...actions].flatMap((action) => ["--scope", action]);
    await add("aws", [...role, ...places, ...scopes], `${AWS.id}:${AWS.secret}`);
    await add("notion", ["--kind", "bearer", ...at("notion")], NOTION);
    const pinned = (scopes: readonly string[]): string[] => scopes.flatMap((scope) => ["--scope", scope]);
    const graph = pinned(GRAPH);
    const how = ["--grant", "refresh_token", "--client-id", "acme", "--client-auth", "none"];
    const about = ["--kind", "oauth2", ...how, "--token-endpoint", `${tokens.origin}/token`, ...graph];
    await add("microsoft-graph", [...about, ...at("microsoft-graph")], REFRESH);
    const permissions = pinned(["issues:read", "issues:write"]);
    const place = `${tokens.origin}/app/installations/77/access_tokens`;
    const app = ["--kind", "github-app", "--client-id", "4711", "--token-endpoint", place, ...permissions];
    await add("github-app", [...app, ...at("github-app")], pem);
    const file = join(dirname(home.folder), "google.json");
    const key = { type: "service_account", client_email: "robot@acme.example", private_key_id: "g1" };
    const whole = { ...key, token_uri: `${tokens.origin}/token`, private_key: pem };
    writeFileSync(file, JSON.stringify(whole), { mode: 0o600 });
    const google = ["calendar.readonly", "calendar.events"].map((one) => `https://www.googleapis.com/auth/${one}`);
    const account = ["--kind", "jwt-bearer", "--google-key", file, ...pinned(google)];
    await home.must(["credential", "add", "google-calendar", ...account, ...at("google-calendar")]);
  }

  const usedOf = (name: PackName): string =>
    goodFor.get(providers.get(name)?.received.at(-1)?.headers.authorization?.slice("Bearer ".length) ?? "") ?? "";

  for (const name of Object.keys(chosen) as PackName[]) {
    test(`${name}: a read goes through, and a write once a person has agreed to it`, async () => {
      const [read, write] = chosen[name].map((one) => `${name}.${one}`) as [string, string];
      const argsOf = (qualified: string): Members => {
        const calls: Readonly<Record<string, { readonly args: Members }>> = exchangedCalls[name];
        return calls[qualified.slice(name.length + 1)]?.args ?? assert.fail();
      };
      const run = await openRun(home, agent, [read, write], { attempts: 4, side_effects: 1 });
      const agreed = async (action: string) => {
        const calling = call(agent, run, action, argsOf(action));
        const [question] = await home.approvals();
        await home.approve(idOf(question, "approval_id"));
        return calling;
      };
      // What a function of Lambda is set up with may be secret.
      const got = name === "aws-lambda" ? await agreed(read) : await call(agent, run, read, argsOf(read));
      assert.equal(got.body["outcome"], "success", got.text);
      const readWith = usedOf(name);
      const policy = sessionOf(providers.get(name)?.received.at(-1))?.policy.Statement[0];
      if (name.startsWith("aws-")) assert.deepEqual([policy?.Action, policy?.Resource], narrowed[name]);
      const done = await agreed(write);
      assert.equal(done.body["outcome"], "success", done.text);
      if (name === "google-calendar") {
        assert.equal(readWith, "https://www.googleapis.com/auth/calendar.readonly", "a token for a read can only read");
        assert.equal(usedOf(name), "https://www.googleapis.com/auth/calendar.events");
      }
      if (name === "github-app") assert.equal(readWith, '{"issues":"read"} app.js');
    });
  }

  test("lint finds in each what its credential is not pinned to, and nothing else", async () => {
    for (const name of Object.keys(chosen) as PackName[]) {
      const linted = await home.run(["pack", "lint", join(dirname(home.folder), `${name}.yaml`)]);
      const warned = /token_scope_missing: .*contents:read/.test(linted.out);
      assert.equal(warned, name === "github-app", linted.out);
      assert.ok(!linted.out.includes("credential_not_bound"), linted.out);
    }
    const file = join(dirname(home.folder), "other.yaml");
    const notion = readFileSync(join(dirname(home.folder), "notion.yaml"), "utf8");
    for (const [from, to, words] of [
      ["credential: notion", "credential: aws", /aws is of kind aws-role, and scheme: bearer takes/],
      [/^ {2}origin: .*$/m, "  origin: https://api.notion.com", /notion is bound to http.* and is not lent to https/],
    ] as const) {
      writeFileSync(file, notion.replace(from, to));
      assert.match((await home.run(["pack", "lint", file])).out, words);
    }
  });
});
