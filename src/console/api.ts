import type { EnrolledPasskey } from "../conventions/passkey/passkey.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { createCredentials } from "./credentials.ts";
import type { createDecisions } from "./decisions.ts";
import type { Live } from "./live.ts";
import type { LogRoom } from "./log.ts";
import type { OwnSecret } from "./own-secret.ts";
import type { createPacks } from "./packs.ts";
import type { createEnrolment } from "./passkeys.ts";
import type { createPolicyRoom } from "./policy.ts";

/** The console's work, as its routes see it. */
export interface Api {
  readonly live: Live;
  readonly secret: OwnSecret;
  readonly decisions: ReturnType<typeof createDecisions>;
  readonly enrolment: ReturnType<typeof createEnrolment>;
  readonly log: LogRoom;
  readonly packs: ReturnType<typeof createPacks>;
  readonly credentials: ReturnType<typeof createCredentials>;
  readonly policy: ReturnType<typeof createPolicyRoom>;
  me(): JsonObject;
  /** All that policy holds, and which count. */
  passkeys(): readonly (EnrolledPasskey & { readonly counts: boolean; readonly here: boolean })[];
  /** Signs a grant that was written on one line, beside a card. */
  grant(line: string): Promise<JsonObject>;
  settle(operationId: string, body: JsonObject): Promise<unknown>;
  activity(query: URLSearchParams): Promise<JsonObject>;
  call(id: string): Promise<unknown>;
}
