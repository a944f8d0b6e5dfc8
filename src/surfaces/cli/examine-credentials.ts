import { showBounded, showIdentifier } from "../../kernel/display.ts";
import { summariesOf } from "../../vault/lend.ts";
import type { Vault } from "../../vault/vault.ts";
import type { Finding } from "./doctor.ts";

/** Credentials that somebody has to look after, one row each; none where all is well. */
export function examineCredentials(vault: Vault): readonly Finding[] {
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
