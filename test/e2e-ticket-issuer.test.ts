import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CompactSign } from "jose";
import { asUser, codeOf, type Gateway, Home, type Members, makeFolder, openPlane, type Plane } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";
import { demoTicketPack } from "./support/ticket-stand.ts";

describe("a configured ticket issuer, from its key to the log, with the real programs", asUser, () => {
  const folder = makeFolder();
  const desk = generateKeyPairSync("ed25519");
  const rawKey = desk.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const keyId = createHash("sha256").update(rawKey).digest("hex").slice(0, 32);
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;
  let deadline: string;

  before(async () => {
    provider = await startProvider();
    home = await new Home(folder).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoTicketPack(provider.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "roles", actions: ["demo.role.apply"] });
    run = idIn(opened, "run_id");
    await home.approve(idIn(opened, "approval_id"));
    const shown = JSON.parse((await home.must(["ticket", "show", run, "--json"])).out) as Members;
    deadline = String(shown["deadline_at"]);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  /** What a ticket service writes, with nothing of gw: the format of docs/tickets.md and a JOSE library. */
  async function signOutside(change: Members = {}, key: KeyObject = desk.privateKey, kid = keyId): Promise<string> {
    const payload = {
      ticket_ref: "tracker:OPS-17",
      allowed_targets: [`${provider.origin}/v1/projects/p1/roles?role=viewer`],
      allowed_operations: ["demo.role.apply"],
      expires_at: deadline,
      issued_for_run: run,
      issuer: "tickets.example",
      issued_at: new Date().toISOString(),
      observed_state: "in progress",
      ...change,
    };
    return new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg: "EdDSA", typ: "gw-work-context+jwt", kid })
      .sign(key);
  }

  async function attach(token: string, to = run) {
    const file = join(folder, "context.jws");
    writeFileSync(file, `${token}\n`);
    return home.operator(["ticket", "attach", to, file]);
  }

  const apply = (role = "viewer", project = "p1") =>
    agent.ask(
      "POST",
      `/v1/runs/${run}/calls`,
      { action: "demo.role.apply", input: { project_id: project, role } },
      { prefer: "wait=20" },
    );

  test("before policy names it, what it signs counts for nothing", async () => {
    assert.deepEqual(JSON.parse((await home.run(["ticket", "issuer", "list", "--json"])).out), []);
    assert.equal(codeOf(await attach(await signOutside())), "ticket_signature_invalid");
  });

  test("an issuer's key is signed into policy by an operator, and listed", async () => {
    const file = join(folder, "issuer.pem");
    writeFileSync(file, desk.publicKey.export({ format: "pem", type: "spki" }));
    const added = await home.must(["ticket", "issuer", "add", "tickets.example", "--key", file, "--json"]);
    assert.deepEqual(JSON.parse(added.out), { issuer: "tickets.example", key_id: keyId });
    const listed = JSON.parse((await home.run(["ticket", "issuer", "list", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      listed.map(({ issuer, key_id }) => [issuer, key_id]),
      [["tickets.example", keyId]],
    );
  });

  test("a name or key twice, an operator's name, a private key or nobody's passphrase adds no issuer", async () => {
    const other = generateKeyPairSync("ed25519");
    const line = other.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64url");
    const attempts: readonly (readonly [string, string])[] = [
      ["tickets.example", line],
      ["another.example", rawKey.toString("base64url")],
      ["ada", line],
      ["bad name", line],
      ["another.example", other.privateKey.export({ format: "pem", type: "pkcs8" }).toString()],
    ];
    for (const [name, key] of attempts) {
      const done = await home.operator(["ticket", "issuer", "add", name, "--key", key]);
      assert.deepEqual([done.code, codeOf(done)], [1, "ticket_issuer_invalid"], name);
    }
    const wrong = join(folder, "wrong");
    writeFileSync(wrong, "not the passphrase\n", { mode: 0o600 });
    const done = await home.run(["ticket", "issuer", "add", "x", "--key", line, "--passphrase-file", wrong]);
    assert.deepEqual([done.code, codeOf(done)], [1, "passphrase_wrong"]);
    assert.equal((JSON.parse((await home.run(["ticket", "issuer", "list", "--json"])).out) as unknown[]).length, 1);
  });

  test("a context that the issuer signed outside of gw opens exactly what it covers", async () => {
    const attached = await attach(await signOutside());
    assert.equal(attached.code, 0, attached.err);
    assert.equal((await apply()).body["outcome"], "success");
    assert.equal((await apply("owner")).body["code"], "ticket_scope_mismatch");
    assert.equal((await apply("viewer", "p2")).body["code"], "ticket_scope_mismatch");
    assert.equal(provider.received.length, 1);
    const [intent] = await home.events("action.intent");
    assert.ok(intent !== undefined);
    assert.equal((intent["ticket"] as Members)["reference"], "OPS-17");
    // Nobody of flesh stands behind it: the record does not invent a requester.
    assert.equal((intent["actor"] as Members)["human_requester"], null);
  });

  test("another run, the past, another's name and an emergency are not the issuer's to sign", async () => {
    const stranger = generateKeyPairSync("ed25519").privateKey;
    const cases: readonly (readonly [string, string])[] = [
      [await signOutside({ issued_for_run: "run_00000000000000000000000000" }), "ticket_wrong_run"],
      [await signOutside({ expires_at: new Date(Date.now() - 1000).toISOString() }), "ticket_expired"],
      [await signOutside({ expires_at: "2099-01-01T00:00:00.000Z" }), "ticket_outlives_run"],
      [await signOutside({ issuer: "ada" }), "ticket_signature_invalid"],
      [await signOutside({}, stranger), "ticket_signature_invalid"],
      [await signOutside({ emergency: { reason: "now", normal_ticket_opened_at: null } }), "ticket_invalid"],
      [await signOutside({ ticket_ref: "tracker:\u001b[2JOPS" }), "ticket_invalid"],
    ];
    for (const [token, code] of cases) assert.equal(codeOf(await attach(token)), code);
  });

  test("after its removal what it signed counts no longer, attached or not", async () => {
    const token = await signOutside();
    await home.must(["ticket", "issuer", "remove", "tickets.example"]);
    assert.equal((await apply()).body["code"], "ticket_signature_invalid");
    const shown = JSON.parse((await home.must(["ticket", "show", run, "--json"])).out) as Members;
    assert.equal(((shown["ticket"] as Members)["lapsed"] as Members)["code"], "ticket_signature_invalid");
    assert.match((await home.must(["ticket", "show", run])).out, /ticket_signature_invalid/);
    assert.equal(codeOf(await attach(token)), "ticket_signature_invalid");
    assert.equal(codeOf(await home.operator(["ticket", "issuer", "remove", "tickets.example"])), "not_found");
    assert.equal(provider.received.length, 1);
  });

  test("an issuer written into policy.json behind our back fails the signature, and nothing counts", async () => {
    const twin = home.copy();
    const path = join(twin.folder, "policy.json");
    const policy = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    policy["ticket_issuers"] = [{ issuer: "tickets.example", public_key: rawKey.toString("base64url") }];
    // The very form that gw writes, so that only the signature can tell.
    writeFileSync(path, `${JSON.stringify(sorted(policy), null, 2)}\n`);
    const listed = await twin.run(["ticket", "issuer", "list"]);
    assert.deepEqual([listed.code, codeOf(listed)], [1, "policy_tampered"]);
    const removed = await twin.operator(["ticket", "issuer", "remove", "tickets.example"]);
    assert.equal(codeOf(removed), "policy_tampered");
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
