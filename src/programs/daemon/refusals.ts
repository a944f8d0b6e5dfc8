import type { HouseEvent } from "../../gateway/record/ledger.ts";
import { bytesOf } from "../../gateway/record/written.ts";
import { defaults } from "../../kernel/defaults.ts";
import { OPERATOR_SOCKET } from "./plane-records.ts";
import type { StewardParts } from "./steward-parts.ts";

/** Tells the log of what the gateway did not obey. A refusal stands whatever the log takes, and whoever meets it hears why: while there is no room its word stands in line. */
export interface Refusals {
  tell(event: HouseEvent): Promise<void>;
  /** What anybody who reaches the socket can bring about: once a second at most, while there is no room once a minute, and as theirs. */
  tellSeldom(event: HouseEvent): Promise<void>;
}

export function createRefusals({
  gateway: { ledger, volume },
  clock,
  space,
}: Pick<StewardParts, "gateway" | "clock" | "space">): Refusals {
  const toldMs = new Map<string, number>();
  const tell = (event: HouseEvent): Promise<void> => ledger.noteHappened([event]).catch(() => undefined);
  return {
    tell,
    async tellSeldom(event) {
      const nowMs = clock.bootMs();
      const sinceMs = nowMs - (toldMs.get(event.event_type) ?? Number.NEGATIVE_INFINITY);
      const room = !space.low() && volume.tells(OPERATOR_SOCKET) && ledger.hasRoom();
      if (sinceMs < (room ? defaults.countedMs : defaults.countedSeldomMs)) return;
      toldMs.set(event.event_type, nowMs);
      volume.charge(OPERATOR_SOCKET, bytesOf([event]));
      await tell(event);
    },
  };
}
