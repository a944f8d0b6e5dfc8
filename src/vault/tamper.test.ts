import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalJson, type Digest } from "../kernel/canonical-json.ts";
import { defaults } from "../kernel/defaults.ts";
import { anchorOf, checkAnchor } from "./anchor.ts";
import { addCredential, rotateCredential, switchCredential } from "./credential.ts";
import { sealEntry } from "./entry.ts";
import { checkHighWater, higher } from "./high-water.ts";
import { openService } from "./lend.ts";
import { suspendCredential } from "./notes.ts";
import { unlockOperator } from "./operator.ts";
import { addOperator, removeOperator } from "./operator-change.ts";
import type { Policy } from "./policy/policy.ts";
import { macOver, serviceSubkey } from "./service-key.ts";
import {
  bearer,
  type Editable,
  edited,
  founding,
  ORIGIN,
  PASSPHRASE,
  ports,
  refuses,
  refusesLater,
  secret,
  withTokens,
} from "./testing/fixture.ts";
import type { CredentialEntry, Vault } from "./vault.ts";
import { parseVault, vaultPage } from "./verify.ts";

const start = await founding();
const { operator } = start;
const vault = await withTokens(start, { acme: "token-of-acme-1", zeta: "token-of-zeta-1" });
const page = vaultPage(vault);

/** The strongest writer that is no operator: it knows the service key and makes the MAC fit again. */
function asGateway(text: string, change: (value: Editable) => void): string {
  return edited(text, (value) => {
    change(value);
    const key = serviceSubkey(operator.serviceKey, vault.vaultId, "manifest");
    const mac = macOver(key, canonicalJson({ manifest_hash: vault.manifestHash, notes: value.notes as never }));
    value["service_mac"] = mac.toString("base64url");
  });
}

const credential = (value: Editable, label: string) => {
  const found = value.credentials.find((entry) => entry["label"] === label);
  assert.ok(found);
  return found;
};

const attacks: Readonly<Record<string, (value: Editable) => void>> = {
  "binds a credential to another origin": (value) => {
    credential(value, "acme")["bound_to"] = ["https://evil.example"];
  },
  "adds an origin to a credential": (value) => {
    credential(value, "acme")["bound_to"] = [ORIGIN, "https://evil.example"];
  },
  "takes an each-use mark away or sets one": (value) => {
    credential(value, "acme")["each_use"] = true;
  },
  "changes the kind": (value) => {
    credential(value, "acme")["kind"] = "basic";
  },
  "says another version": (value) => {
    credential(value, "acme")["version"] = 2;
  },
  "enables or disables": (value) => {
    credential(value, "acme")["disabled"] = true;
  },
  "swaps the sealed parts of two credentials": (value) => {
    const [one, two] = [credential(value, "acme"), credential(value, "zeta")];
    [one["sealed"], two["sealed"]] = [two["sealed"], one["sealed"]];
  },
  "swaps the labels of two credentials": (value) => {
    const [one, two] = [credential(value, "acme"), credential(value, "zeta")];
    [one["label"], two["label"]] = [two["label"], one["label"]];
    value.credentials.reverse();
  },
  "drops a credential": (value) => {
    value.credentials.pop();
  },
  "seals a secret of its own": (value) => {
    const entry = vault.credentials.find(({ label }) => label === "acme") as CredentialEntry;
    const key = serviceSubkey(operator.serviceKey, vault.vaultId, "credentials");
    credential(value, "acme")["sealed"] = sealEntry(
      { key, operators: [] },
      vault.vaultId,
      entry,
      secret("planted-token"),
      ports.random,
    ).toString("base64url");
  },
  "asks for weaker derivation": (value) => {
    for (const slot of value.slots) slot.kdf["memory_kib"] = 8;
  },
  "asks for all memory there is": (value) => {
    for (const slot of value.slots) slot.kdf["memory_kib"] = 2 ** 40;
  },
  "changes a salt": (value) => {
    for (const slot of value.slots) slot.kdf["salt"] = Buffer.alloc(16).toString("base64url");
  },
  "wraps a service key of its own": (value) => {
    for (const slot of value.slots) slot["service_key"] = Buffer.alloc(80).toString("base64url");
  },
  "renames an operator": (value) => {
    for (const slot of value.slots) slot["name"] = "eve";
  },
  "raises the generation": (value) => {
    value.generation += 1;
  },
  "names another signer": (value) => {
    value["signed_by"] = "0".repeat(32);
  },
  "replaces the state root": (value) => {
    value["state_root"] = Buffer.alloc(112).toString("base64url");
  },
};
for (const [what, change] of Object.entries(attacks)) {
  test(`a vault.json in which someone with the service key ${what} is refused`, () => {
    const changed = asGateway(page, change);
    assert.notEqual(changed, page);
    refuses(() => parseVault(changed), "vault_tampered");
  });
}

