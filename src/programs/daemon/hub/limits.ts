import { createHmac, type KeyObject } from "node:crypto";
import type { StateStore } from "../../../gateway/ports.ts";
import type { LimitSeal } from "../../../hub/limit-rows.ts";
import type { LimitParts } from "../../../hub/limits.ts";
import type { Random } from "../../../kernel/clock.ts";
import { seal, unseal } from "../../../vault/box.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";

export const LIMITS_PURPOSE = "hub limits";

/** Under a key of the vault's state: every gateway that opens the same vault has it. */
export function limitSeal(key: KeyObject, random: Random): LimitSeal {
  return {
    hide: (name) => createHmac("sha256", key).update(`limit ${name}`).digest("hex"),
    seal: (about, plain) => seal(key, about, plain, random),
    open(about, sealed) {
      using plain = unseal(key, about, sealed);
      return plain?.use((bytes) => Buffer.from(bytes));
    },
  };
}

/** What this host saw of each limit, in its own state. What was seen before the operator last signed the hub does not count. */
export function limitNotes(
  store: () => StateStore | null,
  { hubId, joinedAt }: HubMembership,
): Pick<LimitParts, "recall" | "remember"> {
  const idOf = (name: string): string => `hub limit ${name}`;
  return {
    recall(name) {
      const row = store()?.find("notes", idOf(name)) ?? null;
      if (row === null || "tampered" in row) return null;
      const { hub_id, joined_at, day, version, serial } = row.body;
      if (hub_id !== hubId || joined_at !== joinedAt) return null;
      return { day: String(day), version: Number(version), serial: Number(serial) };
    },
    async remember(name, seen) {
      const body = { hub_id: hubId, joined_at: joinedAt, ...seen };
      await store()?.commit([{ table: "notes", id: idOf(name), runId: "", state: "kept", body }], "process");
    },
  };
}
