import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readPack } from "../../conventions/action/read.ts";
import type { Clock, Random } from "../../kernel/clock.ts";
import { Fault } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { keepTrustedCopy } from "../../surfaces/cli/upgrade/load-change.ts";
import { nameOfUser } from "../../surfaces/cli/vault/user-name.ts";
import { addCredential } from "../../vault/credential.ts";
import { openHome } from "../../vault/files/home.ts";
import { writeKeyFile } from "../../vault/files/key-file.ts";
import { createVault } from "../../vault/operator.ts";
import { firstPolicy } from "../../vault/policy/change.ts";
import { signPolicy } from "../../vault/policy/verify.ts";

export interface NewHome {
  readonly folder: string;
  readonly passphrase: Secret;
  /** The provider that runs beside the gateway, and a token for it. */
  readonly origin: string;
  readonly token: string;
  readonly packFile: string;
  /** Where nobody can type a passphrase: a key file that opens the credentials and nothing else. */
  readonly keyFile: string | null;
  /** Further packs of the same provider or of a host, each with a credential of its own. */
  readonly also?: readonly PackToTrust[];
}

export interface PackToTrust {
  readonly bytes: Buffer;
  readonly token: string;
  readonly eachUse: boolean;
  /** Set where the token is an SSH key: the one host that it may be used at. */
  readonly hostKey?: string;
}

/** A home that works at once: one operator, the provider's credential bound to it, and its pack signed into policy. */
export async function makeHome(
  made: NewHome,
  ports: { readonly clock: Clock; readonly random: Random },
): Promise<void> {
  const bytes = Buffer.from(
    readFileSync(made.packFile, "utf8").replace(/^ {2}origin: .*$/m, `  origin: ${made.origin}`),
  );
  const given: readonly PackToTrust[] = [{ bytes, token: made.token, eachUse: false }, ...(made.also ?? [])];
  const packs = given.map((one) => {
    const { pack } = readPack(one.bytes, made.packFile);
    if (pack === null) throw new Fault(`${made.packFile} is not a sound pack`);
    return { ...one, pack };
  });
  const { vault, operator } = await createVault({ operatorName: nameOfUser(), passphrase: made.passphrase }, ports);
  try {
    let filled = vault;
    for (const { pack, token, eachUse, hostKey } of packs) {
      using secret = Secret.fromText(token);
      const label = pack.provider?.credential ?? pack.name;
      const kind = hostKey === undefined ? "bearer" : "ssh";
      const credential = { label, kind, boundTo: [hostKey ?? made.origin], eachUse, secret } as const;
      filled = await addCredential(filled, operator, credential, ports);
    }
    const founder = filled.operators[0];
    if (founder === undefined) throw new Fault("a new vault names no operator");
    const draft = firstPolicy(founder);
    const policy = signPolicy(
      {
        ...draft,
        packs: packs.map(({ pack: { name, digest } }) => ({ pack: name, digest })),
        settings: { ...draft.settings, headlessUnlock: made.keyFile !== null },
      },
      null,
      operator,
      filled,
      ports.clock,
    );
    await openHome(made.folder, ports.random).create(filled, policy);
    const folder = join(made.folder, "packs");
    mkdirSync(folder, { mode: 0o700 });
    for (const { pack, bytes: text } of packs) {
      writeFileSync(join(folder, `${pack.name}.yaml`), text, { mode: 0o600 });
      keepTrustedCopy(made.folder, pack.name, text);
    }
    if (made.keyFile !== null) writeKeyFile(made.keyFile, filled.vaultId, operator.serviceKey, ports.random);
  } finally {
    operator.wipe();
  }
}
