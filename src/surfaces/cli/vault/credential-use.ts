import { Denied } from "../../../kernel/failure.ts";
import { findEntry } from "../../../vault/entry.ts";
import { openHome } from "../../../vault/files/home.ts";
import { Unreachable } from "../../client/connection.ts";
import { connectOperator } from "../../client/operator.ts";
import type { ReadingClient } from "../../client/reading.ts";
import type { CredentialUse, TokenView } from "../../operator/answers.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { lookFirst, withGateway, withReadingGateway } from "../operator/session.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { say, type VaultSession } from "./session.ts";

/** `gw credential test LABEL`: gets a token now, through the running gateway, and says what it is good for. */
export function runCredentialTest(label: string, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    findEntry(openHome(options.home, deps.random).readVault(), label);
    return withGateway(options, deps, async ({ client }) => {
      const token = await client.testCredential(label);
      say(deps.io, options.json, { label, ...token }, `${label}: ${sayToken(token)}`);
      return exits.done;
    });
  });
}

/** `gw credential uses`: when each was last used since the gateway was unlocked, and until when its token is good. */
export function runCredentialUses(options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () =>
    withReadingGateway(options, deps, async ({ client }) => {
      const rows = await client.credentialUses();
      if (options.json) deps.io.out(JSON.stringify(rows));
      else if (rows.length === 0) deps.io.out("No credential was used since the gateway was unlocked.");
      else
        for (const { label, last_used_at: at, token } of rows)
          deps.io.out(
            `${label}  ${at === null ? "not used since the unlock" : `last used ${at}`}${token === null ? "" : `; ${sayToken(token)}`}`,
          );
      return exits.done;
    }),
  );
}

/** Null where there is nobody to ask, or nobody who may. */
export async function askUses(options: OperatorOptions, deps: CliDeps): Promise<readonly CredentialUse[] | null> {
  let uses: readonly CredentialUse[] | null = null;
  const look = async (client: ReadingClient): Promise<void> => {
    uses = await client.credentialUses();
  };
  try {
    if (options.passphraseFile === undefined) await lookFirst(options, deps, look);
    else
      await withReadingGateway(options, deps, async ({ client }) => {
        await look(client);
        return exits.done;
      });
  } catch (error) {
    if (!(error instanceof Denied || error instanceof Unreachable)) throw error;
  }
  return uses;
}

function sayToken({ expires_at, scopes, missing }: TokenView): string {
  const good = scopes.length === 0 ? "" : `, good for ${scopes.join(" ")}`;
  const less = missing.length === 0 ? "" : `; asked for and not granted: ${missing.join(" ")}`;
  return `a token until ${expires_at}${good}${less}`;
}

/** Before a refresh token (RFC 7009) or a lease is forgotten here, whoever gave it is told. That nobody could be told stops nothing. */
export async function revokeFirst(
  label: string,
  options: OperatorOptions,
  { io, clock }: Pick<CliDeps, "io" | "clock">,
  { home, operator }: VaultSession,
): Promise<void> {
  const { exchange, source } = home.readVault().credentials.find((one) => one.label === label) ?? NEITHER;
  const leased = source?.kind === "vault-kv" || source?.kind === "vault-dynamic";
  if (!leased && (exchange?.grant !== "refresh_token" || exchange.revocationEndpoint === null)) return;
  let why = "the provider did not take it";
  try {
    const client = await connectOperator(operatorDoor(options), operator, clock);
    try {
      if (await client.revokeCredential(label)) return;
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof Denied || error instanceof Unreachable)) throw error;
    why = error instanceof Denied ? error.code : "the gateway does not run";
  }
  io.err(
    leased
      ? `warning: what the store gave for ${label} may not be ended: ${why}. It ends with its lease; Vault's own command ends it at once.`
      : `warning: the refresh token of ${label} is not revoked: ${why}. Revoke it at the provider.`,
  );
}

const NEITHER = { exchange: null, source: null };
