import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";

import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson, type Digest, digestText } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { unlockOperator } from "../operator.ts";
import { addOperator, removeOperator } from "../operator-change.ts";
import { filePage } from "../shape.ts";
import { edited, founding, ports, refuses, secret } from "../testing/fixture.ts";
import { firstPolicy, recipientOf } from "./change.ts";
import {
  asksEachUse,
  isPackTrusted,
  lastTrusted,
  loweredSettings,
  type Policy,
  removePack,
  SAFE_SETTINGS,
  trustPack,
} from "./policy.ts";
import { checkPolicyVersion, type PolicyDraft, parsePolicy, policyText, signPolicy } from "./verify.ts";

const { vault, operator } = await founding();
const founder = vault.operators[0];
assert.ok(founder);
const image = digestText("image");
const imageKey = (namedCurve: string): Buffer =>
  generateKeyPairSync("ec", { namedCurve }).publicKey.export({ format: "der", type: "spki" });
const draft: PolicyDraft = {
  ...firstPolicy(founder),
  packs: [
    { pack: "zeta", digest: digestText("zeta") },
    { pack: "acme", digest: digestText("acme") },
  ],
  eachUse: ["acme-deploy"],
  callers: [{ imageDigest: image, authority: "Example Corp, reviewed by ada", enrolledAt: "2026-10-01T12:00:00.000Z" }],
  ticketIssuers: [{ issuer: "tickets.example", publicKey: Buffer.alloc(32, 3) }],
  sigstore: {
    trustedRootDigest: digestText("root"),
    identities: [
      { name: "Zeta", subject: "dev@zeta.example", issuer: "https://id.example" },
      { name: "Acme", subject: "https://ci.example/acme@refs/tags/v1", issuer: "https://id.example" },
    ],
  },
  imaKeys: [{ name: "Acme build", publicKey: imageKey("P-256") }],
  ticketServices: [
    {
      system: "tracker",
      action: "tracker.ticket.get",
      referenceInput: "key",
      referenceField: "/key",
      stateField: "/fields/status/name",
      openStates: ["In Progress"],
      targetsField: null,
      operationsField: "/allowed~1operations",
    },
  ],
};
const sign = (given: PolicyDraft, previous: Policy | null = null) =>
  signPolicy(given, previous, operator, vault, ports.clock);
const policy = sign(draft);
const page = policyText(policy);

test("a policy and its page say the same, both ways, with its lists in order", () => {
  assert.equal(policyText(parsePolicy(page, vault)), page);
  assert.deepEqual(
    policy.packs.map(({ pack }) => pack),
    ["acme", "zeta"],
  );
  assert.equal(policy.version, 1);
  assert.equal(policy.signedBy, operator.keyId);
});

test("a policy answers who is trusted, who is enrolled and what asks on each use", () => {
  assert.ok(isPackTrusted(policy, "acme", digestText("acme")));
  assert.ok(!isPackTrusted(policy, "acme", digestText("zeta")));
  assert.ok(!isPackTrusted(policy, "other", digestText("acme")));
  assert.ok(asksEachUse(policy, "acme-deploy", false) && asksEachUse(policy, "free", true));
  assert.ok(!asksEachUse(policy, "free", false));
});

test("the first policy trusts nothing and lowers nothing", () => {
  const first = sign(firstPolicy(founder));
  assert.deepEqual([first.packs, first.callers, first.eachUse, first.ticketIssuers], [[], [], [], []]);
  assert.deepEqual(loweredSettings(first.settings), []);
  assert.deepEqual(first.auditRecipients, [recipientOf(founder)]);
});

test("a policy that says nothing new has the page that it had before there were any, so that its signature still holds", () => {
  const earlier = policyText(sign({ ...draft, sigstore: null, imaKeys: [], ticketServices: [], grants: [] }));
  const { signature: _, ...members } = JSON.parse(earlier) as Record<string, unknown>;
  assert.ok(["sigstore", "ima_keys", "ticket_services"].every((later) => !(later in members)));
  const read = parsePolicy(earlier, vault);
  assert.deepEqual([read.sigstore, read.imaKeys, read.ticketServices], [null, [], []]);
});

test("every setting that lowers protection is named when it does", () => {
  const all = { headlessUnlock: true, callbacks: "network" } as const;
  assert.deepEqual(loweredSettings(all), ["headlessUnlock", "callbacks"]);
  assert.deepEqual(sign({ ...draft, settings: all }).settings, all);
});

