import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  AS_RESOURCE,
  AS_SECRET,
  type AuthorizationServer,
  startAuthorizationServer,
} from "./support/authorization-server.ts";
import { asUser, type Gateway, Home, type Members, makeFolder, type Started, until } from "./support/home.ts";
import { createVisitor, type Page, type Visitor } from "./support/visitor.ts";

/** The real program and a real authorization server; a browser that keeps cookies and follows where it is sent. */
describe("gw credential login", asUser, () => {
  let home: Home;
  let server: AuthorizationServer;
  let gateway: Gateway;
  let ca: string;
  let browser: Visitor;

  before(async () => {
    home = await new Home(makeFolder()).init();
    ca = join(dirname(home.folder), "authority.pem");
    server = await startAuthorizationServer(ca);
    browser = createVisitor(readFileSync(ca, "utf8"));
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await server?.close();
  });

  const scopes = ["openid", "offline_access", "api:read"].flatMap((one) => ["--scope", one]);
  const origin = ["--origin", "https://api.acme.example"];
  const login = (label: string, more: readonly string[], input = ""): Started =>
    home.start(["credential", "login", label, ...more, "--passphrase-file", home.passphraseFile], { input });
  const fresh = (client: string, more: readonly string[] = []): readonly string[] => [
    ...["--issuer", server.issuer, "--ca", ca, "--client-id", client, ...origin, ...scopes, ...more],
  ];

  /** The address that the command shows to a person. */
  async function shown(started: Started, pattern: RegExp): Promise<RegExpMatchArray> {
    let found: RegExpMatchArray | null = null;
    await until("a person is told where to go", async () => {
      found = started.err().match(pattern);
      if (found === null && started.child.exitCode !== null) assert.fail(started.err());
      return found !== null;
    });
    return found ?? assert.fail();
  }

  const ADDRESS = /^ {2}(https:\S+)$/m;

  async function agree(started: Started): Promise<Page> {
    const [, address = ""] = await shown(started, ADDRESS);
    return browser.visit(address);
  }

  async function listed(label: string): Promise<Members> {
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    return rows.find((row) => row["label"] === label) ?? {};
  }

  test("a person agrees in a browser, and the gateway gets tokens from then on", async () => {
    const started = login("person", fresh("person-client"));
    const page = await agree(started);
    assert.match(page.text, /gw has what it needs/);
    const done = await started.exited;
    assert.equal(done.code, 0, done.err);
    const { exchange, version } = await listed("person");
    assert.equal(version, 1);
    const pinned = exchange as Members;
    assert.equal(pinned["authorization_endpoint"], `${server.issuer}/auth`);
    assert.equal(pinned["device_endpoint"], `${server.issuer}/device/auth`);
    assert.match((await home.must(["credential", "test", "person"])).out, /good for api:read offline_access openid/);
  });

  test("once more, after consent was withdrawn, at the pinned endpoints and without a word about them", async () => {
    const before = server.asked.get("/.well-known/oauth-authorization-server");
    await server.withdrawAll();
    const ended = await home.operator(["credential", "test", "person"]);
    assert.match(ended.err, /token_grant_ended/);
    assert.equal((await listed("person"))["state"], "suspended");
    const started = login("person", []);
    await agree(started);
    assert.equal((await started.exited).code, 0, started.err());
    assert.deepEqual([(await listed("person"))["state"], (await listed("person"))["version"]], ["enabled", 2]);
    assert.equal(server.asked.get("/.well-known/oauth-authorization-server"), before, "nothing is looked up again");
    await home.must(["credential", "test", "person"]);
  });

  test("a code on another device, for one resource; what was not granted is told", async () => {
    const started = login("device", fresh("person-client", ["--device", "--resource", AS_RESOURCE]));
    const [, address = "", code = ""] = await shown(started, /Open (https:\S+) in a browser, and enter the code (\S+)/);
    const entry = await browser.visit(address);
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(entry.text)?.[1] ?? assert.fail(entry.text);
    await browser.submit(address, { xsrf, user_code: code });
    await browser.submit(address, { xsrf, user_code: code, confirm: "yes" });
    const done = await started.exited;
    assert.equal(done.code, 0, done.err);
    assert.match(done.err, /not granted to device: openid offline_access/);
    assert.equal(((await listed("device"))["exchange"] as Members)["resource"], AS_RESOURCE);
    await home.must(["credential", "test", "device"]);
  });

  test("a client with a secret proves itself with it, and keeps it for the next time", async () => {
    const how = ["--client-auth", "client_secret_basic"];
    const first = login("confidential", fresh("person-with-secret", how), AS_SECRET);
    await agree(first);
    assert.equal((await first.exited).code, 0, first.err());
    const again = login("confidential", []);
    await agree(again);
    assert.equal((await again.exited).code, 0, again.err());
    await home.must(["credential", "test", "confidential"]);
  });

  test("what comes back without our state, or with a refusal, seals nothing", async () => {
    const started = login("refused", fresh("person-client"));
    const [, address = ""] = await shown(started, ADDRESS);
    const asked = new URL(address).searchParams;
    const back = asked.get("redirect_uri") ?? "";
    assert.equal(asked.get("code_challenge_method"), "S256");
    const stranger = await browser.visit(`${back}?code=stolen&state=guessed`);
    assert.equal(stranger.status, 400);
    assert.equal((await browser.visit(back.replace("/callback", "/other"))).status, 404);
    await browser.visit(`${back}?error=access_denied&state=${asked.get("state")}`);
    const done = await started.exited;
    assert.equal(done.code, 1);
    assert.match(done.err, /token_refused: The provider says access_denied/);
    assert.deepEqual(await listed("refused"), {});
  });

  test("an answer of another issuer, and a code that the provider never gave, are refused", async () => {
    for (const [more, words] of [
      ["code=made-up-code-of-nobody&iss=https%3A%2F%2Fevil.example", /another issuer/],
      ["code=made-up-code-of-nobody", /token_refused: The token endpoint says invalid_grant/],
    ] as const) {
      const started = login("mixed", fresh("person-client"));
      const [, address = ""] = await shown(started, ADDRESS);
      const asked = new URL(address).searchParams;
      await browser.visit(`${asked.get("redirect_uri")}?${more}&state=${asked.get("state")}`);
      const done = await started.exited;
      assert.equal(done.code, 1);
      assert.match(done.err, words);
    }
    assert.deepEqual(await listed("mixed"), {});
  });

  test("what would not work is refused before a person is sent anywhere", async () => {
    for (const [label, more, words] of [
      ["person", ["--issuer", server.issuer], /is there already and is agreed to once more as it was added/],
      ["person", origin, /leave --origin out/],
      [
        "other",
        ["--token-endpoint", "https://a.example/t", "--client-id", "x", ...origin],
        /no authorization endpoint/,
      ],
      ["other", ["--client-id", "x", ...origin], /needs --issuer/],
    ] as const) {
      const refused = await home.operator(["credential", "login", label, ...more]);
      assert.equal(refused.code, 1, refused.out);
      assert.match(refused.err, words);
    }
    const port = fresh("person-client", ["--redirect-port", "70000"]);
    const misused = await home.operator(["credential", "login", "other", ...port]);
    assert.equal(misused.code, 2, misused.out);
    assert.match(misused.err, /--redirect-port/);
  });

  test("neither a refresh token nor a code stands in the log or on the terminal", async () => {
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    assert.match(exported.out, /"change":"rotated","credential_label":"person"/);
    for (const secret of [AS_SECRET, ...server.refreshTokens]) assert.ok(!exported.out.includes(secret));
    assert.ok(server.refreshTokens.length >= 5);
  });
});
