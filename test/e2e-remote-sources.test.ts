import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  type Gateway,
  Home,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { isSignedBy } from "./support/sts.ts";

const AWS = { id: "AKIDEXAMPLEAKIDEXAMP", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token: undefined };
const CONNECT = "connect-token-0123456789";
const VAULT = "hvs.token-0123456789";
const NEXT_VAULT = "hvs.next-token-0123456789";
const ITEM = "/v1/vaults/hfnjvi6aymbsnfc2xeeoheizda/items/wepiqdxdzncjtnvmv5fegud4qy";

function pack(name: string, origin: string, scheme: string): string {
  return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: ${name}
  auth: { scheme: ${scheme} }
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;
}

/** Written from the documentation of Vault, 1Password Connect and AWS Secrets Manager: none of them is at hand. */
describe("a secret that a service keeps or makes", asUser, () => {
  let home: Home;
  let services: TestProvider;
  const apis = new Map<string, TestProvider>();
  let gateway: Gateway;
  let agent: Plane;
  let made = 0;
  let lease = 30;
  let renews = true;
  const live = new Set<string>();
  let tokenS = 1200;
  let tokenRenewals = 0;
  /** What is made is answered when this resolves. */
  let held: Promise<void> | null = null;
  let fields: object[] = [];
  let secretString = "";

  before(async () => {
    services = await startProvider();
    services.answer((request, response) => {
      const { method, url, headers } = request;
      const reply = (status: number, body: object): void =>
        void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      const token = headers["x-vault-token"];
      const mayAsk = token === VAULT || token === NEXT_VAULT;
      if (url === "/v1/ldap/creds/robot" && method === "GET") {
        if (!mayAsk) return reply(403, { errors: [] });
        const data = { username: `v-robot-${++made}`, password: `made-for-a-while-${made}` };
        live.add(`ldap/creds/robot/${made}`);
        const answer = { lease_id: `ldap/creds/robot/${made}`, lease_duration: lease, renewable: true, data };
        return void (held ?? Promise.resolve()).then(() => reply(200, answer));
      }
      if (url === "/v1/auth/token/renew-self" && method === "POST") {
        if (!mayAsk) return reply(403, { errors: [] });
        tokenRenewals += 1;
        return reply(200, { auth: { client_token: token, lease_duration: tokenS, renewable: true } });
      }
      if (url.startsWith("/v1/sys/leases/") && method === "POST") {
        const { lease_id: id } = JSON.parse(request.body) as { readonly lease_id: string };
        if (!mayAsk || !live.has(id)) return reply(400, { errors: ["invalid lease"] });
        if (url.endsWith("/renew"))
          return renews ? reply(200, { lease_id: id, lease_duration: lease, renewable: true }) : reply(400, {});
        live.delete(id);
        return void response.writeHead(204).end();
      }
      if (url === ITEM && method === "GET")
        return headers.authorization === `Bearer ${CONNECT}` ? reply(200, { id: "x", fields }) : reply(401, {});
      if (url === "/" && headers["x-amz-target"] === "secretsmanager.GetSecretValue") {
        const named = (JSON.parse(request.body) as { readonly SecretId: string }).SecretId === "acme/api";
        if (!isSignedBy(request, AWS, "secretsmanager")) return reply(400, { __type: "InvalidSignatureException" });
        return named ? reply(200, { SecretString: secretString }) : reply(400, {});
      }
      return reply(404, {});
    });
    home = await new Home(makeFolder()).init();
    const { origin } = services;
    await add("made", "basic", ["--source-vault-dynamic", `${origin}/v1/ldap/creds/robot`], VAULT);
    await add("item", "bearer", ["--source-connect", `${origin}${ITEM}`, "--lease", "5"], CONNECT);
    const named = ["--region", "eu-west-1", "--source-name", "acme/api", "--source-field", "token", "--lease", "5"];
    await add("managed", "bearer", ["--source-aws", `${origin}/`, ...named], `${AWS.id}:${AWS.secret}`);
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    for (const api of apis.values()) await api.close();
    await services?.close();
  });

  async function add(label: string, kind: string, more: readonly string[], input: string): Promise<void> {
    const api = await startProvider();
    apis.set(label, api);
    await home.must(["credential", "add", label, "--kind", kind, "--origin", api.origin, ...more], { input });
    await home.trustPack(label, pack(label, api.origin, kind));
  }

  async function read(label: string): Promise<Reply> {
    return (await openReader(label))();
  }

  /** Again and again in one run, as a caller has few at once. */
  async function openReader(label: string): Promise<() => Promise<Reply>> {
    const run = await openRun(home, agent, [`${label}.thing.get`], { attempts: 2_000 });
    return () => call(agent, run, `${label}.thing.get`, { id: "1" });
  }

  const sent = (label: string): string => apis.get(label)?.received.at(-1)?.headers.authorization ?? "";

  const renewals = (): number => services.received.filter(({ url }) => url === "/v1/sys/leases/renew").length;

  test("Vault makes a user for a while: both halves are sent, it is renewed while it is used, and another one made once that ends", async () => {
    await home.must(["credential", "test", "made"]);
    const first = made;
    // Asked again before its lease is over, Vault renews it: the user stays the same.
    await home.must(["credential", "test", "made"]);
    assert.ok(renewals() > 0);
    assert.equal(tokenRenewals, 1, "the operator's own token was renewed once, and is good for long");
    assert.equal((await read("made")).body["outcome"], "success");
    assert.equal(sent("made"), `Basic ${Buffer.from(`v-robot-${first}:made-for-a-while-${first}`).toString("base64")}`);
    assert.equal(made, first);
    renews = false;
    await home.must(["credential", "test", "made"]);
    assert.equal(made, first + 1);
    lease = 6;
    await home.must(["credential", "test", "made"]);
    assert.equal(made, first + 2);
    // Vault's lease of six seconds ends long before ours of five minutes.
    const again = await openReader("made");
    await until("another one is got", async () => {
      return (await again()).body["outcome"] === "success" && made > first + 2;
    });
  });

  test("the lock ends what was made, and so does the removal", async () => {
    [renews, lease] = [true, 300];
    await home.must(["credential", "test", "made"]);
    assert.ok(live.has(`ldap/creds/robot/${made}`));
    await home.must(["lock"]);
    await until("Vault ended it", async () => !live.has(`ldap/creds/robot/${made}`));
    await home.must(["unlock"]);
    await add("other", "basic", ["--source-vault-dynamic", `${services.origin}/v1/ldap/creds/robot`], VAULT);
    await home.must(["credential", "test", "other"]);
    assert.ok(live.has(`ldap/creds/robot/${made}`));
    const removed = await home.must(["credential", "remove", "other"]);
    assert.ok(!removed.err.includes("may not be ended"), removed.err);
    assert.ok(!live.has(`ldap/creds/robot/${made}`));
    assert.match((await home.must(["audit", "export", "--log", join(home.folder, "audit")])).out, /revoke\.other/);
  });

  test("another token ends what was made with the one before, also what is answered after that", async () => {
    await add("kept", "basic", ["--source-vault-dynamic", `${services.origin}/v1/ldap/creds/robot`], VAULT);
    await home.must(["credential", "test", "kept"]);
    const first = made;
    assert.ok(live.has(`ldap/creds/robot/${first}`));
    await home.must(["credential", "rotate", "kept"], { input: NEXT_VAULT });
    await until("Vault ended it", async () => !live.has(`ldap/creds/robot/${first}`));
    const ended = services.received.findLast(({ url }) => url === "/v1/sys/leases/revoke");
    assert.equal(ended?.headers["x-vault-token"], VAULT);
    const release = Promise.withResolvers<void>();
    held = release.promise;
    const testing = home.operator(["credential", "test", "kept"]);
    try {
      await until("Vault makes one", async () => made === first + 1);
      await home.must(["credential", "rotate", "kept"], { input: `${NEXT_VAULT}-and-one-more` });
    } finally {
      release.resolve();
      held = null;
    }
    assert.match((await testing).err, /source_unavailable/);
    await until("Vault ended that too", async () => !live.has(`ldap/creds/robot/${first + 1}`));
    await home.must(["credential", "remove", "kept"]);
  });

  test("the operator's own token is renewed from half of its life on, and what comes behind the lock is ended too", async () => {
    const renewed = tokenRenewals;
    tokenS = 2;
    await home.must(["lock"]);
    await home.must(["unlock"]);
    await until("it was renewed more than once", async () => {
      await home.must(["credential", "test", "made"]);
      return tokenRenewals > renewed + 1;
    });
    tokenS = 1200;
    renews = false;
    const before = made;
    const release = Promise.withResolvers<void>();
    held = release.promise;
    const testing = home.operator(["credential", "test", "made"]);
    await until("Vault makes one", async () => made === before + 1);
    await home.must(["lock"]);
    release.resolve();
    held = null;
    assert.notEqual((await testing).code, 0);
    await until("Vault ended it", async () => !live.has(`ldap/creds/robot/${made}`));
    await home.must(["unlock"]);
    renews = true;
  });

  test("one that is refused is not made anew before a minute; one without a lease is not lent", async () => {
    lease = 300;
    await home.must(["credential", "test", "made"]);
    const [first, api] = [made, apis.get("made")];
    api?.answer((_request, response) => void response.writeHead(401).end());
    for (const _time of [1, 2]) assert.equal((await read("made")).body["outcome"], "error");
    assert.equal(made, first);
    [renews, lease] = [false, 0];
    assert.match((await home.operator(["credential", "test", "made"])).err, /source_unavailable.*names no lease/);
  });

  test("1Password Connect gives the one field that is named; two of that name, or a second line, are no secret", async () => {
    fields = [
      { id: "username", label: "username", value: "ada" },
      { id: "f1", label: "password", value: "from-one-password-1" },
    ];
    assert.equal((await read("item")).body["outcome"], "success");
    assert.equal(sent("item"), "Bearer from-one-password-1");
    const got = apis.get("item")?.received.length;
    for (const [value, code] of [
      [[...fields, { id: "f2", label: "password", value: "another-secret-22" }], "source_unavailable"],
      [[{ id: "f1", label: "password", value: "two\nlines-of-it" }], "source_unfit"],
    ] as const) {
      fields = [...value];
      const tested = await home.operator(["credential", "test", "item"]);
      assert.match(tested.err, new RegExp(code));
    }
    assert.equal(apis.get("item")?.received.length, got);
  });

  test("AWS Secrets Manager is asked with a signature, and gives a member of what it keeps", async () => {
    secretString = JSON.stringify({ token: "from-secrets-manager-1" });
    assert.equal((await read("managed")).body["outcome"], "success");
    assert.equal(sent("managed"), "Bearer from-secrets-manager-1");
    assert.ok(!JSON.stringify(services.received).includes(AWS.secret));
    secretString = "no JSON at all";
    assert.match((await home.operator(["credential", "test", "managed"])).err, /source_unavailable/);
    assert.equal((await home.verify()).code, 0);
  });
});
