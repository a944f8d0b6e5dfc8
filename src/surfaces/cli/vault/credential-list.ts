import { openHome } from "../../../vault/files/home.ts";
import { sourcePage } from "../../../vault/source/source.ts";
import { type CredentialSummary, summariesOf } from "../../../vault/summary.ts";
import { exchangeMember, takesAll } from "../../../vault/token/exchange.ts";
import type { CredentialUse } from "../../operator/answers.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import type { VaultCliPorts, VaultOptions } from "./session.ts";

/**
 * `gw credential list`: what the vault holds, which nobody is asked for. Until when a token is good and when one was last used is what
 * the running gateway knows: it says so to whoever is logged in.
 */
export function runCredentialList(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  askUses: () => Promise<readonly CredentialUse[] | null> = async () => null,
): Promise<Exit> {
  return answering(io, async () => {
    const summaries = summariesOf(openHome(options.home, ports.random).readVault());
    const uses = summaries.length === 0 ? null : await askUses();
    const rows = summaries.map((summary) => {
      const use = uses?.find(({ label }) => label === summary.label);
      const token = use?.token ?? null;
      return {
        ...recordOf(summary),
        token_expires_at: token?.expires_at ?? null,
        last_used_at: use?.last_used_at ?? null,
      };
    });
    const wide = new Set(
      summaries.flatMap(({ label, exchange }) => (exchange !== null && takesAll(exchange) ? [label] : [])),
    );
    if (options.json) io.out(JSON.stringify(rows));
    else if (rows.length === 0)
      io.out("No credentials yet: gw credential add LABEL --kind bearer --origin https://HOST");
    else {
      for (const row of rows) io.out(lineOf(row, uses !== null, wide.has(row.label)));
      if (uses === null) io.err("Last use and expiry of tokens: gw login first, or gw credential uses.");
    }
    return exits.done;
  });
}

export function recordOf(summary: CredentialSummary) {
  return {
    label: summary.label,
    kind: summary.kind,
    version: summary.version,
    bound_to: summary.boundTo,
    each_use: summary.eachUse,
    state: summary.state,
    header_name: summary.headerName,
    public_key: summary.publicKey,
    ...exchangeMember(summary.exchange),
    ...(summary.keyId === null ? {} : { key_id: summary.keyId }),
    ...(summary.withCertificate === null ? {} : { with_certificate: summary.withCertificate }),
    ...(summary.source === null ? {} : { source: sourcePage(summary.source) }),
    ...(summary.lenders === null ? {} : { lent_by: summary.lenders }),
    expires_at: summary.expiresAt,
    created_at: summary.createdAt,
    rotated_at: summary.rotatedAt,
    retired_versions: summary.retiredVersions,
  };
}

type Row = ReturnType<typeof recordOf> & {
  readonly token_expires_at: string | null;
  readonly last_used_at: string | null;
};

function lineOf(row: Row, known: boolean, wide: boolean): string {
  const marks = [
    row.each_use ? "asks each use" : "",
    row.state === "enabled" ? "" : row.state,
    wide ? "every permission of the app" : "",
    row.with_certificate === undefined ? "" : `with ${row.with_certificate}`,
    row.source === undefined ? "" : `from ${row.source["kind"]}`,
    row.lent_by === undefined ? "" : `lent by ${row.lent_by.join(" ")} alone`,
    row.expires_at === null ? "" : `certificate until ${row.expires_at}`,
    row.token_expires_at === null ? "" : `token until ${row.token_expires_at}`,
    known ? `last used ${row.last_used_at ?? "not since the unlock"}` : "",
  ]
    .filter(Boolean)
    .join(", ");
  return `${row.label}  ${row.kind} v${row.version}  ${row.bound_to.join(" ")}${marks === "" ? "" : `  (${marks})`}`;
}
