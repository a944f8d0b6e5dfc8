import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { TlsOptions } from "node:tls";
import { Secret } from "../../../kernel/secret.ts";
import { lend, rehearse, TOKEN } from "./testing/rehearse.ts";
import { response, type ScriptedServer, startScriptedServer } from "./testing/scripted-server.ts";

const HOST = "api.acme.example";
const OK = response("200 OK", {}, "ok");
const folder = mkdtempSync(join(tmpdir(), "gw-tls-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A tool of the machine, not of the project. */
const OPENSSL = "openssl";

function openssl(...args: readonly string[]): boolean {
  return spawnSync(OPENSSL, args, { cwd: folder, stdio: "ignore" }).status === 0;
}

/** Makes an authority, and certificates under it: good, expired, for another name, for an address. */
function makeCertificates(): boolean {
  const made = ["ca", "other"].every(
    (name) =>
      openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`) &&
      openssl(
        "req",
        "-x509",
        "-new",
        "-key",
        `${name}.key`,
        "-subj",
        `/CN=${name}`,
        "-days",
        "2",
        "-out",
        `${name}.pem`,
      ),
  );
  return (
    made && issue("good", `DNS:${HOST}`) && issue("named", "DNS:other.example") && issue("address", "IP:127.0.0.1")
  );
}

function issue(name: string, subject: string, ...lifetime: readonly string[]): boolean {
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${subject}\n`);
  const request = ["req", "-new", "-key", "ca.key", "-subj", `/CN=${HOST}`, "-out", `${name}.csr`];
  const sign = ["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.pem", "-CAkey", "ca.key", "-extfile", `${name}.ext`];
  const days = lifetime.length > 0 ? lifetime : ["-days", "2"];
  return openssl(...request) && openssl(...sign, ...days, "-out", `${name}.pem`);
}

function read(file: string): string {
  return readFileSync(join(folder, file), "utf8");
}

const ready = makeCertificates();

function serve(certificate: string, more: TlsOptions = {}): Promise<ScriptedServer> {
  return startScriptedServer({
    tls: { key: read("ca.key"), cert: read(`${certificate}.pem`), ...more },
    onRequest: (socket) => socket.write(OK),
  });
}

describe("TLS", { skip: ready ? false : "openssl is not installed: no certificates to test with" }, () => {
  const resolve = async (): Promise<readonly string[]> => ["127.0.0.1"];
  const url = (server: ScriptedServer, host = HOST): string => `https://${host}:${server.port}/`;

  test("a certificate of the private authority is accepted for its name, with that name in SNI", async () => {
    const names: string[] = [];
    await using server = await serve("good", {
      SNICallback: (name, callback) => {
        names.push(name);
        callback(null);
      },
    });
    using transport = rehearse({ resolve });
    for (let round = 0; round < 2; round++) {
      const seen = await transport.send({ url: url(server), ca: read("ca.pem"), token: TOKEN });
      assert.equal(seen.kind, "answered");
    }
    assert.deepEqual(names, [HOST]);
    assert.equal(server.accepted.length, 1);
  });

  test("a certificate for an address is accepted at that address", async () => {
    await using server = await serve("address");
    using transport = rehearse();
    const seen = await transport.send({ url: url(server, "127.0.0.1"), ca: read("ca.pem") });
    assert.equal(seen.kind, "answered");
  });

  test("a certificate of an unknown authority, of another authority or for another name is refused, and nothing is sent", async () => {
    for (const [certificate, ca, host] of [
      ["good", null, HOST],
      ["good", read("other.pem"), HOST],
      ["named", read("ca.pem"), HOST],
      ["good", read("ca.pem"), "elsewhere.example"],
      ["address", read("ca.pem"), HOST],
      ["good", read("ca.pem"), "127.0.0.1"],
    ] as const) {
      await using server = await serve(certificate);
      using transport = rehearse({ resolve });
      const seen = await transport.send({ url: url(server, host), ca, token: TOKEN });
      assert.ok(seen.kind === "never_sent", `${certificate} at ${host}`);
      assert.deepEqual([seen.reason, seen.connected], ["tls_failed", true]);
      assert.equal(server.bytesReceived(), 0);
    }
  });

  test("a certificate that has expired is refused", async (context) => {
    const made =
      issue("expired", `DNS:${HOST}`, "-not_before", "20200101000000Z", "-not_after", "20200102000000Z") ||
      issue("expired", `DNS:${HOST}`, "-days", "-1");
    if (!made) return context.skip("this openssl makes no expired certificate");
    await using server = await serve("expired");
    using transport = rehearse({ resolve });
    const seen = await transport.send({ url: url(server), ca: read("ca.pem"), token: TOKEN });
    assert.ok(seen.kind === "never_sent");
    assert.deepEqual([seen.reason, seen.detail], ["tls_failed", "127.0.0.1: CERT_HAS_EXPIRED"]);
    assert.equal(server.bytesReceived(), 0);
  });

  test("an environment that turns verification off changes nothing", async () => {
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      await using server = await serve("good");
      using transport = rehearse({ resolve });
      const seen = await transport.send({ url: url(server), token: TOKEN });
      assert.ok(seen.kind === "never_sent");
      assert.equal(seen.reason, "tls_failed");
    } finally {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    }
  });

  test("a connection made under one authority is not used under another", async () => {
    await using server = await serve("good");
    using transport = rehearse({ resolve });
    assert.equal((await transport.send({ url: url(server), ca: read("ca.pem") })).kind, "answered");
    assert.equal((await transport.send({ url: url(server), ca: read("other.pem") })).kind, "never_sent");
    assert.equal((await transport.send({ url: url(server), ca: null })).kind, "never_sent");
    assert.equal(server.requests.length, 1);
  });

  test("an old version of TLS is refused", async () => {
    await using server = await serve("good", {
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    using transport = rehearse({ resolve });
    const seen = await transport.send({ url: url(server), ca: read("ca.pem") });
    assert.ok(seen.kind === "never_sent");
    assert.equal(seen.reason, "tls_failed");
  });

  test("a server that wants HTTP/2 gets HTTP/1.1", async () => {
    await using server = await serve("good", { ALPNProtocols: ["h2", "http/1.1"] });
    using transport = rehearse({ resolve });
    assert.equal((await transport.send({ url: url(server), ca: read("ca.pem") })).kind, "answered");
    assert.match(server.requests[0]?.head ?? "", /^GET \/ HTTP\/1\.1/);
  });

  test("a server that never answers the handshake, or answers it in clear, is never sent anything", async () => {
    await using mute = await startScriptedServer({});
    await using clear = await startScriptedServer({ onConnection: (socket) => socket.write(OK) });
    await using closing = await startScriptedServer({ onConnection: (socket) => socket.end() });
    using patient = rehearse({ resolve });
    using hasty = rehearse({ resolve, connectMs: 60 });
    const reasons: string[] = [];
    for (const [server, transport] of [
      [mute, hasty],
      [clear, patient],
      [closing, patient],
    ] as const) {
      const seen = await transport.send({ url: url(server), ca: read("ca.pem"), token: TOKEN });
      assert.ok(seen.kind === "never_sent");
      reasons.push(seen.reason);
    }
    assert.deepEqual(reasons, ["connect_timeout", "tls_failed", "tls_failed"]);
    const late = await patient.send({ url: url(mute), ca: read("ca.pem"), timeoutMs: 20 });
    assert.ok(late.kind === "never_sent");
    assert.equal(late.reason, "deadline");
  });

  test("an authority that cannot be read is refused before a connection is opened", async () => {
    await using server = await serve("good");
    using transport = rehearse({ resolve });
    const broken = "-----BEGIN CERTIFICATE-----\nnot base64 !\n-----END CERTIFICATE-----\n";
    for (const ca of [broken, "", "no certificate at all"]) {
      const seen = await transport.send({ url: url(server), ca });
      assert.ok(seen.kind === "never_sent", JSON.stringify(ca));
      assert.deepEqual([seen.reason, seen.connected], ["tls_failed", false], JSON.stringify(ca));
    }
    assert.equal(server.accepted.length, 0);
  });

  test("a client certificate that no connection can be made with is refused by its label, and holds no connection's place", async () => {
    const weak = ["req", "-x509", "-newkey", "rsa:1024", "-nodes", "-keyout", "weak.key", "-subj", "/CN=weak"];
    assert.ok(openssl(...weak, "-days", "2", "-out", "weak.pem"));
    await using server = await serve("good");
    using transport = rehearse({ resolve, connections: 1, connectionsPerOrigin: 1 });
    const shown = (certificate: string, key: string) =>
      transport.send({
        ...{ url: url(server), ca: read("ca.pem") },
        credential: {
          ...lend(TOKEN),
          certificate: { label: "client", id: certificate, certificate, key: Secret.fromText(key) },
        },
      });
    for (const [certificate, key, why] of [
      [read("good.pem"), read("other.key"), "the private key is not the key of the first certificate"],
      [read("good.pem") + read("weak.pem"), read("ca.key"), "the key of an authority in the chain is too short"],
      [read("weak.pem"), read("weak.key"), "the key of the certificate is too short"],
      ["no certificate", read("ca.key"), "there is no certificate in PEM"],
      [read("good.pem"), "no key", "the private key cannot be read"],
    ] as const) {
      const seen = await shown(certificate, key);
      assert.ok(seen.kind === "never_sent", why);
      const detail = `no connection can be made with the certificate client: ${why}`;
      assert.deepEqual([seen.reason, seen.detail, seen.connected], ["credential_refused", detail, false]);
    }
    assert.equal(server.accepted.length, 0);
    assert.equal((await shown(read("good.pem"), read("ca.key"))).kind, "answered");
  });

  test("a response that is cut off inside TLS is silent", async () => {
    await using server = await startScriptedServer({
      tls: { key: read("ca.key"), cert: read("good.pem") },
      onRequest: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
        socket.destroySoon();
      },
    });
    using transport = rehearse({ resolve });
    const seen = await transport.send({ url: url(server), ca: read("ca.pem") });
    assert.ok(seen.kind === "silent");
    assert.equal(seen.reason, "connection_lost");
  });
});
