import type { OperatorKey } from "../../conventions/approval/decision.ts";
import type { Volume } from "../../conventions/budget/volume.ts";
import type { EnrolledPasskey } from "../../conventions/passkey/passkey.ts";
import type { Clock, Sleep } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Posture } from "../posture.ts";
import type { Ledger } from "../record/ledger.ts";
import type { Run } from "../run/run.ts";
import type { Accept } from "./question.ts";

/** What this room needs of the gateway, and nothing else of it. */
export interface ApprovalNeeds {
  /** Takes the work context that a person may assign while letting the run begin. */
  acceptTicket(run: Run): Accept;
  posture(): Posture;
}

/** What the desk needs, where questions wait. */
export interface DeskPorts {
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly ids: Ids;
  readonly record: Ledger["record"];
  readonly find: Ledger["find"];
  readonly hasRoom: Ledger["hasRoom"];
  /** Puts what a passkey answered into the log in clear, for whoever has no key to it. */
  showHand?(text: string): void;
  readonly volume: Volume;
  operators(): DecidingKeys;
}

/** Whose decisions count: operators by their keys, and the passkeys that they signed for. */
export interface DecidingKeys {
  readonly vaultId: string;
  readonly keys: readonly OperatorKey[];
  /** None where it is not given. */
  readonly passkeys?: readonly EnrolledPasskey[];
}
