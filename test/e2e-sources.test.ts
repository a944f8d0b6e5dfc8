import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Started,
  until,
} from "./support/home.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";
import { type SecretStore, STORE_ROLE, STORE_SECRET_ID, startSecretStore } from "./support/secret-store.ts";

function pack(name: string, origin: string, auth: string): string {
  return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: ${name}
  auth: ${auth}
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;
}

const APP = ["--client-id", "acme-app", "--token-endpoint", "https://login.acme.example/token"];

const formOf = (request: Received | undefined): URLSearchParams => new URLSearchParams(request?.body);

/** The real programs; secrets that are kept elsewhere, and a key that signs instead of being sent. */
describe("a secret that is kept elsewhere", asUser, () => {
  const folder = makeFolder();
  const apis: TestProvider[] = [];
  const kept = join(folder, "kept-secret");
  const systemd = join(folder, "systemd");
  const program = join(folder, "print-secret");
  let home: Home;
  let store: SecretStore;
  let reference: Started;
  let gateway: Gateway;
  let agent: Plane;
  let endpoint: TestProvider;
  let robotKey: KeyObject;
  const asked: Received[] = [];
  const clientSecret = join(folder, "client-secret");

  before(async () => {
    home = await new Home(folder).init();
    store = await startSecretStore();
    store.secret = { token: "from-the-store-0123" };
    writeFileSync(kept, "user:from-the-command\n");
    mkdirSync(systemd);
    writeFileSync(join(systemd, "acme-token"), "from-systemd-0123\n");
    writeFileSync(program, `#!/bin/sh\ncat "$1"\n`, { mode: 0o700 });
    await add("command", "basic", "{ scheme: basic }", ["--source-command", JSON.stringify([program, kept])]);
    await add("unit", "bearer", "{ scheme: bearer }", ["--source-systemd", "acme-token"]);
    const role = ["--source-role", STORE_ROLE, "--source-field", "token", "--lease", "1"];
    await add("store", "bearer", "{ scheme: bearer }", ["--source-vault", store.url, ...role], STORE_SECRET_ID);
    endpoint = await startProvider();
    const client = ["--client-id", "acme-app", "--token-endpoint", `${endpoint.origin}/token`];
    writeFileSync(clientSecret, "client-secret-0123\n");
    const printed = ["--source-command", JSON.stringify([program, clientSecret])];
    await add("app", "oauth2", "{ scheme: oauth2 }", [...client, ...printed, "--dpop"]);
    const robot = generateKeyPairSync("ec", { namedCurve: "P-256" });
    robotKey = robot.publicKey;
    store.secret = { ...store.secret, key: robot.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
    const inStore = ["--source-vault", store.url, "--source-role", STORE_ROLE, "--source-field", "key"];
    await add("robot", "jwt-bearer", "{ scheme: oauth2 }", [...client, ...inStore], STORE_SECRET_ID);
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const pem = join(folder, "robot.pem");
    writeFileSync(pem, publicKey.export({ type: "spki", format: "pem" }));
    const started = ["reference", "--port", "0", "--file", join(folder, "reference.db"), "--signer", pem, "--json"];
    reference = home.start(started);
    await until("the reference provider answers", async () => reference.out().includes("\n"));
    const { origin } = JSON.parse(reference.out()) as { readonly origin: string };
    const sign = ["credential", "add", "signer", "--kind", "http-signature", "--key-id", "robot", "--origin", origin];
    await home.must(sign, { input: privateKey.export({ type: "pkcs8", format: "pem" }).toString() });
    await home.trustPack("signer", signedPack(origin));
    // As systemd would, for a service with LoadCredential=.
    gateway = await home.up([], ["/usr/bin/env", `CREDENTIALS_DIRECTORY=${systemd}`]);
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await reference?.end();
    for (const api of [...apis, endpoint]) await api?.close();
    await store?.close();
  });

  async function add(label: string, kind: string, auth: string, more: readonly string[], input = ""): Promise<void> {
    const api = await startProvider();
    apis.push(api);
    await home.must(["credential", "add", label, "--kind", kind, "--origin", api.origin, ...more], { input });
    await home.trustPack(label, pack(label, api.origin, auth));
  }

  function signedPack(origin: string): string {
    return `
format: gw.pack/v1
pack: signer
provider:
  origin: ${origin}
  credential: signer
  auth: { scheme: http-signature }
  network: private
  idempotency: { header: Idempotency-Key, window_s: 2592000 }
  correlation_header: X-Correlation-ID
  version: { header: X-API-Version, value: "2026-04-01" }
actions:
  project.list:
    effect: read
    request: { method: GET, path: /v1/projects }
    input: { state: { in: query, enum: [active, any], optional: true } }
  report.create:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/reports, body: application/json }
    input:
      account: { in: body, type: string, maxLength: 64 }
      range:
        in: body
        type: object
        required: [start, end]
        properties: { start: { type: string, format: date }, end: { type: string, format: date } }
      format: { in: body, enum: [csv, json] }
`;
  }

  const sentBy = (index: number): string | undefined => apis[index]?.received.at(-1)?.headers.authorization;

  async function read(label: string, action = "thing.get", input: Members = { id: "1" }): Promise<Members> {
    const run = await openRun(home, agent, [`${label}.${action}`], { attempts: 2, side_effects: 1 });
    return (await call(agent, run, `${label}.${action}`, input)).body;
  }

  function nextSecretId(): string {
    const next = `${STORE_SECRET_ID}-${store.secretIds.size}`;
    store.secretIds.add(next);
    return next;
  }

  /** Again and again in one run, as a caller has few at once. */
  async function openReader(label: string): Promise<() => Promise<Members>> {
    const run = await openRun(home, agent, [`${label}.thing.get`], { attempts: 2_000 });
    return async () => (await call(agent, run, `${label}.thing.get`, { id: "1" })).body;
  }

  function isAssertedBy(key: KeyObject, request: Received | undefined): boolean {
    const [head = "", claims = "", signature = ""] = (formOf(request).get("assertion") ?? "").split(".");
    const how = { key, dsaEncoding: "ieee-p1363" } as const;
    return verify("sha256", Buffer.from(`${head}.${claims}`), how, Buffer.from(signature, "base64url"));
  }

  test("a fixed command prints it, systemd has it beside the service: each goes where its entry is bound to", async () => {
    assert.equal((await read("command"))["outcome"], "success");
    assert.equal(sentBy(0), `Basic ${Buffer.from("user:from-the-command").toString("base64")}`);
    assert.equal((await read("unit"))["outcome"], "success");
    assert.equal(sentBy(1), "Bearer from-systemd-0123");
  });

  test("what is exchanged may be kept elsewhere too: a client's secret that a command prints, a key in a store", async () => {
    // With a token that is bound to a key: that one is sealed here all the same.
    endpoint.answer((request, response) => {
      asked.push(request);
      const type = request.headers["dpop"] === undefined ? "bearer" : "DPoP";
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ access_token: `token-${asked.length}-0123`, token_type: type, expires_in: 600 }));
    });
    assert.equal((await read("app"))["outcome"], "success");
    assert.equal(
      asked[0]?.headers.authorization,
      `Basic ${Buffer.from("acme-app:client-secret-0123").toString("base64")}`,
    );
    assert.equal(apis[3]?.received.at(-1)?.headers.authorization, "DPoP token-1-0123");
    assert.equal((await read("robot"))["outcome"], "success");
    assert.equal(apis[4]?.received.at(-1)?.headers.authorization, "Bearer token-2-0123");
    assert.ok(isAssertedBy(robotKey, asked[1]));
    // What is kept there is no client's secret any more: nothing is exchanged, and not one byte is shown.
    writeFileSync(clientSecret, "client secret with spaces\n");
    await home.must(["lock"]);
    await home.must(["unlock"]);
    const refused = await home.operator(["credential", "test", "app"]);
    assert.equal(codeOf(refused), "source_unfit");
    assert.ok(!refused.err.includes("with spaces"));
    assert.equal(asked.length, 2);
    // Replaced in the store while the older one is still lent: its refusal suspends nobody, and the new one is got next.
    const next = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await home.must(["credential", "test", "robot"]);
    store.secret = { ...store.secret, key: next.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
    endpoint.answer((request, response) => {
      const known = isAssertedBy(next.publicKey, request);
      response.writeHead(known ? 200 : 400, { "content-type": "application/json" });
      const token = { access_token: "token-of-the-next-key", token_type: "bearer", expires_in: 600 };
      response.end(JSON.stringify(known ? token : { error: "invalid_grant" }));
    });
    assert.equal(codeOf(await home.operator(["credential", "test", "robot"])), "token_grant_ended");
    await home.must(["credential", "test", "robot"]);
  });

  test("a store gives it to a role that logs in once; a token that was taken back is got anew", async () => {
    assert.equal((await read("store"))["outcome"], "success");
    assert.equal(sentBy(2), "Bearer from-the-store-0123");
    assert.match((await home.must(["credential", "test", "store"])).out, /store: a token until/);
    const before = store.logins;
    store.revokeAll();
    await home.must(["credential", "test", "store"]);
    assert.equal(store.logins, before + 1);
  });

  test("a login is renewed once half of it is over, and ended with the lock", async () => {
    store.tokenS = 10;
    store.revokeAll();
    const again = await openReader("store");
    const renewed = async (): Promise<boolean> => {
      const [logins, renewals] = [store.logins, store.renewals];
      await again();
      return store.renewals > renewals && store.logins === logins;
    };
    await until("the token is renewed, and nobody logs in for that", renewed, 120_000);
    store.tokenS = 1200;
    const before = store.live;
    await home.must(["lock"]);
    await until("the store takes its token back", async () => store.live === before - 1);
    await home.must(["unlock"]);
  });

  test("a login that is answered behind the lock is ended there", async () => {
    const release = Promise.withResolvers<void>();
    store.held = release.promise;
    const [logins, live] = [store.logins, store.live];
    const testing = home.operator(["credential", "test", "store"]);
    await until("the store has the login", async () => store.logins === logins + 1);
    assert.equal(store.live, live + 1);
    await home.must(["lock"]);
    release.resolve();
    store.held = null;
    assert.notEqual((await testing).code, 0);
    await until("the store takes its token back", async () => store.live === live);
    await home.must(["unlock"]);
  });

  test("a login is ended when its secret_id is replaced, also one that is answered after that", async () => {
    store.revokeAll();
    await home.must(["credential", "test", "store"]);
    assert.equal(store.live, 1);
    await home.must(["credential", "rotate", "store"], { input: nextSecretId() });
    await until("the store takes its token back", async () => store.live === 0);
    const release = Promise.withResolvers<void>();
    store.held = release.promise;
    const testing = home.operator(["credential", "test", "store"]);
    try {
      await until("the store has the login", async () => store.live === 1);
      await home.must(["credential", "rotate", "store"], { input: nextSecretId() });
    } finally {
      release.resolve();
      store.held = null;
    }
    assert.equal(codeOf(await testing), "source_unavailable");
    await until("the store takes its token back", async () => store.live === 0);
  });

  test("a login that another one takes the place of is ended, whatever became of it", async () => {
    await home.must(["credential", "test", "store"]);
    const before = store.logins;
    store.denies = true;
    for (let times = 0; times < 3; times++)
      assert.equal(codeOf(await home.operator(["credential", "test", "store"])), "source_unavailable");
    store.denies = false;
    assert.equal(store.logins, before + 3);
    await until("the store has the newest alone", async () => store.live === 1);
    store.revokeAll();
    store.tokenS = 2;
    store.renews = false;
    const again = await openReader("store");
    const begun = store.logins;
    await until("it logs in a few times", async () => {
      await again();
      return store.logins > begun + 3;
    });
    store.renews = true;
    store.tokenS = 1200;
    await until("the store has the newest alone", async () => store.live === 1);
  });

  test("what changed there is used after the lease; a store that is down is said so, and nothing older is used", async () => {
    store.secret = { token: "changed-in-the-store-0123" };
    const again = await openReader("store");
    await until("the lease ends", async () => {
      await again();
      return sentBy(2) === "Bearer changed-in-the-store-0123";
    });
    store.sealed = true;
    let code: unknown = null;
    await until("the lease ends", async () => {
      code = (await again())["code"];
      return code !== undefined;
    });
    assert.equal(code, "source_unavailable");
    const before = apis[2]?.received.length;
    assert.equal((await read("store"))["code"], "source_unavailable");
    assert.equal(apis[2]?.received.length, before, "nothing left");
    store.sealed = false;
    await home.must(["credential", "test", "store"]);
    assert.equal((await read("store"))["outcome"], "success");
  });

  test("a second line, a secret of another form, a field that is not there: refused, and not one byte is shown", async () => {
    writeFileSync(kept, "user:first-line\nsecond-line\n");
    const second = await home.operator(["credential", "test", "command"]);
    assert.equal(codeOf(second), "source_unfit");
    assert.ok(!second.err.includes("second-line"));
    writeFileSync(kept, "no-colon-in-here\n");
    assert.equal(codeOf(await home.operator(["credential", "test", "command"])), "source_unfit");
    store.secret = { other: "from-the-store-0123" };
    assert.equal(codeOf(await home.operator(["credential", "test", "store"])), "source_unavailable");
    store.secret = { token: "from-the-store\r\nx-evil: 1" };
    assert.equal(codeOf(await home.operator(["credential", "test", "store"])), "source_unfit");
  });

  test("the list says where each is kept; what would not work is refused when it is added", async () => {
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    const { source } = rows.find(({ label }) => label === "store") ?? {};
    assert.equal((source as Members)["kind"], "vault-kv");
    assert.match((await home.run(["credential", "list"])).out, /command {2}basic .*from command/);
    const common = ["credential", "add", "wrong", "--origin", "https://api.acme.example", "--kind"];
    for (const [more, words] of [
      [["bearer", "--source-command", '["pass"]'], /absolute path/],
      [["bearer", "--source-command", "pass show x"], /is a JSON list/],
      [["bearer", "--source-systemd", "../etc/shadow"], /name of a credential/],
      [["bearer", "--source-vault", "http://vault.example/v1/secret/data/x"], /--source-vault is https/],
      [["bearer", "--source-systemd", "a", "--lease", "86400"], /--lease is/],
      [["hmac", "--source-systemd", "a"], /A source is for|--origin is for/],
      [["bearer", "--source-field", "a"], /over the network/],
      [
        ["oauth2", "--grant", "refresh_token", "--client-auth", "none", ...APP, "--source-systemd", "a"],
        /refresh token has no source/,
      ],
    ] as const) {
      const refused = await home.operator([...common, ...more], { input: "" });
      assert.equal(refused.code, 1, refused.out);
      assert.match(refused.err, words);
    }
  });

  test("a key signs requests, with and without a body, and the reference provider verifies them", async () => {
    const listed = await read("signer", "project.list", { state: "any" });
    assert.equal(listed["outcome"], "success", JSON.stringify(listed));
    const range = { start: "2026-01-01", end: "2026-01-31" };
    const made = await read("signer", "report.create", { account: "acme", range, format: "csv" });
    // Refused it would be an error. The promise of a job that this pack does not follow leaves the end unknown.
    assert.equal(made["outcome"], "unknown", JSON.stringify(made));
    const { origin } = JSON.parse(reference.out()) as { readonly origin: string };
    const plain = await fetch(`${origin}/v1/projects`);
    assert.equal(plain.status, 401);
  });

  test("the removal ends the login, also of a credential that was disabled before", async () => {
    store.secret = { token: "from-the-store-0123" };
    await home.must(["credential", "test", "store"]);
    const before = store.live;
    await home.must(["credential", "disable", "store"]);
    const removed = await home.must(["credential", "remove", "store"]);
    assert.ok(!removed.err.includes("may not be ended"), removed.err);
    assert.equal(store.live, before - 1);
  });

  test("a login that a call makes while its credential is removed is ended", async () => {
    const role = ["--source-role", STORE_ROLE, "--source-field", "token"];
    await add("busy", "bearer", "{ scheme: bearer }", ["--source-vault", store.url, ...role], STORE_SECRET_ID);
    const again = await openReader("busy");
    await again();
    const [logins, live] = [store.logins, store.live];
    const told = Promise.withResolvers<void>();
    store.ending = told.promise;
    const removing = home.must(["credential", "remove", "busy"]);
    try {
      await until("the store has its token back", async () => store.live === live - 1);
      assert.equal((await again())["outcome"], "success");
      assert.deepEqual([store.logins, store.live], [logins + 1, live], "a call logged in meanwhile");
    } finally {
      told.resolve();
      store.ending = null;
    }
    await removing;
    await until("the store takes that back too", async () => store.live === live - 1);
  });

  test("no secret of any of them is in the log", async () => {
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    const secrets = ["from-the-command", "from-systemd-0123", "from-the-store-0123", STORE_SECRET_ID];
    secrets.push("hvs.token-1", "client-secret-0123", "token-1-0123", "PRIVATE KEY");
    for (const secret of secrets) assert.ok(!exported.out.includes(secret), secret);
    assert.match(exported.out, /exchange\.store/);
    assert.match(exported.out, /source\.store/);
    const reads = exported.out.split("\n").filter((line) => line.includes('"source_read"'));
    assert.ok(
      reads.some((line) => line.includes(`"from":${JSON.stringify(program)}`) && line.includes('"given":true')),
    );
    assert.ok(reads.some((line) => line.includes('"from":"acme-token"') && line.includes('"credential_label":"unit"')));
  });
});
