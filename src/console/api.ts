import type { EnrolledPasskey } from "../conventions/passkey/passkey.ts";
import type { Sleep } from "../kernel/clock.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { createCredentials } from "./credentials.ts";
import type { createDecisions } from "./decisions.ts";
import type { Live } from "./live.ts";
import type { LogRoom } from "./log.ts";
import type { OwnSecret } from "./own-secret.ts";
import type { createPacks } from "./packs.ts";
import type { createEnrolment } from "./passkeys.ts";
import type { createPolicyRoom } from "./policy.ts";
import type { Turn } from "./turn.ts";

/** The console's work, as its routes see it. */
export interface Api {
  /** It listens beyond this machine: it looks and decides, and takes nothing that is typed. */
  readonly remote: boolean;
  readonly turn: Turn;
  readonly sleep: Sleep["sleep"];
  readonly live: Live;
  readonly secret: OwnSecret;
  readonly decisions: ReturnType<typeof createDecisions>;
  readonly enrolment: ReturnType<typeof createEnrolment>;
  readonly log: LogRoom;
  readonly packs: ReturnType<typeof createPacks>;
  readonly credentials: ReturnType<typeof createCredentials>;
  readonly policy: ReturnType<typeof createPolicyRoom>;
  me(): JsonObject;
  /** The passkeys of this operator that can answer at this place. */
  ownHere(): readonly EnrolledPasskey[];
  /** All that policy holds, and which count. */
  passkeys(): readonly (EnrolledPasskey & { readonly counts: boolean; readonly here: boolean })[];
  /** Signs a grant that was written on one line, beside a card. */
  grant(line: string): Promise<JsonObject>;
  settle(operationId: string, body: JsonObject): Promise<unknown>;
  activity(query: URLSearchParams): Promise<unknown>;
  charts(): Promise<unknown>;
  call(id: string): Promise<unknown>;
  /** What an attempt wrote, as lines of an asciicast. */
  recording(attemptId: string): Promise<readonly string[]>;
}
