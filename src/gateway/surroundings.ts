import type { Grant } from "../conventions/grant/grant.ts";
import type { TicketService } from "../conventions/ticket/lookup.ts";
import type { IssuerKey } from "../conventions/ticket/verify.ts";
import type { SecretVersion } from "../vault/entry.ts";
import type { DecidingKeys } from "./approval/needs.ts";
import type { PackBook } from "./outbound/outbound.ts";
import type { Credentials, StateStore } from "./ports.ts";
import type { Posture } from "./posture.ts";

/** What the service key opened. */
export interface Unlocked {
  readonly credentials: Credentials;
  readonly store: StateStore;
}

/** What the composition root knows and the gateway asks for when it needs it, since signed policy can change. */
export interface Surroundings {
  packs(): PackBook;
  posture(): Posture;
  /** None where absent. */
  grants?(): readonly Grant[];
  /** Nobody where absent. */
  isAgentUser?(uid: number): boolean;
  operators(): DecidingKeys;
  /** Puts what a passkey answered into the log in clear. Nowhere where absent. */
  showHand?(text: string): void;
  /** Whose work contexts count beside the operators' own. */
  ticketIssuers(): readonly IssuerKey[];
  /** Where tickets are looked up before they count; none where it is not given. */
  ticketServices?(): readonly TicketService[];
  /**
   * Names this process among the workers on one store. The same name after a restart takes its own leases up again, so it
   * must be one that a lock keeps to one process, such as the log's.
   */
  readonly worker?: string;
  /** Stops lending this secret of a credential, here and in the vault's file. Nothing where absent. */
  suspendCredential?(label: string, of: SecretVersion, reason: string): Promise<void>;
  /** The gateway can no longer record and has stopped sending. */
  onStop(cause: unknown): void;
}
