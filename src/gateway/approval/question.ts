import type { NewEvent } from "../../audit/event.ts";
import type { Card } from "../../conventions/approval/card.ts";
import type { DecisionStatement, Narrowing, Verified } from "../../conventions/approval/decision.ts";
import type { CardPlace } from "../../conventions/approval/queue.ts";
import type { ApprovalState } from "../../conventions/approval/state.ts";
import type { LimitsRecord } from "../../conventions/budget/record.ts";
import type { Demand } from "../../conventions/passkey/demand.ts";
import type { ApprovalId } from "../../kernel/ids.ts";

/** Stands where a caller's user would: what the gateway asks for itself takes no place in anybody's line. */
export const NO_USER = -1;

/** What a person is to be asked, before anybody has seen it. */
export interface Question extends CardPlace {
  readonly runId: string;
  readonly callId: string | null;
  readonly mode: "session" | "each_use" | "join" | "redirect" | "access" | "custody";
  readonly action: string | null;
  /** What is asked, without identifiers and budget: the same question again has the same digest. */
  readonly askDigest: string;
  /** The same of the call alone, where there is one: what is denied by itself is not asked as a part of something larger. */
  readonly callDigest?: string;
  /** The budget that would be granted; null where none would. */
  readonly budget: LimitsRecord | null;
  readonly deadlineBootMs: number;
  /** Chosen before the question is asked, where the request itself names it. */
  readonly approvalId?: ApprovalId;
  writeCard(approvalId: ApprovalId, createdAt: string, expiresAt: string): Card;
  /** What policy demands of a yes to it now; nothing where it is not given. */
  demand?(): Demand;
  /** What an approval has to bring, or may, beside its signature. Refused here, it decides nothing. */
  readonly accept?: Accept;
}

export type Accept = (decision: Verified<DecisionStatement>) => Promise<Acceptance>;

/** What came with an approval: written down together with it, and taken once it stands. */
export interface Acceptance {
  readonly events: readonly NewEvent[];
  take(): void;
}

/** The question as it stands: in line, shown, or decided. */
export interface Approval {
  readonly approvalId: ApprovalId;
  readonly runId: string;
  readonly callId: string | null;
  readonly callerKey: string;
  readonly uid: number;
  readonly mode: Question["mode"];
  readonly state: ApprovalState;
  /** Null while it waits in line: nobody has seen it. */
  readonly card: Card | null;
  readonly cardDigest: string | null;
  readonly askedBootMs: number;
  readonly expiresBootMs: number;
  readonly decidedBy: string | null;
  readonly reason: string | null;
  /** Who said yes already, where two people have to. */
  readonly given: readonly Given[];
}

/** One yes of two. The second has to be to the same thing. */
export interface Given {
  readonly operator: string;
  readonly operatorKeyId: string;
  readonly decidedAt: string;
  readonly narrow: Narrowing | null;
  /** The credential id of the passkey that answered; null where none did. */
  readonly passkey: string | null;
}

/** What whoever asked holds while a person thinks. */
export interface Ask {
  readonly approvalId: ApprovalId;
  readonly answer: Promise<Verified<DecisionStatement>>;
}
