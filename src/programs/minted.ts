import { systemRandom } from "../adapters/platform/system.ts";
import { openStateStore } from "../adapters/store/sqlite/state.ts";
import { isAlsoElsewhere, MINTED } from "../gateway/attempt/mint.ts";
import { Secret } from "../kernel/secret.ts";
import type { MintedStore, OpenMinted } from "../surfaces/cli/vault/minted.ts";
import { openHeld } from "../vault/held-secret.ts";
import { openService } from "../vault/lend.ts";
import { readSettings } from "./daemon/settings.ts";

/** The gateway's state, opened by an operator with the key of their own vault; a running gateway is not disturbed. */
export const openMinted: OpenMinted = async (home, vault, { serviceKey, readingKey }): Promise<MintedStore> => {
  const service = openService(vault, serviceKey);
  const store = await openStateStore(
    (await readSettings(home)).stateFile,
    service.deriveStateKey("state rows"),
    systemRandom,
  );
  const rowOf = (mintedId: string) => {
    const row = store.find("notes", `${MINTED} ${mintedId}`);
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
};
