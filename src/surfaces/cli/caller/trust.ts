import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { type Digest, digestBytes } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { replaceFile } from "../../../vault/files/atomic-write.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { readImageKey } from "../../../vault/policy/image-key.ts";
import type { Policy, SigstoreTrust } from "../../../vault/policy/policy.ts";
import { sigstoreFolder, trustedRootPath } from "../../../vault/policy/sigstore-files.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readGivenFile } from "../read-given-file.ts";
import { say, type VaultCliPorts, type VaultOptions, withOperator } from "../vault/session.ts";
import { type SignChange, signerIn, signTried, trialOf } from "../vault/sign-change.ts";
import { listAuthorities } from "./list.ts";
import type { SignatureChecks } from "./signatures.ts";

export interface TrustOptions extends VaultOptions {
  readonly subject?: string;
  readonly issuer?: string;
  readonly root?: string;
  readonly imaKey?: string;
}

const NAME = /^[\x21-\x7e][\x20-\x7e]{0,99}$/;
const SUBJECT = /^[\x21-\x7e]{1,500}$/;

/** `gw caller trust NAME`: from now on the card names the signer of a program, instead of one exact file. */
export function runCallerTrust(
  name: string,
  options: TrustOptions,
  io: CliIo,
  ports: VaultCliPorts,
  signatures: () => Promise<SignatureChecks>,
): Promise<Exit> {
  return answering(io, async () => {
    if (!NAME.test(name) || name.endsWith(" ")) {
      throw unusable("The name that a card will show is 1 to 100 plain characters.");
    }
    const sigstore = options.subject !== undefined || options.issuer !== undefined || options.root !== undefined;
    if (sigstore === (options.imaKey !== undefined)) {
      throw unusable(
        "Say who signs: --subject TEXT --issuer URL (with --root FILE the first time) for Sigstore, or --ima-key FILE.",
      );
    }
    return options.imaKey === undefined
      ? trustIdentity(name, options, io, ports, await signatures())
      : trustImaKey(name, options.imaKey, options, io, ports);
  });
}

async function trustIdentity(
  name: string,
  options: TrustOptions,
  io: CliIo,
  ports: VaultCliPorts,
  checks: SignatureChecks,
): Promise<Exit> {
  const { subject, issuer } = options;
  if (subject === undefined || !SUBJECT.test(subject) || issuer === undefined || !isIssuer(issuer)) {
    throw unusable(
      "A Sigstore identity is both: --subject as its certificates name it, and --issuer https://… which vouched for it.",
    );
  }
  const root = options.root === undefined ? null : readRoot(options.root, checks);
  const { home } = options;
  let digest = "" as Digest;
  const change = (sign: SignChange): Promise<void> =>
    sign({ what: "caller_signer_trusted", subject: name }, (policy) => {
      requireNewName(policy, name);
      const before: SigstoreTrust | null = policy.sigstore;
      const trustedRootDigest = root?.digest ?? before?.trustedRootDigest;
      if (trustedRootDigest === undefined) {
        throw unusable(
          "The first Sigstore identity needs --root FILE, a trusted_root.json: whose certificates and logs count.",
        );
      }
      const known = before?.identities.find((one) => one.subject === subject && one.issuer === issuer);
      if (known !== undefined) throw unusable(`That identity is trusted already, as ${showIdentifier(known.name)}.`);
      digest = trustedRootDigest;
      const identities = [...(before?.identities ?? []), { name, subject, issuer }];
      return { ...policy, sigstore: { trustedRootDigest, identities } };
    });
  await change(trialOf(options, ports));
  return withOperator(options, io, ports, async (session) => {
    if (root !== null) {
      makeFolder(sigstoreFolder(home));
      replaceFile(trustedRootPath(home, root.digest), root.bytes, ports.random);
    }
    await change(signerIn(session, ports));
    if (root !== null) dropOldRoots(home, digest);
    const line =
      `Programs that ${showIdentifier(subject)} signed are shown as ${showIdentifier(name)} (trusted root ${digest}). ` +
      "File each program's bundle: gw caller bundle PROGRAM BUNDLE";
    say(io, options.json, { authority: name, subject, issuer, trusted_root_digest: digest }, line);
    return exits.done;
  });
}

function trustImaKey(
  name: string,
  file: string,
  options: TrustOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  const publicKey = readImaKeyFile(file);
  const change = (sign: SignChange): Promise<void> =>
    sign({ what: "caller_signer_trusted", subject: name }, (policy) => {
      requireNewName(policy, name);
      const known = policy.imaKeys.find((one) => one.publicKey.equals(publicKey));
      if (known !== undefined) throw unusable(`That key is trusted already, as ${showIdentifier(known.name)}.`);
      return { ...policy, imaKeys: [...policy.imaKeys, { name, publicKey }] };
    });
  const digest = digestBytes(publicKey);
  const line = `Programs with an IMA signature by this key are shown as ${showIdentifier(name)} (${digest}).`;
  const record = { authority: name, key_digest: digest };
  return signTried(options, io, ports, change, () => say(io, options.json, record, line));
}

/** The public half of a key or certificate, PEM or DER, as policy keeps it. */
export function readImaKeyFile(file: string): Buffer {
  const bytes = readGivenFile(file, defaults.publicKeyFileBytes, "caller_signer_invalid");
  if (bytes.includes("PRIVATE KEY")) {
    throw unusable("That is a private key, which stays with the signer. Give its public half or certificate.");
  }
  const spki = parsePublic(bytes)?.export({ format: "der", type: "spki" });
  if (spki === undefined || readImageKey(spki) === undefined) {
    throw unusable(
      `${file} is no public key or certificate with RSA (2048 bits or more) or a NIST curve, in PEM or DER.`,
    );
  }
  return spki;
}

function parsePublic(bytes: Buffer): KeyObject | undefined {
  const ways: readonly (() => KeyObject)[] = [
    () => new X509Certificate(bytes).publicKey,
    () => createPublicKey({ key: bytes, format: "pem" }),
    () => createPublicKey({ key: bytes, format: "der", type: "spki" }),
  ];
  for (const read of ways) {
    try {
      return read();
    } catch {
      // The next form.
    }
  }
  return undefined;
}

function readRoot(file: string, checks: SignatureChecks): { readonly bytes: Buffer; readonly digest: Digest } {
  const bytes = readGivenFile(file, defaults.sigstoreFileBytes, "caller_signer_invalid");
  checks.requireTrustedRoot(bytes);
  return { bytes, digest: digestBytes(bytes) };
}

function requireNewName(policy: Policy, name: string): void {
  if (listAuthorities(policy).some(({ authority }) => authority === name)) {
    throw unusable(
      `${showIdentifier(name)} names an authority already: gw caller list. Remove it first, or take another name.`,
    );
  }
}

/** What no policy names any more. It grants nothing, so that a failure here changes nothing either. */
function dropOldRoots(home: string, digest: Digest): void {
  const kept = basename(trustedRootPath(home, digest));
  for (const name of readdirSync(sigstoreFolder(home))) {
    if (name.endsWith(".trusted-root.json") && name !== kept) rmSync(join(sigstoreFolder(home), name), { force: true });
  }
}

function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && SUBJECT.test(text) && text.length <= 498;
}

function unusable(message: string): Denied {
  return new Denied("caller_signer_invalid", message);
}
