import { digestBytes } from "../../../kernel/canonical-json.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { openHome } from "../../../vault/files/home.ts";
import type { PolicyContent } from "../../../vault/policy/policy.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import type { VaultCliPorts, VaultOptions } from "../vault/session.ts";

/** What a card may name as the authority of a caller, because signed policy says so. */
type AuthorityRow =
  | {
      readonly kind: "enrolled";
      readonly authority: string;
      readonly image_digest: string;
      readonly enrolled_at: string;
    }
  | {
      readonly kind: "sigstore";
      readonly authority: string;
      readonly subject: string;
      readonly issuer: string;
      readonly trusted_root_digest: string;
    }
  | { readonly kind: "ima"; readonly authority: string; readonly key_digest: string };

export function runCallerList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const rows = listAuthorities(home.readPolicy(home.readVault()));
    if (options.json) io.out(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) io.out("No program is vouched for: gw caller enroll FILE --as NAME");
    else for (const row of rows) io.out(authorityLine(row));
    return exits.done;
  });
}

export function listAuthorities({
  callers,
  sigstore,
  imaKeys,
}: Pick<PolicyContent, "callers" | "sigstore" | "imaKeys">): readonly AuthorityRow[] {
  return [
    ...callers.map(({ authority, imageDigest, enrolledAt }) => ({
      kind: "enrolled" as const,
      authority,
      image_digest: imageDigest,
      enrolled_at: enrolledAt,
    })),
    ...(sigstore?.identities ?? []).map(({ name, subject, issuer }) => ({
      kind: "sigstore" as const,
      authority: name,
      subject,
      issuer,
      trusted_root_digest: sigstore?.trustedRootDigest ?? "",
    })),
    ...imaKeys.map(({ name, publicKey }) => ({
      kind: "ima" as const,
      authority: name,
      key_digest: digestBytes(publicKey),
    })),
  ];
}

export function authorityLine(row: AuthorityRow): string {
  const name = showIdentifier(row.authority);
  switch (row.kind) {
    case "enrolled":
      return `${name}  this file  ${row.image_digest}  since ${row.enrolled_at}`;
    case "sigstore":
      return `${name}  Sigstore  ${showIdentifier(row.subject)} by ${showIdentifier(row.issuer)}  root ${row.trusted_root_digest}`;
    case "ima":
      return `${name}  IMA key  ${row.key_digest}`;
  }
}
