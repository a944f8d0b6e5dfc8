import { existsSync } from "node:fs";
import { systemRandom } from "../adapters/platform/system.ts";
import { openSqlite } from "../adapters/store/sqlite/open.ts";
import { openStateStore } from "../adapters/store/sqlite/state.ts";
import { isAlsoElsewhere, MINTED } from "../gateway/attempt/mint.ts";
import { Secret } from "../kernel/secret.ts";
import type { MintedKeeper, MintedStore } from "../surfaces/cli/vault/minted.ts";
import { openHeld } from "../vault/held-secret.ts";
import { openService } from "../vault/lend.ts";
import type { OpenOperator } from "../vault/operator.ts";
import type { Vault } from "../vault/vault.ts";
import { readSettings } from "./daemon/settings.ts";

/** The gateway's state, opened by an operator with the key of their own vault; a running gateway is not disturbed. */
export const mintedKeeper: MintedKeeper = { isThere, open };

/** By the names of rows, which stand in the clear. */
async function isThere(home: string, mintedId: string): Promise<boolean> {
  const { stateFile } = await readSettings(home);
  if (!existsSync(stateFile)) return false;
  const file = openSqlite(stateFile, { synchronous: "normal" });
  try {
    const named = file.handle.prepare("select 1 from notes where id = ? and state = ?");
    return named.get(rowIdOf(mintedId), MINTED) !== undefined;
  } finally {
    file.close();
  }
}

async function open(
  home: string,
  vault: Vault,
  { serviceKey, readingKey }: Pick<OpenOperator, "serviceKey" | "readingKey">,
): Promise<MintedStore> {
  const service = openService(vault, serviceKey);
  const store = await openStateStore(
    (await readSettings(home)).stateFile,
    service.deriveStateKey("state rows"),
    systemRandom,
  );
  const rowOf = (mintedId: string) => {
    const row = store.find("notes", rowIdOf(mintedId));
    return row === null || "tampered" in row || row.state !== MINTED ? undefined : row;
  };
  return {
    list: () =>
      store.load("notes", MINTED).flatMap((row) => {
        if ("tampered" in row) return [];
        const text = (name: string): string => String(row.body[name] ?? "");
        const also = isAlsoElsewhere(row) ? { also_on: text("taken_by") } : {};
        return [{ minted_id: text("minted_id"), action: text("action"), at: text("at"), ...also }];
      }),
    secretOf(mintedId) {
      const row = rowOf(mintedId);
      const { secret = null, held = null } = row?.body ?? {};
      if (typeof secret === "string") return Secret.fromText(secret);
      // Of a gateway that was taken over, and had it for some gateways alone: operators may have it too.
      if (row === undefined || typeof held !== "string") return undefined;
      return openHeld(readingKey, vault.vaultId, row.id, Buffer.from(held, "base64"));
    },
    async forget(mintedId) {
      const row = rowOf(mintedId);
      if (row !== undefined) await store.commit([{ ...row, body: {}, over: true }], "power");
    },
    async close() {
      await store.close();
      service.wipe();
    },
  };
}

function rowIdOf(mintedId: string): string {
  return `${MINTED} ${mintedId}`;
}