test("settings of before are read with the signature over them, and signed no more", () => {
  const former = {
    mode: "dedicated",
    session_approval: false,
    watch_pin: false,
    loopback_agents: true,
    webhooks: true,
  } as const;
  const { signature: _, ...members } = JSON.parse(page) as Record<string, JsonValue>;
  const older = { ...members, settings: { ...(members["settings"] as object), ...former } };
  const signature = operator.approver.sign(Buffer.from(`gw policy v1\0${canonicalJson(older)}`));
  const kept = filePage({ ...older, signature: signature.toString("base64url") });
  const read = parsePolicy(kept, vault);
  assert.deepEqual([read.formerSettings, read.settings], [former, SAFE_SETTINGS]);
  assert.equal(policyText(read), kept);
  const next = sign(read, read);
  assert.equal(next.formerSettings, null);
  assert.deepEqual(Object.keys(JSON.parse(policyText(next)).settings), ["callbacks", "headless_unlock"]);
});

const edits: Readonly<Record<string, (value: Record<string, unknown>) => void>> = {
  "trusts another pack": (value) => {
    value["packs"] = [{ pack: "evil", digest: digestText("evil") }];
  },
  "lets a key file open it": (value) => {
    value["settings"] = { ...(value["settings"] as object), headless_unlock: true };
  },
  "drops an each-use mark": (value) => {
    value["each_use"] = [];
  },
  "enrolls a caller": (value) => {
    value["callers"] = [
      { image_digest: digestText("evil"), authority: "Trusted Corp", enrolled_at: "2026-10-01T12:00:00.000Z" },
    ];
  },
  "drops a reader of the log": (value) => {
    value["audit_recipients"] = [];
  },
  "trusts another issuer": (value) => {
    value["ticket_issuers"] = [{ issuer: "tickets.example", public_key: Buffer.alloc(32, 4).toString("base64url") }];
  },
  "trusts another signer": (value) => {
    const sigstore = value["sigstore"] as Record<string, unknown>;
    value["sigstore"] = {
      ...sigstore,
      identities: [{ name: "Acme", subject: "mallory@evil.example", issuer: "https://id.example" }],
    };
  },
  "trusts another root of signatures": (value) => {
    value["sigstore"] = { ...(value["sigstore"] as object), trusted_root_digest: digestText("evil") };
  },
  "trusts another IMA key": (value) => {
    value["ima_keys"] = [{ name: "Acme build", public_key: imageKey("P-384").toString("base64url") }];
  },
  "counts another state of tickets as open": (value) => {
    const [service] = value["ticket_services"] as Record<string, unknown>[];
    value["ticket_services"] = [{ ...service, open_states: ["Closed"] }];
  },
  "asks no ticket service any more": (value) => {
    delete value["ticket_services"];
  },
  "drops its IMA keys": (value) => {
    delete value["ima_keys"];
  },
  "raises the version": (value) => {
    value["version"] = 99;
  },
  "is for another vault": (value) => {
    value["vault_id"] = "vlt_00000000000000000000000000";
  },
  "names another signer": (value) => {
    value["signed_by"] = "0".repeat(32);
  },
  "carries another signature": (value) => {
    value["signature"] = Buffer.alloc(64).toString("base64url");
  },
};
for (const [what, edit] of Object.entries(edits)) {
  test(`a policy.json edited behind our back that ${what} fails`, () => {
    const changed = edited(page, edit);
    assert.notEqual(changed, page);
    refuses(() => parsePolicy(changed, vault), "policy_tampered");
  });
}

const malformed: Readonly<Record<string, string>> = {
  "names a member twice": page.replace('"version"', '"version": 2,\n  "version"'),
  "has an unknown setting": edited(page, (value) => {
    value["settings"] = { ...(value["settings"] as object), root: true };
  }),
  "lacks a setting": edited(page, (value) => {
    value["settings"] = { callbacks: false };
  }),
  "has some of the settings of before": edited(page, (value) => {
    value["settings"] = { ...(value["settings"] as object), watch_pin: true };
  }),
  "names one pack twice": edited(page, (value) => {
    value["packs"] = [...(value["packs"] as object[]), ...(value["packs"] as object[])];
  }),
  "has a recipient whose key id is another key's": edited(page, (value) => {
    const [first] = value["audit_recipients"] as Record<string, unknown>[];
    value["audit_recipients"] = [{ ...first, public_key: Buffer.alloc(32, 1).toString("base64url") }];
  }),
  "has an authority that hides signs": edited(page, (value) => {
    value["callers"] = [{ image_digest: image, authority: "Corp\u202e", enrolled_at: "2026-10-01T12:00:00.000Z" }];
  }),
  "lists no IMA keys where it should be silent": edited(page, (value) => {
    value["ima_keys"] = [];
  }),
  "has an IMA key that can check nothing": edited(page, (value) => {
    const key = generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" });
    value["ima_keys"] = [{ name: "Acme build", public_key: Buffer.concat([key, key]).toString("base64url") }];
  }),
  "trusts a root of signatures for nobody": edited(page, (value) => {
    value["sigstore"] = { ...(value["sigstore"] as object), identities: [] };
  }),
  "has a signer whose issuer is no https URL": edited(page, (value) => {
    value["sigstore"] = {
      ...(value["sigstore"] as object),
      identities: [{ name: "Acme", subject: "x", issuer: "http://id.example" }],
    };
  }),
  "reads a ticket's state from no JSON Pointer": edited(page, (value) => {
    const [service] = value["ticket_services"] as Record<string, unknown>[];
    value["ticket_services"] = [{ ...service, state_field: "fields.status" }];
  }),
  "counts no state of tickets as open": edited(page, (value) => {
    const [service] = value["ticket_services"] as Record<string, unknown>[];
    value["ticket_services"] = [{ ...service, open_states: [] }];
  }),
  "has an unknown member": edited(page, (value) => {
    value["sigstores"] = {};
  }),
  "is cut short": page.slice(0, -20),
  "is empty": "",
};
for (const [what, text] of Object.entries(malformed)) {
  test(`a policy.json that ${what} is refused`, () => {
    refuses(() => parsePolicy(text, vault), "policy_malformed");
  });
}

