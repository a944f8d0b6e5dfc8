import type { EnrolledPasskey } from "../conventions/passkey/passkey.ts";
import type { Sleep } from "../kernel/clock.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Fleet } from "../surfaces/cli/hub/fleet.ts";
import type { createCredentials } from "./credentials.ts";
import type { createDecisions } from "./decisions.ts";
import type { Live } from "./live.ts";
import type { LogRoom } from "./log.ts";
import type { OwnSecret } from "./own-secret.ts";
import type { createPacks } from "./packs.ts";
import type { createEnrolment } from "./passkeys.ts";
import type { createPolicyRoom } from "./policy.ts";
import type { Turn } from "./turn.ts";

export interface HomeRooms {
  readonly enrolment: ReturnType<typeof createEnrolment>;
  readonly log: LogRoom;
  readonly packs: ReturnType<typeof createPacks>;
  readonly credentials: ReturnType<typeof createCredentials>;
  readonly policy: ReturnType<typeof createPolicyRoom>;
  /** All that policy holds, and which count. */
  passkeys(): readonly (EnrolledPasskey & { readonly counts: boolean; readonly here: boolean })[];
}

/** The console's work, as its routes see it. */
export interface Api {
  /** It listens beyond this machine: it looks and decides, and takes nothing that is typed. */
  readonly remote: boolean;
  readonly turn: Turn;
  readonly sleep: Sleep["sleep"];
  readonly live: Live;
  readonly secret: OwnSecret;
  readonly decisions: ReturnType<typeof createDecisions>;
  /** What is kept and signed in the home of one gateway; null at a console that looks at a hub. */
  readonly home: HomeRooms | null;
  /** All gateways of the vault; null at a console of one. */
  readonly fleet: Fleet | null;
  me(): JsonObject;
  /** The passkeys of this operator that can answer at this place. */
  ownHere(): readonly EnrolledPasskey[];
  /** Five minutes more for the very card that the page shows. */
  extend(approvalId: string, body: JsonObject): Promise<unknown>;
  /** Signs a grant that was written on one line, beside a card; `behind` names who has not taken it yet, on a hub. */
  grant(line: string): Promise<{ readonly name: string; readonly behind: readonly string[] }>;
  settle(operationId: string, body: JsonObject): Promise<unknown>;
  activity(query: URLSearchParams): Promise<unknown>;
  charts(): Promise<unknown>;
  /** The gateway is named where there are several. */
  call(id: string, gateway: string | null): Promise<unknown>;
  /** What an attempt wrote, as lines of an asciicast. */
  recording(attemptId: string): Promise<readonly string[]>;
}
