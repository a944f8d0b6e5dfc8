import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { AS_SECRET, type AuthorizationServer, startAuthorizationServer } from "./support/authorization-server.ts";
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

function pack(name: string, origin: string, credential: string): string {
  return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: ${credential}
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;
}

/** The real programs against a real authorization server; the API takes what that server has handed out and nothing else. */
describe("a credential that is exchanged for tokens", asUser, () => {
  let home: Home;
  let server: AuthorizationServer;
  /** One origin a pack: a second pack for the same one would need a review. */
  const apis: TestProvider[] = [];
  let gateway: Gateway;
  let agent: Plane;
  let ca: string;
  const tokens: string[] = [];

  before(async () => {
    home = await new Home(makeFolder()).init();
    ca = join(dirname(home.folder), "authority.pem");
    server = await startAuthorizationServer(ca);
    for (const [label, auth, client, secret] of [
      ["machine-basic", "client_secret_basic", "basic-client", AS_SECRET],
      ["machine-post", "client_secret_post", "post-client", AS_SECRET],
      ["machine-key", "private_key_jwt", "key-client", server.clientKey],
    ] as const) {
      const { origin } = await startApi();
      await add(label, origin, ["--client-id", client, "--client-auth", auth, "--scope", "api:read"], secret);
      await home.trustPack(label, pack(label, origin, label));
    }
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    for (const api of apis) await api.close();
    await server?.close();
  });

  async function startApi(): Promise<TestProvider> {
    const api = await startProvider();
    apis.push(api);
    api.answer(async (request, response) => {
      const token = request.headers.authorization?.slice("Bearer ".length) ?? "";
      const known = await server.knows(token);
      if (known && !tokens.includes(token)) tokens.push(token);
      response.writeHead(known ? 200 : 401, { "content-type": "application/json" }).end(JSON.stringify({ known }));
    });
    return api;
  }

  async function add(label: string, origin: string, more: readonly string[], input: string): Promise<void> {
    const about = ["--kind", "oauth2", "--issuer", server.issuer, "--ca", ca, "--origin", origin];
    await home.must(["credential", "add", label, ...about, ...more], { input });
  }

  const asked = (): number => server.asked.get("/token") ?? 0;

  async function listed(label: string): Promise<Members> {
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    return rows.find((row) => row["label"] === label) ?? {};
  }

  test("pins what the provider says of itself when it is added", async () => {
    const { exchange } = await listed("machine-basic");
    const { ca: pinned, ...rest } = exchange as Members;
    assert.match(String(pinned), /BEGIN CERTIFICATE/);
    assert.deepEqual(rest, {
      audience: null,
      client_auth: "client_secret_basic",
      client_id: "basic-client",
      grant: "client_credentials",
      issuer: server.issuer,
      key_id: null,
      network: "private",
      resource: null,
      revocation_endpoint: `${server.issuer}/token/revocation`,
      scopes: ["api:read"],
      subject: null,
      token_endpoint: `${server.issuer}/token`,
    });
  });

  for (const label of ["machine-basic", "machine-post", "machine-key"]) {
    test(`${label}: the API gets a token of the provider, one for many calls`, async () => {
      const before = asked();
      const run = await openRun(home, agent, [`${label}.thing.get`], { attempts: 2 });
      for (const id of ["1", "2"]) {
        const read = await call(agent, run, `${label}.thing.get`, { id });
        assert.equal(read.body["outcome"], "success", read.text);
      }
      assert.equal(asked(), before + 1);
    });
  }

  test("neither a token nor a client's secret is in the log, and the log holds", async () => {
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    assert.ok(tokens.length >= 3);
    for (const secret of [...tokens, AS_SECRET]) assert.ok(!exported.out.includes(secret));
    assert.match(exported.out, /token_obtained/);
    assert.equal((await home.verify()).code, 0);
  });

  test("a refresh token is replaced with every use, also across a restart; withdrawn, it suspends the credential", async () => {
    const person = await server.agree("person-client", "openid offline_access api:read");
    const scopes = ["openid", "offline_access", "api:read"].flatMap((one) => ["--scope", one]);
    const client = ["--grant", "refresh_token", "--client-id", "person-client", "--client-auth", "none"];
    const { origin } = await startApi();
    await add("person", origin, [...client, ...scopes], person.refreshToken);
    await home.trustPack("person", pack("person", origin, "person"));
    const read = async (): Promise<Members> => {
      const run = await openRun(home, agent, ["person.thing.get"]);
      return (await call(agent, run, "person.thing.get", { id: "1" })).body;
    };
    assert.equal((await read())["outcome"], "success");
    await server.takeBack(tokens.at(-1) ?? "");
    // The old token is refused, a new one is got, and the call goes through.
    assert.equal((await read())["outcome"], "success");
    agent.close();
    await gateway.end();
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    // A refresh token that was used before would have the provider take everything back.
    assert.equal((await read())["outcome"], "success");

    await person.withdraw();
    await server.takeBack(tokens.at(-1) ?? "");
    const before = asked();
    assert.equal((await read())["code"], "token_grant_ended");
    assert.equal((await read())["code"], "credential_disabled");
    assert.equal(asked(), before + 1);
    assert.equal((await listed("person"))["state"], "suspended");
    assert.match(gateway.err(), /person is suspended/);
    const doctor = JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
    const told = doctor.find(({ name }) => name === "suspended");
    assert.match(String(told?.["detail"]), /^person since .*invalid_grant/);
    assert.equal(told?.["mend"], "gw credential login person");
  });

  test("an operator tries it, sees when it was used, and has the provider forget it with the removal", async () => {
    const tried = JSON.parse((await home.must(["credential", "test", "machine-basic", "--json"])).out) as Members;
    assert.deepEqual([tried["label"], tried["scopes"], tried["missing"]], ["machine-basic", ["api:read"], []]);
    const rows = JSON.parse((await home.must(["credential", "list", "--json"])).out) as readonly Members[];
    const rowOf = (label: string): Members => rows.find((row) => row["label"] === label) ?? {};
    assert.equal(rowOf("machine-basic")["token_expires_at"], tried["expires_at"]);
    assert.match(String(rowOf("person")["last_used_at"]), /^20/);
    const uses = JSON.parse((await home.must(["credential", "uses", "--json"])).out) as readonly Members[];
    assert.ok(
      uses.some(({ label, token }) => label === "machine-basic" && token !== null),
      JSON.stringify(uses),
    );
    const unused = uses.filter((row) => row["last_used_at"] === null).map(({ label }) => String(label));
    const said = (await home.must(["credential", "uses"])).out;
    for (const label of unused) assert.match(said, new RegExp(`^${label} {2}not used since the unlock`, "m"));
    const person = await server.agree("person-client", "openid offline_access api:read");
    const client = ["--grant", "refresh_token", "--client-id", "person-client", "--client-auth", "none"];
    const scopes = ["openid", "offline_access", "api:read"].flatMap((one) => ["--scope", one]);
    const { origin } = await startApi();
    await add("leaving", origin, [...client, ...scopes], person.refreshToken);
    await home.trustPack("leaving", pack("leaving", origin, "leaving"));
    const read = async (): Promise<Members> => {
      const run = await openRun(home, agent, ["leaving.thing.get"]);
      return (await call(agent, run, "leaving.thing.get", { id: "1" })).body;
    };
    assert.equal((await read())["outcome"], "success");
    assert.match((await home.must(["credential", "test", "leaving"])).out, /a token until .* good for api:read/);
    const removed = await home.must(["credential", "remove", "leaving"]);
    assert.doesNotMatch(removed.err, /not revoked/);
    assert.equal(server.asked.get("/token/revocation"), 1);
    const unknown = await home.operator(["credential", "test", "leaving"]);
    assert.match(unknown.err, /credential_unknown/);

    // Added anew it is another one, though its version is 1 once more: nothing that was got or kept for the first is used.
    const other = await server.agree("person-client", "openid offline_access api:read");
    await add("leaving", origin, [...client, ...scopes], other.refreshToken);
    const before = asked();
    const again = await read();
    assert.equal(again["outcome"], "success", JSON.stringify(again));
    assert.equal(asked(), before + 1);
  });

  test("what a provider says of a refresh token that was replaced while it answered suspends nothing", async () => {
    const scopes = ["openid", "offline_access", "api:read"];
    const agree = () => server.agree("person-client", scopes.join(" "));
    const client = ["--grant", "refresh_token", "--client-id", "person-client", "--client-auth", "none"];
    const first = await agree();
    const { origin } = await startApi();
    await add("anew", origin, [...client, ...scopes.flatMap((one) => ["--scope", one])], first.refreshToken);
    await home.trustPack("anew", pack("anew", origin, "anew"));
    const read = async (): Promise<Members> => {
      const run = await openRun(home, agent, ["anew.thing.get"]);
      return (await call(agent, run, "anew.thing.get", { id: "1" })).body;
    };
    await first.withdraw();
    const held = server.hold();
    const ended = read();
    await held.reached;
    await home.must(["credential", "rotate", "anew"], { input: (await agree()).refreshToken });
    held.release();
    assert.equal((await ended)["code"], "token_grant_ended");
    assert.equal((await listed("anew"))["state"], "enabled");
    const again = await read();
    assert.equal(again["outcome"], "success", JSON.stringify(again));
    assert.doesNotMatch(gateway.err(), /anew is suspended/);
  });

  test("what would not work is refused when it is added", async () => {
    const common = ["--kind", "oauth2", "--origin", "https://api.acme.example", "--client-id", "basic-client"];
    for (const [more, input, words] of [
      [["--issuer", `${server.issuer}/elsewhere`, "--ca", ca], AS_SECRET, /publishes no metadata/],
      [["--issuer", `${server.issuer}/`, "--ca", ca], AS_SECRET, /speaks for another issuer/],
      [["--issuer", server.issuer], AS_SECRET, /cannot be read/],
      [["--token-endpoint", "http://auth.example/token"], AS_SECRET, /plain https URL/],
      [["--token-endpoint", "https://auth.example/token", "--client-auth", "private_key_jwt"], AS_SECRET, /in PEM/],
      [["--token-endpoint", "https://auth.example/token", "--grant", "password"], AS_SECRET, /--grant is one of/],
      [[], AS_SECRET, /needs --issuer/],
    ] as const) {
      const refused = await home.operator(["credential", "add", "wrong", ...common, ...more], { input });
      assert.equal(refused.code, 1, refused.out);
      assert.match(refused.err, words);
    }
  });
});
