import { join } from "node:path";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { replaceFile } from "../../../vault/files/atomic-write.ts";
import { openHome } from "../../../vault/files/home.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { readPlainFile } from "../../../vault/files/private-file.ts";
import { bundleName, bundlesFolder, trustedRootPath } from "../../../vault/policy/sigstore-files.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readGivenFile } from "../read-given-file.ts";
import { say, type VaultCliPorts, type VaultOptions } from "../vault/session.ts";
import { findProgram } from "./enroll.ts";
import type { SignatureChecks } from "./signatures.ts";

/**
 * `gw caller bundle PROGRAM BUNDLE`: files a program's Sigstore bundle where the gateway looks. It needs no passphrase,
 * because a bundle gives nothing away: it is checked here, and again for every caller.
 */
export function runCallerBundle(
  file: string,
  bundleFile: string,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  signatures: () => Promise<SignatureChecks>,
): Promise<Exit> {
  return answering(io, async () => {
    const home = openHome(options.home, ports.random);
    const { sigstore } = home.readPolicy(home.readVault());
    if (sigstore === null) {
      throw new Denied(
        "caller_signer_invalid",
        "No Sigstore identity is trusted yet: gw caller trust NAME --subject … --issuer … --root FILE",
      );
    }
    const bundle = readGivenFile(bundleFile, defaults.sigstoreFileBytes, "caller_signer_invalid");
    const root = trustedRootPath(options.home, sigstore.trustedRootDigest);
    const trustedRoot = readPlainFile(root, defaults.sigstoreFileBytes);
    if (trustedRoot === undefined) throw new Denied("caller_signer_invalid", `${root} is not there.`);
    const program = findProgram(file);
    const { identities } = sigstore;
    const { imageDigest, claim } = (await signatures()).checkBundle({ program, bundle, trustedRoot, identities });
    if (claim.kind === "invalid") {
      throw new Denied(
        "caller_signer_invalid",
        `The bundle does not vouch for ${showIdentifier(program)}: ${showIdentifier(claim.why)}.`,
      );
    }
    makeFolder(bundlesFolder(options.home));
    replaceFile(join(bundlesFolder(options.home), bundleName(imageDigest)), bundle, ports.random);
    const signer = `${showIdentifier(claim.subject)}, vouched for by ${showIdentifier(claim.issuer)}`;
    const { subject, issuer } = claim;
    const record = {
      program,
      image_digest: imageDigest,
      subject,
      issuer,
      authority: claim.kind === "valid" ? claim.name : null,
    };
    const line =
      claim.kind === "valid"
        ? `${showIdentifier(program)} is signed by ${signer}: cards will name ${showIdentifier(claim.name)}.`
        : `${showIdentifier(program)} is signed by ${signer}, whom policy does not name: cards will still call it unsigned.`;
    say(io, options.json, record, line);
    return exits.done;
  });
}
