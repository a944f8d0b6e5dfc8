import { defaults } from "../../kernel/defaults.ts";
import { showBounded, showIdentifier } from "../../kernel/display.ts";
import { type CredentialSummary, summariesOf } from "../../vault/summary.ts";
import { takesAll } from "../../vault/token/exchange.ts";
import type { Vault } from "../../vault/vault.ts";
import type { Finding } from "./doctor.ts";

/** Credentials that somebody has to look after, one row each; none where all is well. */
export function examineCredentials(vault: Vault, wallMs: number): readonly Finding[] {
  const all = summariesOf(vault);
  return [...all.flatMap((one) => ending(one, wallMs)), ...suspended(vault), ...all.flatMap(wide)];
}

function wide({ label, exchange }: CredentialSummary): readonly Finding[] {
  if (exchange === null || !takesAll(exchange)) return [];
  const name = showIdentifier(label);
  return [
    {
      name: "permissions",
      state: "warning",
      detail: `a token of ${name} has every permission of its app: it was added without --scope`,
      mend: `gw credential remove ${name}, then add it with --scope issues:read`,
    },
  ];
}

function ending({ label, expiresAt }: CredentialSummary, wallMs: number): readonly Finding[] {
  if (expiresAt === null) return [];
  const leftMs = Date.parse(expiresAt) - wallMs;
  if (leftMs > defaults.certificateSoonMs) return [];
  const when = leftMs <= 0 ? `ended at ${expiresAt}: no call with it works` : `ends at ${expiresAt}`;
  return [
    {
      name: "certificate",
      state: leftMs <= 0 ? "missing" : "warning",
      detail: `${showIdentifier(label)} ${when}`,
      mend: `cat chain.pem key.pem | gw credential rotate ${showIdentifier(label)}`,
    },
  ];
}

function suspended(vault: Vault): readonly Finding[] {
  return summariesOf(vault).flatMap(({ label, state, version, exchange }): readonly Finding[] => {
    if (state !== "suspended") return [];
    const note = vault.notes.suspended.find((one) => one.label === label && one.version === version);
    const why = note === undefined ? "" : ` since ${note.at}: ${showBounded(note.reason, 200)}`;
    const mend =
      exchange?.grant === "refresh_token" && (exchange.authorizationEndpoint ?? exchange.deviceEndpoint) !== null;
    return [
      {
        name: "suspended",
        state: "warning",
        detail: `${showIdentifier(label)}${why}`,
        mend: `gw credential ${mend ? "login" : "rotate"} ${showIdentifier(label)}`,
      },
    ];
  });
}
