import { defaults } from "../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../kernel/json.ts";
import { BOX_OVERHEAD_BYTES } from "./box.ts";
import { credentialPage, readCredential } from "./credential-page.ts";
import { KDF_SALT_BYTES } from "./kdf.ts";
import { RAW_KEY_BYTES } from "./keys.ts";
import { type LineageRecord, lineagePage, VAULT_ID } from "./lineage.ts";
import { base64, readDigest, readKeyId, readTime, shape } from "./page-values.ts";
import { filePage, parsePage } from "./shape.ts";
import type { OperatorSlot, RequestKey, Restoration, RuntimeNotes, Suspension, VaultContent } from "./vault.ts";
import { WRAPPED_BYTES } from "./wrap.ts";

/** The codec of vault.json: the one page a vault has, and back. Signatures are for `verify.ts`. */
export interface VaultPage {
  readonly content: VaultContent;
  readonly signature: Buffer;
  readonly notes: RuntimeNotes;
  readonly serviceMac: Buffer;
}

const FORMAT = "gw.vault/v1";
const REQUEST_KEY = /^ssh-ed25519 [A-Za-z0-9+/]{68}$/;
const LINE = /^line_[0-9a-f]{32}$/;

export function writeVaultPage({ content, signature, notes, serviceMac }: VaultPage): string {
  return filePage({
    format: FORMAT,
    vault_id: content.vaultId,
    generation: content.generation,
    previous: content.previous,
    signed_at: content.signedAt,
    signed_by: content.signedBy,
    lineage: content.lineage.map((record) => ({ ...lineagePage(record), signature: base64(record.signature) })),
    slots: content.slots.map(slotPage),
    state_root: base64(content.stateRoot),
    ...requestKeyMember(content.requestKey),
    credentials: content.credentials.map(credentialPage),
    ...restoredMember(content.restored),
    signature: base64(signature),
    notes: notesPage(notes),
    service_mac: base64(serviceMac),
  });
}

export function readVaultPage(page: string): VaultPage {
  const vault = shape.members(
    parsePage(page, shape),
    "",
    [
      "format",
      "vault_id",
      "generation",
      "previous",
      "signed_at",
      "signed_by",
      "lineage",
      "slots",
      "state_root",
      "credentials",
      "signature",
      "notes",
      "service_mac",
    ],
    ["request_key", "restored"],
  );
  shape.oneOf(vault.format, "/format", [FORMAT]);
  const credentials = shape.list(vault.credentials, "/credentials", defaults.vaultCredentials, readCredential);
  const labels = credentials.map(({ label }) => label);
  if (labels.some((label, index) => index > 0 && label <= (labels[index - 1] ?? ""))) {
    shape.refuse("/credentials", "sorted by label, each once");
  }
  return {
    content: {
      vaultId: shape.text(vault.vault_id, "/vault_id", 30, VAULT_ID),
      generation: shape.integer(vault.generation, "/generation", 1, Number.MAX_SAFE_INTEGER),
      previous: readDigest(vault.previous, "/previous"),
      signedAt: readTime(vault.signed_at, "/signed_at"),
      signedBy: readKeyId(vault.signed_by, "/signed_by"),
      lineage: shape.list(vault.lineage, "/lineage", defaults.vaultLineage, readLineage),
      slots: shape.list(vault.slots, "/slots", defaults.vaultOperators, readSlot),
      stateRoot: shape.bytes(vault.state_root, "/state_root", BOX_OVERHEAD_BYTES + 32, BOX_OVERHEAD_BYTES + 32),
      requestKey: vault.request_key === undefined ? null : readRequestKey(vault.request_key, "/request_key"),
      credentials,
      restored: vault.restored === undefined ? null : readRestored(vault.restored, "/restored"),
    },
    signature: shape.bytes(vault.signature, "/signature", 64, 64),
    notes: readNotes(vault.notes, "/notes"),
    serviceMac: shape.bytes(vault.service_mac, "/service_mac", 32, 32),
  };
}

export function slotPage(slot: OperatorSlot): JsonObject {
  return {
    name: slot.name,
    key_id: slot.keyId,
    kdf: {
      algorithm: "argon2id",
      memory_kib: slot.kdf.memoryKib,
      passes: slot.kdf.passes,
      lanes: slot.kdf.lanes,
      salt: base64(slot.kdf.salt),
    },
    compartment: base64(slot.compartment),
    service_key: base64(slot.serviceKey),
  };
}

/** Left out where there is none, so that a vault which was signed before such keys still verifies. */
export function requestKeyMember(key: RequestKey | null): JsonObject {
  return key === null ? {} : { request_key: { public_key: key.publicKey, sealed: base64(key.sealed) } };
}

export function notesPage(notes: RuntimeNotes): JsonObject {
  return {
    serial: notes.serial,
    suspended: notes.suspended.map(({ label, version, reason, at }) => ({ label, version, reason, at })),
  };
}