test("an old entry put back into a newer vault is refused", async () => {
  const newer = await rotateCredential(vault, operator, { label: "acme", secret: secret("token-of-acme-2") }, ports);
  const old = JSON.parse(page) as Editable;
  const planted = edited(vaultPage(newer), (value) => {
    Object.assign(credential(value, "acme"), credential(old, "acme"));
  });
  refuses(() => parseVault(planted), "vault_tampered");
});

test("an old vault.json verifies by itself and is found against what was remembered", async () => {
  const newer = switchCredential(vault, operator, "acme", true, ports);
  const remembered = anchorOf(newer);
  const old = parseVault(page);
  refuses(() => checkAnchor(remembered, old), "vault_rolled_back");
  refuses(
    () => checkAnchor({ generation: newer.generation, manifestHash: newer.manifestHash }, old),
    "vault_rolled_back",
  );
  assert.equal(checkAnchor(remembered, newer), "same");
  assert.equal(checkAnchor(anchorOf(old), newer), "newer");
  // Without a memory nothing tells an old file from a new one: it is what an operator signed.
  assert.equal(checkAnchor(anchorOf(old), old), "same");
});

test("two vaults of one generation are not one vault", () => {
  const left = switchCredential(vault, operator, "acme", true, ports);
  const right = switchCredential(vault, operator, "zeta", true, ports);
  refuses(() => checkAnchor(anchorOf(left), right), "vault_forked");
});

test("a removed operator cannot continue the vault from before the removal", async () => {
  const bobPhrase = secret("bobs-own-passphrase-1");
  const withBob = await addOperator(vault, operator, { operatorName: "bob", passphrase: bobPhrase }, ports);
  const bob = await unlockOperator(withBob, "bob", bobPhrase);
  const removed = await removeOperator(withBob, operator, "bob", ports);
  const fork = ["acme", "zeta", "acme"].reduce<Vault>(
    (current, label, index) => switchCredential(current, bob, label, index === 0, ports),
    withBob,
  );
  assert.ok(fork.generation > removed.vault.generation);
  refuses(() => checkAnchor(anchorOf(removed.vault), fork), "vault_forked");
  refuses(() => switchCredential(removed.vault, bob, "acme", true, ports), "operator_unknown");
});

test("a vault that someone else founded is not this one, however new it says it is", async () => {
  const remembered = anchorOf(vault);
  const foreign = { ...vault, vaultId: "vlt_00000000000000000000000000" } as Vault;
  refuses(() => checkAnchor(remembered, foreign), "vault_forked");
});

test("suspensions cannot be taken back by putting an older file in place", () => {
  const suspended = suspendCredential(vault, operator.serviceKey, "acme", "echoed", 1_800_000_000_000);
  refuses(() => checkAnchor(anchorOf(suspended), vault), "vault_rolled_back");
  assert.equal(checkAnchor(anchorOf(vault), suspended), "newer");
  assert.equal(checkAnchor(anchorOf(suspended), suspended), "same");
  const { generation, manifestHash } = anchorOf(vault);
  assert.equal(checkAnchor({ generation, manifestHash }, suspended), "same", "the log knows of no notes");
  assert.equal(checkAnchor({ generation: generation - 1, manifestHash }, suspended), "newer");
});

test("of what was seen the newer counts, whichever of the two it was, and nothing is forgotten for nothing", () => {
  const [older, newer] = [anchorOf(vault), anchorOf(switchCredential(vault, operator, "acme", true, ports))];
  const policies = [1, 2].map((version) => ({ version, digest: `sha256:${version}` as Digest }));
  const [first = null, second = null] = policies;
  const low = { vault: older, policy: second };
  const high = { vault: newer, policy: first };
  for (const both of [higher(low, high), higher(high, low)]) assert.deepEqual(both, { vault: newer, policy: second });
  const nothing = { vault: null, policy: null };
  assert.deepEqual([higher(low, nothing), higher(nothing, low), higher(nothing, nothing)], [low, low, nothing]);
  const noted = { vault: { ...older, notesSerial: older.notesSerial + 1 }, policy: second };
  assert.deepEqual(higher(low, noted), noted, "the notes of one generation go on");
  refuses(() => checkHighWater({ vault: newer, policy: null }, vault, null), "vault_rolled_back");
  const policy = { version: 1, digest: "sha256:1" } as Policy;
  refuses(() => checkHighWater({ vault: null, policy: second }, vault, policy), "policy_rolled_back");
  checkHighWater({ vault: older, policy: first }, vault, policy);
  // Who has seen none obeys any that is signed; where there is none, nothing is obeyed.
  checkHighWater(nothing, vault, policy);
  checkHighWater({ vault: older, policy: second }, vault, null);
  checkHighWater(nothing, vault, null);
});

test("a host that suspended a credential follows the removal of an operator on one that did not", async () => {
  const bob = { operatorName: "bob", passphrase: secret("bobs-own-passphrase-1") };
  const withBob = await addOperator(vault, operator, bob, ports);
  const suspended = suspendCredential(withBob, operator.serviceKey, "acme", "echoed", 1_800_000_000_000);
  const removed = await removeOperator(withBob, operator, "bob", ports);
  assert.equal(checkAnchor(anchorOf(suspended), removed.vault), "newer");
});

