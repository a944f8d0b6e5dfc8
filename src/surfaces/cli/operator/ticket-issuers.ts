import { createPublicKey, type KeyObject } from "node:crypto";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readSshPublicLine } from "../../../kernel/ssh-key.ts";
import { openHome } from "../../../vault/files/home.ts";
import { keyIdOf, RAW_KEY_BYTES, rawPublicOf } from "../../../vault/keys.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readGivenFile } from "../read-given-file.ts";
import { say, type VaultCliPorts, type VaultOptions } from "../vault/session.ts";
import { type SignChange, signTried } from "../vault/sign-change.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** `gw ticket issuer add NAME --key KEY`: what this key signs counts as a work context, and as nothing else. */
export function runTicketIssuerAdd(
  name: string,
  options: VaultOptions & { readonly key: string },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    if (!NAME.test(name)) {
      throw unusable(
        "An issuer's name is letters, digits and ._@-, at most 64; it is the `issuer` member of what it signs.",
      );
    }
    const publicKey = readIssuerKey(options.key);
    const keyId = keyIdOf(publicKey);
    const change = (sign: SignChange): Promise<void> =>
      sign({ what: "ticket_issuer_added", subject: name }, (policy, vault) => {
        if (vault.operators.some((operator) => operator.name === name || operator.keyId === keyId)) {
          throw unusable("An operator has that name or key. Operators sign their own contexts: gw ticket issue.");
        }
        const taken = policy.ticketIssuers.find((one) => one.issuer === name || one.publicKey.equals(publicKey));
        if (taken !== undefined) {
          throw unusable(
            `${showIdentifier(taken.issuer)} is an issuer already, by name or key. To change its key: gw ticket issuer remove ${showIdentifier(taken.issuer)}, then add it.`,
          );
        }
        return { ...policy, ticketIssuers: [...policy.ticketIssuers, { issuer: name, publicKey }] };
      });
    const line = `${name} may now issue work contexts (key ${keyId}). It cannot approve, and it cannot declare an emergency.`;
    return signTried(options, io, ports, change, () => say(io, options.json, { issuer: name, key_id: keyId }, line));
  });
}

export function runTicketIssuerList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const rows = home.readPolicy(home.readVault()).ticketIssuers.map(({ issuer, publicKey }) => ({
      issuer,
      key_id: keyIdOf(publicKey),
      public_key: publicKey.toString("base64url"),
    }));
    if (options.json) io.out(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) {
      io.out("No ticket issuers: only operators issue work contexts. Add one: gw ticket issuer add NAME --key FILE");
    } else for (const { issuer, key_id } of rows) io.out(`${showIdentifier(issuer)}  key ${key_id}`);
    return exits.done;
  });
}

/** What the issuer signed before counts no longer either, from the next check of any call on. */
export function runTicketIssuerRemove(
  name: string,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  const change = (sign: SignChange): Promise<void> =>
    sign({ what: "ticket_issuer_removed", subject: name }, (policy) => {
      const ticketIssuers = policy.ticketIssuers.filter(({ issuer }) => issuer !== name);
      if (ticketIssuers.length === policy.ticketIssuers.length) {
        throw new Denied("not_found", `No ticket issuer is called ${showIdentifier(name)}: gw ticket issuer list.`);
      }
      return { ...policy, ticketIssuers };
    });
  const line = `${showIdentifier(name)} no longer issues work contexts; those it signed count no more.`;
  return answering(io, () =>
    signTried(options, io, ports, change, () => say(io, options.json, { removed: name }, line)),
  );
}

/** The 32 raw bytes of an Ed25519 public key, from a file or the argument itself: PEM, an OpenSSH line, or base64url. */
export function readIssuerKey(given: string): Buffer {
  const text =
    inlineKey(given) ?? readGivenFile(given, defaults.publicKeyFileBytes, "ticket_issuer_invalid").toString("latin1");
  const trimmed = text.trim();
  if (/PRIVATE KEY/.test(trimmed)) {
    throw unusable(
      "That is a private key, which stays with the issuer. Give its public half: openssl pkey -in FILE -pubout",
    );
  }
  const bytes = /^[A-Za-z0-9_-]{43}$/.test(trimmed) ? Buffer.from(trimmed, "base64url") : rawOf(parseKey(trimmed));
  if (bytes?.length !== RAW_KEY_BYTES || bytes.toString("base64url").length !== 43) {
    throw unusable(
      "An issuer's key is an Ed25519 public key: PEM, an OpenSSH line (ssh-ed25519 AAAA…), or its 32 bytes in base64url.",
    );
  }
  return bytes;
}

/** An argument that is itself a key and could not be meant as the name of a file. */
function inlineKey(given: string): string | undefined {
  return given.startsWith("ssh-ed25519 ") || given.startsWith("-----BEGIN ") || /^[A-Za-z0-9_-]{43}$/.test(given)
    ? given
    : undefined;
}

function parseKey(text: string): KeyObject | undefined {
  if (text.startsWith("ssh-")) return readSshPublicLine(text)?.key;
  if (!text.startsWith("-----BEGIN PUBLIC KEY-----")) return undefined;
  try {
    return createPublicKey(text);
  } catch {
    return undefined;
  }
}

function rawOf(key: KeyObject | undefined): Buffer | undefined {
  return key?.asymmetricKeyType === "ed25519" ? rawPublicOf(key) : undefined;
}

function unusable(message: string): Denied {
  return new Denied("ticket_issuer_invalid", message);
}
