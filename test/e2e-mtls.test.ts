import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createAuthority } from "../src/conventions/box/authority.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./support/authorization-server.ts";
import { makeClientCertificate } from "./support/client-certificate.ts";
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
  SECRET,
} from "./support/home.ts";

const DAY_MS = 86_400_000;

interface Seen {
  readonly authorized: boolean;
  readonly subject: string | undefined;
  readonly authorization: string | undefined;
}

/** The real programs against real TLS servers that ask who connects. */
describe("a client certificate", asUser, () => {
  const folder = makeFolder();
  const own = makeClientCertificate("gw test client", 90 * DAY_MS);
  const next = makeClientCertificate("gw next client", DAY_MS);
  const ca = join(folder, "api.pem");
  const asCa = join(folder, "authority.pem");
  const apis: Server[] = [];
  let seen: Seen | null = null;
  let connections = 0;
  let home: Home;
  let server: AuthorizationServer;
  let gateway: Gateway;
  let agent: Plane;

  /** One origin a pack. */
  async function startApi(authority: ReturnType<typeof createAuthority>): Promise<string> {
    const identity = { key: authority.leafKey, cert: authority.chainFor("localhost") };
    const known = [own.certificate, next.certificate];
    const api = createServer(
      { ...identity, requestCert: true, rejectUnauthorized: false, ca: known },
      (request, response) => {
        const socket = request.socket as TLSSocket;
        const { authorization } = request.headers;
        seen = { authorized: socket.authorized, subject: socket.getPeerX509Certificate()?.subject, authorization };
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      },
    );
    api.on("secureConnection", () => connections++);
    apis.push(api);
    await new Promise<void>((resolve) => api.listen(0, "localhost", resolve));
    return `https://localhost:${(api.address() as AddressInfo).port}`;
  }

  function pack(name: string, origin: string, scheme: string): string {
    return `
format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  credential: ${name}
  auth: { scheme: ${scheme} }
  network: private
  ca: ${ca}
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;
  }

  before(async () => {
    const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
    writeFileSync(ca, authority.certificate);
    home = await new Home(folder).init();
    server = await startAuthorizationServer(asCa, own.certificate);
    const [alone, token, oauth] = [await startApi(authority), await startApi(authority), await startApi(authority)];
    const origins = [alone, token, oauth, server.issuer].flatMap((origin) => ["--origin", origin]);
    await home.must(["credential", "add", "cert", "--kind", "mtls", ...origins], { input: own.certificate + own.key });
    await home.must(
      ["credential", "add", "token", "--kind", "bearer", "--origin", token, "--with-certificate", "cert"],
      { input: SECRET },
    );
    const exchange = [
      "--issuer",
      server.issuer,
      "--ca",
      asCa,
      "--client-id",
      "certificate-client",
      "--scope",
      "api:read",
    ];
    await home.must([
      ...["credential", "add", "oauth", "--kind", "oauth2", "--origin", oauth, ...exchange],
      ...["--client-auth", "tls_client_auth", "--with-certificate", "cert"],
    ]);
    await home.trustPack("cert", pack("cert", alone, "mtls"));
    await home.trustPack("token", pack("token", token, "bearer"));
    await home.trustPack("oauth", pack("oauth", oauth, "oauth2"));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    for (const api of apis) {
      api.close();
      api.closeAllConnections();
    }
    await server?.close();
  });

  async function read(label: string): Promise<Members> {
    seen = null;
    const run = await openRun(home, agent, [`${label}.thing.get`]);
    return (await call(agent, run, `${label}.thing.get`, { id: "1" })).body;
  }

  test("says who connects, and no header does", async () => {
    const done = await read("cert");
    assert.equal(done["outcome"], "success", JSON.stringify(done));
    assert.deepEqual(seen, { authorized: true, subject: "CN=gw test client", authorization: undefined });
  });

  test("goes along with a token", async () => {
    assert.equal((await read("token"))["outcome"], "success");
    assert.deepEqual(seen, { authorized: true, subject: "CN=gw test client", authorization: `Bearer ${SECRET}` });
  });

  test("proves an OAuth client, whose token is bound to it, and goes to the API with that token", async () => {
    assert.equal((await read("oauth"))["outcome"], "success");
    const { authorized, authorization = "" } = seen ?? assert.fail();
    assert.equal(authorized, true);
    assert.ok(await server.knows(authorization.slice("Bearer ".length)));
    assert.match((await home.must(["credential", "test", "oauth"])).out, /good for api:read/);
  });

  test("rotated, it is shown on a connection of its own; one that ends soon is told by gw doctor", async () => {
    const before = connections;
    await home.must(["credential", "rotate", "cert"], { input: next.certificate + next.key });
    assert.equal((await read("token"))["outcome"], "success");
    assert.equal(seen?.subject, "CN=gw next client");
    assert.ok(connections > before);
    const doctor = JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
    assert.match(String(doctor.find(({ name }) => name === "certificate")?.["detail"]), /^cert ends at 20/);
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    assert.match(String(rows.find(({ label }) => label === "cert")?.["expires_at"]), /^20/);
    assert.equal(rows.find(({ label }) => label === "token")?.["with_certificate"], "cert");
  });

  test("what would not work is refused", async () => {
    const old = makeClientCertificate("gw old client", -60_000);
    const weak = makeClientCertificate("gw weak authority", DAY_MS, 1_024);
    const add = ["credential", "add", "wrong", "--kind", "mtls", "--origin", "https://api.acme.example"];
    for (const [command, input, words] of [
      [add, own.certificate + next.key, /not the key of the first certificate/],
      [add, own.certificate, /private key cannot be read/],
      [add, own.key, /1 to 8 certificates/],
      [add, old.certificate + old.key, /The certificate ended at/],
      [add, own.certificate + weak.certificate + own.key, /the key of an authority in the chain is too short/],
      [["credential", "rotate", "cert"], own.certificate + weak.certificate + own.key, /No connection can be made/],
    ] as const) {
      const refused = await home.operator([...command], { input });
      assert.equal(refused.code, 1, refused.out);
      assert.match(refused.err, words);
    }
    // Of these nobody needs a secret to see it.
    for (const [command, words] of [
      [[...add.slice(0, 4), "bearer", ...add.slice(5), "--with-certificate", "token"], /of kind mtls/],
      [["credential", "remove", "cert"], /remove that one first/],
      [["credential", "rotate", "oauth"], /none to rotate: gw credential rotate cert/],
    ] as const) {
      const refused = await home.run(command);
      assert.equal(refused.code, 1, refused.out);
      assert.match(refused.err, words);
    }
  });

  test("its key is nowhere in the log", async () => {
    const exported = await home.must(["audit", "export", "--log", join(dirname(home.folder), "home", "audit")]);
    for (const { key } of [own, next]) assert.ok(!exported.out.includes(key.split("\n")[1] ?? ""));
  });
});