test("notes that no holder of the service key wrote are refused by the service compartment", () => {
  const planted = edited(page, (value) => {
    value.notes = { serial: 9, suspended: [] };
  });
  refuses(() => openService(parseVault(planted), operator.serviceKey), "service_key_wrong");
});

test("a downgraded derivation is refused even when an operator's signature covers it", async () => {
  const slots = vault.slots.map((slot) => ({ ...slot, kdf: { ...slot.kdf, memoryKib: 8 } }));
  await refusesLater(unlockOperator({ ...vault, slots } as Vault, "ada", secret(PASSPHRASE)), "kdf_parameters_refused");
});

test("derivation parameters inside the bounds are bound to the slot as well", async () => {
  const slots = vault.slots.map((slot) => ({ ...slot, kdf: { ...slot.kdf, passes: slot.kdf.passes + 1 } }));
  await refusesLater(unlockOperator({ ...vault, slots } as Vault, "ada", secret(PASSPHRASE)), "passphrase_wrong");
});

test("the manifest hash is over what the operator signed", () => {
  assert.match(vault.manifestHash, /^sha256:[0-9a-f]{64}$/);
  assert.equal(parseVault(page).manifestHash, vault.manifestHash);
  assert.notEqual(vault.manifestHash, start.vault.manifestHash);
});

/** A vault whose signature was somehow passed by: what is sealed must still know its own place. */
function bypassing(change: (entry: CredentialEntry, other: CredentialEntry) => Partial<CredentialEntry>): Vault {
  const [one, two] = vault.credentials as [CredentialEntry, CredentialEntry];
  return { ...vault, credentials: [{ ...one, ...change(one, two) }, two] } as Vault;
}

const sealedPlaces: Readonly<
  Record<string, (entry: CredentialEntry, other: CredentialEntry) => Partial<CredentialEntry>>
> = {
  "other places": () => ({ boundTo: ["https://evil.example"] }),
  "no each-use mark, or one": ({ eachUse }) => ({ eachUse: !eachUse }),
  "another kind": () => ({ kind: "header", headerName: "x-leak" }),
  "another version": ({ version }) => ({ version: version + 1 }),
  "another label": () => ({ label: "renamed" }),
  "a public key": () => ({ publicKey: "ssh-ed25519 AAAA" }),
  "another credential's sealed part": (_entry, other) => ({ sealed: other.sealed }),
};
for (const [what, change] of Object.entries(sealedPlaces)) {
  test(`a sealed secret does not open for ${what}, even where no signature is checked`, () => {
    const planted = bypassing(change);
    const { label, boundTo } = planted.credentials[0] as CredentialEntry;
    const service = openService(planted, operator.serviceKey);
    refuses(() => service.lendHttp(label, boundTo[0] ?? ""), "vault_tampered");
  });
}

test("a slot does not open with another operator's compartment or another wrapped key", async () => {
  const bobPhrase = "bobs-own-passphrase-1";
  const both = await addOperator(vault, operator, { operatorName: "bob", passphrase: secret(bobPhrase) }, ports);
  const [ada, bob] = both.slots as [(typeof both.slots)[0], (typeof both.slots)[0]];
  const crossed = { ...both, slots: [{ ...ada, compartment: bob.compartment, kdf: bob.kdf }, bob] } as Vault;
  await refusesLater(unlockOperator(crossed, "ada", secret(bobPhrase)), "passphrase_wrong");
  const rewrapped = { ...both, slots: [{ ...ada, serviceKey: bob.serviceKey }, bob] } as Vault;
  await refusesLater(unlockOperator(rewrapped, "ada", secret(PASSPHRASE)), "vault_tampered");
});

test("a vault takes a bounded number of operators, of changes to them, and of credentials", async () => {
  const passphrase = secret("bobs-own-passphrase-1");
  const crowd = {
    ...vault,
    operators: Array.from({ length: defaults.vaultOperators }, () => vault.operators[0]),
  } as Vault;
  await refusesLater(addOperator(crowd, operator, { operatorName: "bob", passphrase }, ports), "operators_full");
  const history = { ...vault, lineage: Array.from({ length: defaults.vaultLineage }, () => vault.lineage[0]) } as Vault;
  await refusesLater(addOperator(history, operator, { operatorName: "bob", passphrase }, ports), "operators_full");
  const heap = {
    ...vault,
    credentials: Array.from({ length: defaults.vaultCredentials }, () => vault.credentials[0]),
  } as Vault;
  await refusesLater(
    addCredential(heap, operator, bearer("one-more", "token-of-one-more"), ports),
    "credential_invalid",
  );
});

test("a state root that is another's opens for nobody", () => {
  const foreign = { ...vault, stateRoot: Buffer.from(vault.stateRoot).fill(1, 70, 80) } as Vault;
  refuses(() => openService(foreign, operator.serviceKey).deriveStateKey("rows"), "vault_tampered");
});
