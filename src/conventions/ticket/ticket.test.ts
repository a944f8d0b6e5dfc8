import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { SignJWT } from "jose";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { digestScope, readContext, splitReference, type WorkContext } from "./context.ts";
import { requireCovered } from "./cover.ts";
import { signContext } from "./sign.ts";
import { coversTarget, readTarget } from "./target.ts";
import { bindContext, type IssuerKey, type TicketEvidence, verifyContext } from "./verify.ts";

const ada = generateKeyPairSync("ed25519");
const desk = generateKeyPairSync("ed25519");
const issuers: readonly IssuerKey[] = [
  { kind: "operator", name: "ada", keyId: "k-ada", publicKey: ada.publicKey },
  { kind: "issuer", name: "tickets.example", keyId: "k-desk", publicKey: desk.publicKey },
];
const signer = { keyId: "k-ada", key: ada.privateKey };
const T0 = Date.parse("2030-01-01T00:00:00.000Z");
const run = { id: "run_1", deadlineAt: "2030-01-01T01:00:00.000Z" };
const now = { wallMs: T0, bootMs: 5_000, at: "2030-01-01T00:00:00.000Z" };
const TARGET = "https://api.acme.example/memberships?project_id=p1";

function contextOf(change: Partial<WorkContext> = {}): WorkContext {
  return {
    ticket_ref: "jira:OPS-17",
    allowed_targets: [TARGET],
    allowed_operations: ["acme.membership.apply"],
    expires_at: "2030-01-01T00:30:00.000Z",
    issued_for_run: "run_1",
    issuer: "ada",
    issued_at: "2030-01-01T00:00:00.000Z",
    observed_state: "in progress",
    ...change,
  };
}

function denies(code: Denied["code"]): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Denied, String(error));
    assert.equal(error.code, code);
    return true;
  };
}

const b64 = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A token put together by hand, with a right signature over whatever stands in it. */
function forge(header: unknown, payload: unknown, key: KeyObject = ada.privateKey): string {
  const signed = `${b64(header)}.${b64(payload)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key).toString("base64url")}`;
}

const HEADER = { alg: "EdDSA", kid: "k-ada", typ: "gw-work-context+jwt" };

async function evidenceOf(change: Partial<WorkContext> = {}): Promise<TicketEvidence> {
  return bindContext(await verifyContext(await signContext(contextOf(change), signer), issuers), run, now);
}

