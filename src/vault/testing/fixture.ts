import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Code } from "../../kernel/codes.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import { addCredential, type NewCredential } from "../credential.ts";
import { createVault, type OpenOperator, type VaultPorts } from "../operator.ts";
import { filePage } from "../shape.ts";
import type { Vault } from "../vault.ts";

/** What the tests of this room stand on: real keys and real derivation, made once a file because Argon2id is slow. */
export const PASSPHRASE = "amber-otter-velvet-quarry";
export const ORIGIN = "https://api.acme.example";
export const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqWpEn+EosO6k3FOIU8fZ/T9ndDL9N7Hxv5gdiGmNNq";
export const START_MS = Date.UTC(2026, 9, 1, 12);

let now = START_MS;
export const ports: VaultPorts = {
  clock: { wallMs: () => now++ },
  random: { bytes: (length) => randomBytes(length) },
};

export interface Founded {
  readonly vault: Vault;
  readonly operator: OpenOperator;
}

let founded: Promise<Founded> | undefined;

/** One founded vault with the operator ada. Vaults are values; nobody wipes this operator. */
export function founding(): Promise<Founded> {
  founded ??= createVault({ operatorName: "ada", passphrase: secret(PASSPHRASE) }, ports);
  return founded;
}

export function secret(text: string): Secret {
  return Secret.fromText(text);
}

export function bearer(label: string, token: string, boundTo: readonly string[] = [ORIGIN]): NewCredential {
  return { label, kind: "bearer", boundTo, eachUse: false, secret: secret(token) };
}

export async function withTokens(start: Founded, tokens: Readonly<Record<string, string>>): Promise<Vault> {
  let { vault } = start;
  for (const [label, token] of Object.entries(tokens)) {
    vault = await addCredential(vault, start.operator, bearer(label, token), ports);
  }
  return vault;
}

export function refuses(work: () => unknown, code: Code): void {
  assert.throws(work, (error) => deniedWith(error, code));
}

export async function refusesLater(work: Promise<unknown>, code: Code): Promise<void> {
  await assert.rejects(work, (error) => deniedWith(error, code));
}

function deniedWith(error: unknown, code: Code): boolean {
  assert.ok(error instanceof Denied, String(error));
  assert.equal(error.code, code);
  return true;
}

/** A page of ours with one thing changed, written as gw would write it: form alone must not give the change away. */
export function edited(page: string, change: (value: Editable) => void): string {
  const value = JSON.parse(page) as Editable;
  change(value);
  return filePage(value as unknown as JsonObject);
}

/** vault.json and policy.json as an attacker sees them. */
export interface Editable {
  [name: string]: unknown;
  generation: number;
  notes: { serial: number; suspended: unknown[] };
  slots: { [name: string]: unknown; kdf: Record<string, unknown> }[];
  lineage: Record<string, unknown>[];
  credentials: Record<string, unknown>[];
}
