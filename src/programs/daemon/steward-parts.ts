import type { ResumableLog } from "../../audit/resumable.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Envelope } from "../../gateway/record/record.ts";
import type { Bell } from "../../gateway/webhook/bell.ts";
import type { Clock, Random } from "../../kernel/clock.ts";
import type { Code } from "../../kernel/codes.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { HomeCustody } from "../../surfaces/operator/custody.ts";
import type { Logins } from "../../surfaces/operator/logins.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import type { HighWater } from "../../vault/high-water.ts";
import type { CallbackDoor } from "./callback-door.ts";
import type { ProbeHost } from "./check-host.ts";
import type { HubLink } from "./hub/link.ts";
import type { KeyFileWatch } from "./key-file.ts";
import type { ModeFinder } from "./mode.ts";
import type { OperatorUsers } from "./operator-users.ts";
import type { LoadedPacks } from "./packs.ts";
import type { Settings } from "./settings.ts";
import type { Trust } from "./trust.ts";
import type { OpenCompartment } from "./unlocked.ts";

export interface StewardParts {
  readonly version: string;
  readonly settings: Settings;
  readonly home: VaultHome;
  readonly log: ResumableLog;
  readonly gateway: Gateway;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly random: Random;
  readonly logins: Logins;
  readonly state: StewardState;
  readonly probe: ProbeHost;
  readonly callbacks: CallbackDoor;
  readonly bell: Pick<Bell, "status">;
  readonly hub: HubLink;
  readonly space: { low(): boolean };
  readonly custody: HomeCustody;
  readonly modes: Pick<ModeFinder, "mode" | "openFolder">;
  readonly keyFile: KeyFileWatch;
  readonly operatorUsers: OperatorUsers;
}

/** What can change while the gateway runs, in one place that the gateway's surroundings read from. */
export interface StewardState {
  trust: Trust;
  /** The newest vault and policy seen by this process, its store or its log. Never lowered, and never by what does not hold. */
  high: HighWater;
  /** Which files were looked at last, and why they were not taken. */
  files: string;
  filesRefused: Denied | null;
  packs: LoadedPacks;
  compartment: OpenCompartment | null;
  stoppedBy: Stop | null;
}

/** Why it stopped, and by which code where that is one of ours. */
interface Stop {
  readonly message: string;
  readonly code: Code | null;
}
