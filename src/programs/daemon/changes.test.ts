import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeEvent } from "../../audit/codec.ts";
import type { NewEvent } from "../../audit/event.ts";
import { createEnvelope } from "../../gateway/record/record.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import { createIds } from "../../kernel/ids.ts";
import type { KeyId } from "../../vault/keys.ts";
import { type Policy, type PolicyContent, SAFE_SETTINGS } from "../../vault/policy/policy.ts";
import type { CredentialEntry, OperatorSlot, Vault } from "../../vault/vault.ts";
import { changesBetween } from "./changes.ts";
import type { Trust } from "./trust.ts";

let serial = 0;
const clock = { wallMs: () => 1_800_000_000_000, bootMs: () => 0, bootId: () => "boot" };
const random = { bytes: (count: number) => Buffer.alloc(count, serial++) };
const envelope = createEnvelope(createIds(clock, random), clock);
const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}` as Digest;
const ALICE = "key_alice" as KeyId;
const BOB = "key_bob" as KeyId;

function credential(label: string, change: Partial<CredentialEntry> = {}): CredentialEntry {
  return {
    label,
    kind: "bearer",
    version: 1,
    boundTo: ["https://api.acme.example"],
    eachUse: false,
    disabled: false,
    headerName: null,
    publicKey: null,
    exchange: null,
    certificate: null,
    withCertificate: null,
    keyId: null,
    source: null,
    lenders: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    rotatedAt: "2026-01-01T00:00:00.000Z",
    retired: [],
    sealed: Buffer.from(`sealed ${serial++}`),
    ...change,
  };
}

function slot(name: string, keyId: KeyId, change: Partial<OperatorSlot> = {}): OperatorSlot {
  const kdf = { memoryKib: 65_536, passes: 3, lanes: 4, salt: Buffer.alloc(16, 1) };
  return {
    name,
    keyId,
    kdf,
    compartment: Buffer.from(name),
    serviceKey: Buffer.from(`wrapped ${serial++}`),
    ...change,
  };
}

function vault(change: Partial<Vault> = {}): Vault {
  const operators = [{ name: "alice", keyId: ALICE }];
  const slots = [slot("alice", ALICE)];
  const base = { generation: 1, signedBy: ALICE, credentials: [credential("acme")], operators, slots };
  return { ...base, manifestHash: digest("a"), ...change } as unknown as Vault;
}

function policy(change: Partial<PolicyContent & { digest: Digest }> = {}): Policy {
  const empty = {
    packs: [],
    eachUse: [],
    callers: [],
    auditRecipients: [],
    ticketIssuers: [],
    sigstore: null,
    imaKeys: [],
    grants: [],
    ticketServices: [],
    places: [],
    webhooks: [],
    hub: null,
  };
  return { version: 1, signedBy: ALICE, ...empty, settings: SAFE_SETTINGS, digest: digest("1"), ...change } as never;
}

function trust(change: Partial<Trust> = {}): Trust {
  return { vault: vault(), policy: policy(), trouble: null, ...change };
}

/** Every event must also be one that the log takes. */
function tell(before: Trust, next: Trust): readonly Record<string, unknown>[] {
  const events = changesBetween(before, next, envelope);
  for (const event of events) encodeEvent(event);
  return events.map(({ event_id: _, occurred_at: __, ...rest }: NewEvent) => rest);
}

function vaultAfter(change: Partial<Vault>): readonly Record<string, unknown>[] {
  return tell(trust(), trust({ vault: vault({ generation: 2, manifestHash: digest("b"), ...change }) }));
}

test("files that say the same are no change", () => {
  assert.deepEqual(tell(trust(), trust()), []);
});

test("a credential that was added, rotated, disabled, enabled, marked or removed is named with what happened to it", () => {
  const acme = credential("acme");
  const cases: readonly [string, readonly CredentialEntry[], string, string][] = [
    ["added", [acme, credential("other")], "added", "other"],
    ["rotated", [{ ...acme, version: 2 }], "rotated", "acme"],
    ["disabled", [{ ...acme, disabled: true }], "disabled", "acme"],
    ["marked", [{ ...acme, eachUse: true }], "marked", "acme"],
    ["removed", [], "removed", "acme"],
  ];
  for (const [name, credentials, change, label] of cases) {
    assert.deepEqual(
      vaultAfter({ credentials }),
      [
        {
          event_type: "vault_changed",
          vault_generation: 2,
          vault_hash: digest("b"),
          change,
          credential_label: label,
          by: "alice",
        },
      ],
      name,
    );
  }
  const elsewhere = { ...acme, boundTo: ["https://other.example"] };
  for (const [entry, change] of [
    [elsewhere, "bound"],
    [{ ...elsewhere, version: 2 }, "rotated"],
  ] as const) {
    const [told] = vaultAfter({ credentials: [entry] });
    assert.deepEqual([told?.["change"], told?.["bound_to"]], [change, elsewhere.boundTo]);
  }
  const stopped = trust({ vault: vault({ credentials: [{ ...acme, disabled: true }] }) });
  const again = trust({ vault: vault({ credentials: [acme], manifestHash: digest("b") }) });
  assert.deepEqual(
    tell(stopped, again).map(({ change }) => change),
    ["enabled"],
  );
});

test("an operator who comes or goes, and a new passphrase, are told by name", () => {
  const both = [
    { name: "alice", keyId: ALICE },
    { name: "bob", keyId: BOB },
  ] as unknown as Vault["operators"];
  const slots = [slot("alice", ALICE), slot("bob", BOB)];
  assert.deepEqual(vaultAfter({ operators: both, slots }), [
    { event_type: "operator_added", operator: "bob", operator_key_id: BOB, by: "alice" },
  ]);
  const before = trust({ vault: vault({ operators: both, slots }) });
  const after = trust({ vault: vault({ manifestHash: digest("b") }) });
  assert.deepEqual(tell(before, after), [
    { event_type: "operator_removed", operator: "bob", operator_key_id: BOB, by: "alice" },
  ]);
  const [changed] = vaultAfter({ slots: [slot("alice", ALICE, { compartment: Buffer.from("new") })] });
  assert.equal(changed?.["change"], "passphrase");
  assert.equal(changed?.["operator"], "alice");
});

test("secrets that were only sealed anew are not called rotated", () => {
  const events = vaultAfter({ credentials: [credential("acme")], slots: [slot("alice", ALICE)] });
  assert.deepEqual(
    events.map(({ change }) => change),
    ["resealed"],
  );
});

test("a pack, a caller, a reader of the log and a lowered setting are each told", () => {
  const next = policy({
    version: 2,
    digest: digest("2"),
    packs: [{ pack: "acme", digest: digest("c") }],
    callers: [{ imageDigest: digest("d"), authority: "Acme tools", enrolledAt: "2026-01-01T00:00:00.000Z" }],
    auditRecipients: [{ name: "auditor", keyId: BOB, publicKey: Buffer.alloc(32) }],
    ticketIssuers: [{ issuer: "tracker", publicKey: Buffer.alloc(32) }],
    eachUse: ["acme"],
    settings: { ...SAFE_SETTINGS, headlessUnlock: true },
  });
  const events = tell(trust(), trust({ policy: next }));
  assert.deepEqual(
    events.map(({ event_type }) => event_type),
    ["policy_changed", "pack_trusted", "caller_enrolled", "recipients_changed"],
  );
  assert.deepEqual(events[0]?.["changes"], [
    "each-use mark acme added",
    "ticket issuer tracker added",
    "headlessUnlock is true",
  ]);
  const back = tell(trust({ policy: next }), trust({ policy: policy({ version: 3, digest: digest("3") }) }));
  assert.deepEqual(
    back.map(({ event_type }) => event_type),
    ["policy_changed", "pack_removed", "caller_removed", "recipients_changed"],
  );
});

test("a policy that does not verify is told as refused, beside what changed in the vault", () => {
  const trouble = new Denied("policy_tampered", "the signature does not hold");
  const next = trust({ vault: vault({ manifestHash: digest("b"), credentials: [] }), policy: null, trouble });
  assert.deepEqual(
    tell(trust(), next).map(({ event_type }) => event_type),
    ["vault_changed", "policy_refused"],
  );
});