describe("a signed work context", () => {
  test("of an operator or a configured issuer verifies", async () => {
    const verified = await verifyContext(await signContext(contextOf(), signer), issuers);
    assert.deepEqual([{ ...verified.context }, verified.issuer.kind], [contextOf(), "operator"]);
    const theirs = await signContext(contextOf({ issuer: "tickets.example" }), {
      keyId: "k-desk",
      key: desk.privateKey,
    });
    assert.equal((await verifyContext(theirs, issuers)).issuer.kind, "issuer");
  });

  test("is made by hand exactly as by the library", async () => {
    const payload = JSON.parse(
      Buffer.from((await signContext(contextOf(), signer)).split(".")[1] ?? "", "base64url").toString(),
    );
    assert.deepEqual({ ...(await verifyContext(forge(HEADER, payload), issuers)).context }, contextOf());
  });

  test("does not verify under another key, another name or an unknown key id", async () => {
    const stranger = generateKeyPairSync("ed25519").privateKey;
    for (const token of [
      await signContext(contextOf(), { keyId: "k-ada", key: stranger }),
      await signContext(contextOf(), { keyId: "k-desk", key: desk.privateKey }),
      await signContext(contextOf({ issuer: "eve" }), signer),
      await signContext(contextOf(), { keyId: "k-nobody", key: ada.privateKey }),
    ]) {
      await assert.rejects(verifyContext(token, issuers), denies("ticket_signature_invalid"));
    }
    await assert.rejects(verifyContext(await signContext(contextOf(), signer), []), denies("ticket_signature_invalid"));
  });

  test("leaves no option of the format open: algorithm, type and header members are fixed", async () => {
    for (const header of [
      { ...HEADER, alg: "none" },
      { ...HEADER, alg: "Ed25519" },
      { ...HEADER, alg: "HS256" },
      { ...HEADER, typ: "JWT" },
      { alg: "EdDSA", kid: "k-ada" },
      { ...HEADER, crit: ["b64"], b64: false },
      { ...HEADER, jwk: ada.publicKey.export({ format: "jwk" }) },
      { ...HEADER, jku: "https://elsewhere.example/keys" },
      `{"alg":"EdDSA","alg":"EdDSA","kid":"k-ada","typ":"gw-work-context+jwt"}`,
      "[]",
      "not json",
    ]) {
      await assert.rejects(verifyContext(forge(header, contextOf()), issuers), denies("ticket_signature_invalid"));
    }
    const jwt = await new SignJWT({ ...contextOf() })
      .setProtectedHeader({ alg: "EdDSA", kid: "k-ada" })
      .sign(ada.privateKey);
    await assert.rejects(verifyContext(jwt, issuers), denies("ticket_signature_invalid"));
  });

  test("with any character changed, cut or added does not verify", async () => {
    const token = await signContext(contextOf(), signer);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 2), fc.constantFrom(...alphabet), async (at, letter) => {
        fc.pre(token[at] !== letter);
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        await assert.rejects(verifyContext(changed, issuers), denies("ticket_signature_invalid"));
        await assert.rejects(verifyContext(token.slice(0, at), issuers), denies("ticket_signature_invalid"));
      }),
      { numRuns: 60 },
    );
    const long = "a".repeat(defaults.ticketContextCharacters);
    for (const text of ["", "..", `${token}.`, `${token}.x`, ` ${token}`, long]) {
      await assert.rejects(verifyContext(text, issuers), denies("ticket_signature_invalid"));
    }
  });

  test("holds exactly the members of a work context, each in its form", async () => {
    const good = contextOf() as unknown as Record<string, unknown>;
    const { expires_at: _, ...without } = good;
    for (const payload of [
      without,
      { ...good, extra: 1 },
      { ...good, ticket_ref: "no-system" },
      { ...good, ticket_ref: "jira:OPS 17" },
      { ...good, allowed_targets: [] },
      { ...good, allowed_targets: ["https://api.acme.example/*"] },
      { ...good, allowed_targets: ["HTTPS://API.acme.example/memberships"] },
      {
        ...good,
        allowed_targets: Array.from(
          { length: defaults.ticketEntries + 1 },
          (_one, index) => `https://a.example/${index}`,
        ),
      },
      { ...good, observed_state: "x".repeat(501) },
      { ...good, allowed_operations: "acme.membership.apply" },
      { ...good, expires_at: "tomorrow" },
      { ...good, expires_at: "2030-13-45T00:00:00Z" },
      { ...good, expires_at: 1_893_456_000 },
      { ...good, issued_at: "2030-13-45T00:00:00Z" },
      { ...good, emergency: { reason: "down", normal_ticket_opened_at: "2030-13-45T00:00:00Z" } },
      { ...good, emergency: { reason: "", normal_ticket_opened_at: null } },
      { ...good, batch: { change_execution_id: "c1", manifest_digest: "md5:1" } },
    ]) {
      await assert.rejects(verifyContext(forge(HEADER, payload), issuers), denies("ticket_invalid"));
      await assert.rejects(signContext(payload as unknown as WorkContext, signer), denies("ticket_invalid"));
    }
    await signContext(contextOf({ observed_state: "x".repeat(500) }), signer);
    const doubled = JSON.stringify(good).replace("{", '{"ticket_ref":"jira:X-1",');
    await assert.rejects(verifyContext(forge(HEADER, doubled), issuers), denies("ticket_signature_invalid"));
  });

  test("is as long as it may be, however well it is signed", async () => {
    const long = (count: number) =>
      signContext(
        contextOf({
          allowed_targets: Array.from({ length: count }, (_, at) => `${TARGET}&z=${at}${"x".repeat(1_900)}`),
        }),
        signer,
      );
    await verifyContext(await long(10), issuers);
    await assert.rejects(verifyContext(await long(20), issuers), denies("ticket_signature_invalid"));
  });

  test("declares an emergency only by an operator's hand", async () => {
    const emergency = { reason: "database down", normal_ticket_opened_at: null };
    await verifyContext(await signContext(contextOf({ emergency }), signer), issuers);
    const theirs = contextOf({ emergency, issuer: "tickets.example" });
    const token = await signContext(theirs, { keyId: "k-desk", key: desk.privateKey });
    await assert.rejects(verifyContext(token, issuers), denies("ticket_invalid"));
  });
});