test("any changed character of policy.json is refused", () => {
  fc.assert(
    fc.property(fc.nat({ max: page.length - 1 }), fc.integer({ min: 1, max: 127 }), (at, shift) => {
      const changed = page.slice(0, at) + String.fromCharCode((page.charCodeAt(at) + shift) % 128) + page.slice(at + 1);
      assert.throws(() => parsePolicy(changed, vault), Denied);
    }),
    { numRuns: runsOf(300) },
  );
});

test("an older signed policy is found against the version remembered, and so is another one of that version", () => {
  const newer = sign({ ...draft, eachUse: [] }, policy);
  const remembered = { version: newer.version, digest: newer.digest };
  assert.equal(newer.version, 2);
  refuses(() => checkPolicyVersion(remembered, policy), "policy_rolled_back");
  assert.equal(checkPolicyVersion(remembered, newer), "same");
  assert.equal(checkPolicyVersion({ version: 1, digest: policy.digest }, newer), "newer");
  refuses(() => checkPolicyVersion(remembered, sign(draft, policy)), "policy_rolled_back");
});

test("a policy that could not be read again is not signed", () => {
  const bad: readonly Partial<PolicyDraft>[] = [
    { eachUse: ["a", "a"] },
    { packs: [{ pack: "Not A Pack", digest: image }] },
    { packs: [{ pack: "acme", digest: "sha256:short" as Digest }] },
    { ticketIssuers: [{ issuer: "x", publicKey: Buffer.alloc(31) }] },
  ];
  for (const change of bad) refuses(() => sign({ ...draft, ...change }), "policy_malformed");
});

test("a policy of a removed operator is in force no longer", async () => {
  const phrase = secret("bobs-own-passphrase-1");
  const withBob = await addOperator(vault, operator, { operatorName: "bob", passphrase: phrase }, ports);
  const bob = await unlockOperator(withBob, "bob", phrase);
  const bobs = policyText(signPolicy(draft, policy, bob, withBob, ports.clock));
  parsePolicy(bobs, withBob);
  const { vault: without } = await removeOperator(withBob, operator, "bob", ports);
  refuses(() => parsePolicy(bobs, without), "policy_tampered");
});

test("the safe settings are the strict ones", () => {
  assert.deepEqual(SAFE_SETTINGS, {
    headlessUnlock: false,
    callbacks: "off",
  });
});

test("a pack whose trust was taken away is remembered by its digest, until another is trusted under its name", () => {
  const removed = sign({ ...policy, ...removePack(policy, "acme") }, policy);
  assert.deepEqual(removed.formerPacks, [{ pack: "acme", digest: digestText("acme") }]);
  assert.equal(isPackTrusted(removed, "acme", digestText("acme")), false);
  assert.equal(lastTrusted(removed, "acme"), digestText("acme"));
  assert.equal(policyText(parsePolicy(policyText(removed), vault)), policyText(removed));
  assert.deepEqual(removePack(removed, "acme").formerPacks, removed.formerPacks, "removing twice forgets nothing");
  const again = sign({ ...removed, ...trustPack(removed, { pack: "acme", digest: digestText("new") }) }, removed);
  assert.deepEqual([again.formerPacks, lastTrusted(again, "acme")], [[], digestText("new")]);
  assert.equal(lastTrusted(again, "nobody"), null);
  assert.ok(!policyText(policy).includes("former_packs"), "a policy that forgot nothing is written as before");
});