function readLineage(value: JsonValue, where: string): LineageRecord {
  const remove = ["change", "key_id", "by", "at", "previous", "signature"] as const;
  const admit = [...remove, "name", "approver_key", "reading_key", "wrapping_key"] as const;
  const isAdmit = typeof value === "object" && value !== null && "change" in value && value.change === "admit";
  const record: Partial<Record<(typeof admit)[number], JsonValue>> = shape.members(
    value,
    where,
    isAdmit ? admit : remove,
  );
  const step = {
    keyId: readKeyId(record.key_id, `${where}/key_id`),
    by: readKeyId(record.by, `${where}/by`),
    at: readTime(record.at, `${where}/at`),
    previous: readDigest(record.previous, `${where}/previous`),
    signature: shape.bytes(record.signature, `${where}/signature`, 64, 64),
  };
  const key = (name: (typeof admit)[number]) =>
    shape.bytes(record[name], `${where}/${name}`, RAW_KEY_BYTES, RAW_KEY_BYTES);
  switch (shape.oneOf(record.change, `${where}/change`, ["admit", "remove"])) {
    case "admit":
      return {
        change: "admit",
        ...step,
        name: shape.text(record.name, `${where}/name`, 32),
        approverKey: key("approver_key"),
        readingKey: key("reading_key"),
        wrappingKey: key("wrapping_key"),
      };
    case "remove":
      return { change: "remove", ...step };
  }
}

function readSlot(value: JsonValue, where: string): OperatorSlot {
  const slot = shape.members(value, where, ["name", "key_id", "kdf", "compartment", "service_key"]);
  const kdf = shape.members(slot.kdf, `${where}/kdf`, ["algorithm", "memory_kib", "passes", "lanes", "salt"]);
  shape.oneOf(kdf.algorithm, `${where}/kdf/algorithm`, ["argon2id"]);
  const count = (name: "memory_kib" | "passes" | "lanes") =>
    shape.integer(kdf[name], `${where}/kdf/${name}`, 0, Number.MAX_SAFE_INTEGER);
  return {
    name: shape.text(slot.name, `${where}/name`, 32),
    keyId: readKeyId(slot.key_id, `${where}/key_id`),
    kdf: {
      memoryKib: count("memory_kib"),
      passes: count("passes"),
      lanes: count("lanes"),
      salt: shape.bytes(kdf.salt, `${where}/kdf/salt`, KDF_SALT_BYTES, KDF_SALT_BYTES),
    },
    compartment: shape.bytes(slot.compartment, `${where}/compartment`, BOX_OVERHEAD_BYTES, 1_024),
    serviceKey: shape.bytes(slot.service_key, `${where}/service_key`, WRAPPED_BYTES, WRAPPED_BYTES),
  };
}

function readRequestKey(value: JsonValue, where: string): RequestKey {
  const key = shape.members(value, where, ["public_key", "sealed"]);
  return {
    publicKey: shape.text(key.public_key, `${where}/public_key`, 128, REQUEST_KEY),
    sealed: shape.bytes(key.sealed, `${where}/sealed`, BOX_OVERHEAD_BYTES, BOX_OVERHEAD_BYTES + 64),
  };
}

/** Left out where there is none, like the request key. */
export function restoredMember(restored: Restoration | null): JsonObject {
  return restored === null ? {} : { restored: { ...restored } };
}

function readRestored(value: JsonValue, where: string): Restoration {
  const { line, at, by, generation, from } = shape.members(value, where, ["line", "at", "by", "generation", "from"]);
  return {
    line: shape.text(line, `${where}/line`, 40, LINE),
    at: readTime(at, `${where}/at`),
    by: readKeyId(by, `${where}/by`),
    generation: shape.integer(generation, `${where}/generation`, 1, Number.MAX_SAFE_INTEGER),
    from: shape.text(from, `${where}/from`, 40),
  };
}

function readNotes(value: JsonValue, where: string): RuntimeNotes {
  const notes = shape.members(value, where, ["serial", "suspended"]);
  return {
    serial: shape.integer(notes.serial, `${where}/serial`, 0, Number.MAX_SAFE_INTEGER),
    suspended: shape.list(notes.suspended, `${where}/suspended`, defaults.vaultCredentials, readSuspension),
  };
}

function readSuspension(value: JsonValue, where: string): Suspension {
  const suspension = shape.members(value, where, ["label", "version", "reason", "at"]);
  return {
    label: shape.text(suspension.label, `${where}/label`, 64),
    version: shape.integer(suspension.version, `${where}/version`, 1, Number.MAX_SAFE_INTEGER),
    reason: shape.text(suspension.reason, `${where}/reason`, 200),
    at: readTime(suspension.at, `${where}/at`),
  };
}