describe("a context bound to its run", () => {
  test("carries its scope digest and an end in boot time", async () => {
    const evidence = await evidenceOf();
    assert.equal(evidence.scopeDigest, digestScope(contextOf()));
    assert.equal(evidence.expiresBootMs, 5_000 + 30 * 60_000);
  });

  test("is refused for another run, after its end, and when it would outlive the run", async () => {
    await assert.rejects(evidenceOf({ issued_for_run: "run_2" }), denies("ticket_wrong_run"));
    await assert.rejects(evidenceOf({ expires_at: "2029-12-31T23:59:59Z" }), denies("ticket_expired"));
    await assert.rejects(evidenceOf({ expires_at: "2030-01-01T00:00:00Z" }), denies("ticket_expired"));
    await assert.rejects(evidenceOf({ expires_at: "2030-01-01T01:00:00.001Z" }), denies("ticket_outlives_run"));
    await evidenceOf({ expires_at: run.deadlineAt });
    assert.equal((await evidenceOf({ expires_at: "2030-01-01T00:00:00.001Z" })).expiresBootMs, 5_001);
  });

  test("has the digest of its scope: order does not matter, every other difference does", () => {
    const two = contextOf({ allowed_operations: ["a.b", "c.d"] });
    assert.equal(digestScope(two), digestScope({ ...two, allowed_operations: ["c.d", "a.b"] }));
    assert.equal(digestScope(two), digestScope({ ...two, issued_at: "2030-01-01T00:00:09Z" }));
    for (const change of [
      { ticket_ref: "jira:OPS-18" },
      { allowed_targets: ["https://api.acme.example/other"] },
      { allowed_operations: ["a.b"] },
      { expires_at: "2030-01-01T00:31:00.000Z" },
      { issued_for_run: "run_2" },
    ]) {
      assert.notEqual(digestScope(two), digestScope({ ...two, ...change }));
    }
    assert.deepEqual(splitReference("jira:OPS-1"), { system: "jira", reference: "OPS-1" });
  });
});

