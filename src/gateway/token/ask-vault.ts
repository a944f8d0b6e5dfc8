import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import type { VaultSource } from "../../vault/source/remote.ts";
import { requireUnlocked } from "../core.ts";
import { type Asking, askStore } from "./ask-store.ts";
import { sourceRequest } from "./request.ts";

/** Takes ownership of the token. */
export function tokenLoan(label: string, token: Secret): HttpLoan {
  return { label, headerName: "x-vault-token", headerValue: token, secrets: [token], release: () => token.wipe() };
}

/** Vault names the token that it renewed, and its answer is not withheld for that: nobody but us sees it. So it goes as a field that is not looked for. */
export function namedBack({ label, headerName, headerValue, release }: HttpLoan): HttpLoan {
  const nothing = Secret.take(Buffer.alloc(0));
  const further = [{ name: headerName, value: headerValue }];
  return { label, headerName: "", headerValue: nothing, further, secrets: [], release };
}

export function secretIdLoan({ core, label }: Asking<VaultSource>): HttpLoan {
  const value = requireUnlocked(core).lendOpener(label);
  const nothing = Secret.take(Buffer.alloc(0));
  const json = [{ name: "secret_id", value }];
  return { label, headerName: "", headerValue: nothing, json, secrets: [value], release: () => value.wipe() };
}

export function askVault(
  asking: Asking<VaultSource>,
  verb: "exchange" | "source" | "revoke",
  path: string,
  body: JsonObject,
  lend: () => HttpLoan,
  behindLock = false,
): ReturnType<typeof askStore> {
  const { label, source } = asking;
  const url = `${new URL(source.url).origin}/v1/${path}`;
  const timeoutMs = verb === "revoke" ? defaults.sourceEndMs : defaults.tokenExchangeMs;
  const request = sourceRequest(`${verb}.${label}`, label, source, { method: "POST", url, body, timeoutMs });
  const ends = behindLock ? "behind_lock" : "open";
  return askStore(asking, request, lend, verb === "revoke" ? ends : null);
}

/** Null where the vault lends it no more. */
export function loanOrNull(lend: () => HttpLoan): HttpLoan | null {
  try {
    return lend();
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

/** Whether Vault did it. A denial of our own is a no as well. */
export function isDone(asked: ReturnType<typeof askStore>): Promise<boolean> {
  return asked.then(
    ({ kind }) => kind === "answered",
    (error: unknown) => {
      if (error instanceof Denied) return false;
      throw error;
    },
  );
}
