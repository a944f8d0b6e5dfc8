import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from "jose";
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
  until,
} from "./support/home.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";
import { createVisitor } from "./support/visitor.ts";

/** A resource server as RFC 9449 has it: it looks at every part of a proof, and hands out nonces of its own. */
function protect(api: TestProvider, server: AuthorizationServer): { next: string; readonly seen: Set<string> } {
  const state = { next: "nonce-1", seen: new Set<string>() };
  api.answer(async (request, response) => {
    const trouble = await proofTrouble(request, api.origin, server, state);
    const headers = { "content-type": "application/json", "dpop-nonce": state.next };
    if (trouble === null) response.writeHead(200, headers).end('{"ok":true}');
    else {
      const challenge = `DPoP error="${trouble}", algs="ES256"`;
      response.writeHead(401, { ...headers, "www-authenticate": challenge }).end(JSON.stringify({ trouble }));
    }
  });
  return state;
}

async function proofTrouble(
  { method, url, headers }: Received,
  origin: string,
  server: AuthorizationServer,
  { next, seen }: { readonly next: string; readonly seen: Set<string> },
): Promise<string | null> {
  const token = headers.authorization?.startsWith("DPoP ") ? headers.authorization.slice("DPoP ".length) : "";
  const proof = headers["dpop"];
  if (typeof proof !== "string") return "invalid_dpop_proof";
  const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, { typ: "dpop+jwt", algorithms: ["ES256"] });
  const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk ?? {});
  if ((await server.boundTo(token)) !== thumbprint) return "invalid_token";
  if ("d" in (protectedHeader.jwk ?? {})) return "private_key_shown";
  const { htm, htu, ath, jti = "", iat = 0, nonce } = payload;
  const fresh = Math.abs(Date.now() / 1_000 - iat) < 60 && !seen.has(jti);
  seen.add(jti);
  const here = `${origin}${url.split("?")[0]}`;
  if (htm !== method || htu !== here || !fresh) return "invalid_dpop_proof";
  if (ath !== createHash("sha256").update(token).digest("base64url")) return "invalid_dpop_proof";
  return nonce === next ? null : "use_dpop_nonce";
}

function pack(name: string, origin: string): string {
  return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: ${name}
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
      part: { in: query, type: string, maxLength: 64, optional: true }
  thing.create:
    effect: write
    request: { method: POST, path: /things, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
`;
}

describe("tokens that are bound to a key", asUser, () => {
  let home: Home;
  let server: AuthorizationServer;
  let api: TestProvider;
  let nonces: ReturnType<typeof protect>;
  let gateway: Gateway;
  let agent: Plane;
  let ca: string;

  before(async () => {
    home = await new Home(makeFolder()).init();
    ca = join(dirname(home.folder), "authority.pem");
    server = await startAuthorizationServer(ca);
    api = await startProvider();
    nonces = protect(api, server);
    const about = ["--kind", "oauth2", "--issuer", server.issuer, "--ca", ca, "--origin", api.origin, "--dpop"];
    const client = ["--client-id", "basic-client", "--scope", "api:read"];
    await home.must(["credential", "add", "bound", ...about, ...client], { input: AS_SECRET });
    await home.trustPack("bound", pack("bound", api.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await api?.close();
    await server?.close();
  });

  const open = () => openRun(home, agent, ["bound.thing.get", "bound.thing.create"], { attempts: 6, side_effects: 4 });

  test("token endpoint and API ask for a nonce once each, and every request has a proof of its own", async () => {
    const run = await open();
    const read = await call(agent, run, "bound.thing.get", { id: "1", part: "a b" });
    assert.equal(read.body["outcome"], "success", read.text);
    assert.equal(server.asked.get("/token"), 2, "the nonce came with the first answer");
    assert.equal(api.received.length, 2);
    const write = await call(agent, run, "bound.thing.create", { name: "x" });
    assert.equal(write.body["outcome"], "success", write.text);
    assert.equal(api.received.length, 3, "the nonce is known by now");
    nonces.next = "nonce-2";
    const again = await call(agent, run, "bound.thing.create", { name: "y" });
    assert.equal(again.body["outcome"], "success", again.text);
    assert.equal(api.received.length, 5, "refused for its nonce a write did nothing: it goes once more");
    assert.equal(nonces.seen.size, 5);
  });

  test("an API that never has enough is asked once more for the nonce, once more with a newer token, and no more", async () => {
    const before = api.received.length;
    api.answer((_request, response) => {
      const challenge = 'DPoP error="use_dpop_nonce"';
      response.writeHead(401, { "www-authenticate": challenge, "dpop-nonce": `n-${api.received.length}` }).end();
    });
    const run = await open();
    const refused = await call(agent, run, "bound.thing.create", { name: "z" });
    // The second refusal is of a token that is older than the call, so that one newer token is tried as well.
    assert.equal(refused.body["outcome"], "error", refused.text);
    assert.equal(api.received.length, before + 3);
    nonces = protect(api, server);
  });

  test("the key is made here and shown nowhere; the list says that tokens are bound", async () => {
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    const { exchange } = rows[0] ?? {};
    assert.equal((exchange as Members)["dpop"], true);
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    assert.match(exported.out, /use_dpop_nonce/);
    for (const { headers } of api.received) assert.ok(!exported.out.includes(String(headers["dpop"])));
    assert.equal((await home.verify()).code, 0);
  });

  test("a person agrees with the key that the refresh token stays bound to, also across a restart and a login once more", async () => {
    const other = await startProvider();
    const state = protect(other, server);
    const browser = createVisitor(readFileSync(ca, "utf8"));
    const scopes = ["openid", "offline_access", "api:read"].flatMap((one) => ["--scope", one]);
    const about = ["--issuer", server.issuer, "--ca", ca, "--client-id", "person-client", "--origin", other.origin];
    const login = async (more: readonly string[]): Promise<void> => {
      const started = home.start(["credential", "login", "person", ...more, "--passphrase-file", home.passphraseFile], {
        input: "",
      });
      await until("a person is told where to go", async () => /^ {2}https:/m.test(started.err()));
      const address = /^ {2}(https:\S+)$/m.exec(started.err())?.[1] ?? "";
      assert.match(address, /dpop_jkt=/);
      await browser.visit(address);
      assert.equal((await started.exited).code, 0, started.err());
    };
    try {
      await login([...about, ...scopes, "--dpop"]);
      await home.trustPack("person", pack("person", other.origin));
      const read = async (): Promise<void> => {
        const run = await openRun(home, agent, ["person.thing.get"], { attempts: 3 });
        const got = await call(agent, run, "person.thing.get", { id: "1" });
        assert.equal(got.body["outcome"], "success", got.text);
      };
      await read();
      agent.close();
      await gateway.end();
      gateway = await home.up();
      agent = openPlane(home.agentSocket);
      await read();
      await login([]);
      await read();
      assert.ok(state.seen.size >= 3);
    } finally {
      await other.close();
    }
  });
});