describe("targets and operations are matched exactly", () => {
  const call = {
    runId: "run_1",
    operation: "acme.membership.apply",
    location: "https://api.acme.example/memberships",
    arguments: { project_id: "p1", role: "viewer" },
  };
  const at = { bootMs: 5_000, isIssuer: () => true };

  test("a covered call gets the evidence", async () => {
    const evidence = await evidenceOf();
    assert.equal(requireCovered(evidence, call, at), evidence);
  });

  test("without a context the call is refused, whatever the agent said", () => {
    assert.throws(() => requireCovered(null, call, at), denies("ticket_required"));
    const claimed = { ...call, arguments: { ...call.arguments, ticket_ref: "jira:OPS-17" } };
    assert.throws(() => requireCovered(null, claimed, at), denies("ticket_required"));
  });

  test("another operation, place or argument is not covered", async () => {
    const evidence = await evidenceOf();
    for (const other of [
      { operation: "acme.membership.apply2" },
      { operation: "acme.membership" },
      { operation: "ACME.membership.apply" },
      { location: "https://api.acme.example/memberships/1" },
      { location: "https://api.acme.example/membership" },
      { location: "https://api.acme.example.evil.example/memberships" },
      { location: "http://api.acme.example/memberships" },
      { arguments: { project_id: "p2" } },
      { arguments: { project_id: "p1 " } },
      { arguments: {} },
      { arguments: { project_id: ["p1"] } },
      { arguments: { project_id: null } },
    ]) {
      assert.throws(() => requireCovered(evidence, { ...call, ...other }, at), denies("ticket_scope_mismatch"));
    }
  });

  test("a refusal names the arguments that the nearest target pins otherwise, and no value", async () => {
    const evidence = await evidenceOf();
    const other = { ...call, arguments: { project_id: "hush", role: "viewer" } };
    assert.throws(
      () => requireCovered(evidence, other, at),
      ({ message }: Error) => message.includes("project_id") && !/hush|role/.test(message),
    );
  });

  test("another run, an end that has come, and an issuer who is gone are told apart", async () => {
    const evidence = await evidenceOf();
    assert.throws(() => requireCovered(evidence, { ...call, runId: "run_2" }, at), denies("ticket_wrong_run"));
    const over = { ...at, bootMs: evidence.expiresBootMs };
    assert.throws(() => requireCovered(evidence, call, over), denies("ticket_expired"));
    assert.equal(requireCovered(evidence, call, { ...at, bootMs: evidence.expiresBootMs - 1 }), evidence);
    const gone = { ...at, isIssuer: () => false };
    assert.throws(() => requireCovered(evidence, call, gone), denies("ticket_signature_invalid"));
  });

  test("a target has one form, however it was typed", () => {
    for (const [typed, form] of [
      ["HTTPS://API.acme.example:443/a/../memberships", "https://api.acme.example/memberships"],
      ["https://api.acme.example/m?b=2&a=1", "https://api.acme.example/m?a=1&b=2"],
      ["https://api.acme.example", "https://api.acme.example/"],
      ["ssh://gw@app-1.acme.example:22", "ssh://gw@app-1.acme.example:22"],
      ["ssh://gw@app-1.acme.example:22/?worker=web 1", "ssh://gw@app-1.acme.example:22?worker=web+1"],
    ] as const) {
      assert.equal(readTarget(typed).text, form);
      assert.equal(readTarget(form).text, form);
    }
  });

  test("what is no exact target is refused when it is read", () => {
    for (const text of [
      "",
      "api.acme.example",
      "ftp://a.example/x",
      "https://user@a.example/",
      "https://a.example/x#y",
      "https://a.example/x*",
      "https://a.example/?a=1&a=2",
      "ssh://a.example:22",
      "ssh://gw@a.example",
      "ssh://gw:pw@a.example:22",
      "ssh://gw@a.example:22/path",
      "ssh://gw@a.example:22/p",
      "https://:pw@a.example/",
    ]) {
      assert.throws(() => readTarget(text), denies("ticket_invalid"), text);
    }
  });

  test("a target covers exactly the calls whose place is equal and whose pinned arguments are", () => {
    const name = fc.constantFrom("a", "b", "c");
    const value = fc.constantFrom("1", "2", "x y", "ü&=");
    const args = fc.dictionary(name, value);
    fc.assert(
      fc.property(fc.constantFrom("m", "n"), args, fc.constantFrom("m", "n"), args, (place, pins, other, given) => {
        const query = new URLSearchParams(pins).toString();
        const target = readTarget(`https://a.example/${place}${query === "" ? "" : `?${query}`}`);
        const expected = place === other && Object.entries(pins).every(([key, pin]) => given[key] === pin);
        assert.equal(coversTarget(target, { location: `https://a.example/${other}`, arguments: given }), expected);
      }),
    );
  });

  test("a context is read back as it was written", () => {
    assert.deepEqual(readContext(contextOf() as never), contextOf());
  });
});
