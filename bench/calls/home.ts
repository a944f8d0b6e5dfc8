import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemSleep } from "../../src/adapters/platform/system.ts";
import { readPack } from "../../src/conventions/action/read.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { addCredential } from "../../src/vault/credential.ts";
import { openHome } from "../../src/vault/files/home.ts";
import { writeKeyFile } from "../../src/vault/files/key-file.ts";
import { createVault } from "../../src/vault/operator.ts";
import { firstPolicy } from "../../src/vault/policy/change.ts";
import { signPolicy } from "../../src/vault/policy/verify.ts";

export const TOKEN = "bench-token-0123456789abcdef";
const PASSPHRASE = "bench passphrase of six plain words";

export interface BenchHome {
  readonly folder: string;
  readonly keyFile: string;
  /** For whoever says yes in the operator's place. */
  readonly passphraseFile: string;
  remove(): void;
}

/** A home that a key file unlocks: what is measured is the way of a call. `startApprover` says yes to its runs. */
export async function makeHome(origin: string, moreActions = ""): Promise<BenchHome> {
  const folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  const ports = { clock: { wallMs: () => Date.now() }, random: { bytes: randomBytes }, sleep: systemSleep };
  const packText = `format: gw.pack/v1
pack: bench
provider:
  origin: ${origin}
  credential: bench-token
  auth: { scheme: bearer }
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
  thing.put:
    effect: write
    retry: non_idempotent_write
    request: { method: PUT, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
${moreActions}`;
  const { pack } = readPack(Buffer.from(packText), "bench.yaml");
  if (pack === null) throw new Error("the bench pack is not sound");
  const passphrase = Secret.fromText(PASSPHRASE);
  const { vault, operator } = await createVault({ operatorName: "bench", passphrase }, ports);
  const secret = Secret.fromText(TOKEN);
  const credential = { label: "bench-token", kind: "bearer", boundTo: [origin], eachUse: false, secret } as const;
  const filled = await addCredential(vault, operator, credential, ports);
  const founder = filled.operators[0];
  if (founder === undefined) throw new Error("the vault has no operator");
  const draft = firstPolicy(founder);
  const policy = signPolicy(
    {
      ...draft,
      packs: [{ pack: "bench", digest: pack.digest }],
      settings: { ...draft.settings, headlessUnlock: true },
    },
    null,
    operator,
    filled,
    ports.clock,
  );
  const home = join(folder, "home");
  await openHome(home, ports.random).create(filled, policy);
  mkdirSync(join(home, "packs"), { mode: 0o700 });
  writeFileSync(join(home, "packs", "bench.yaml"), packText, { mode: 0o600 });
  const keyFile = join(folder, "service.key");
  writeKeyFile(keyFile, filled.vaultId, operator.serviceKey, ports.random);
  operator.wipe();
  const passphraseFile = join(folder, "passphrase");
  writeFileSync(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
  return { folder: home, keyFile, passphraseFile, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
