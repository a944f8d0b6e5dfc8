import type { KeyObject } from "node:crypto";
import type { Clock, Sleep } from "../../kernel/clock.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import type { TermName } from "../statement.ts";
import type { Adopted, Adopting, CameHome } from "./adopt.ts";
import type { SharedRow } from "./rows.ts";
import type { RememberedTerm } from "./words.ts";

export type RowKey = Pick<SharedRow, "table" | "id">;

export interface StateParts extends Adopting {
  readonly identity: KeyObject;
  readonly clock: Clock;
  readonly sleep: Sleep;
  connect(): Promise<HubConnection>;
  recall(): RememberedTerm | null;
  /** The newest term that this host ever began on this hub, also before somebody signed for a hub that was put back. */
  lastTerm(): number;
  remember(term: RememberedTerm): Promise<void>;
  /** False once the state of this host is closed: from then on nothing is known of it. */
  isOpen(): boolean;
  /** Everything that another gateway would have to know, as it is on this host now. */
  all(): readonly SharedRow[];
  /** One row as it is now; null where nobody else has to know of it. */
  find(key: RowKey): SharedRow | null;
  /** Whether another process than this one may end it. */
  isEndedElsewhere(row: SharedRow): boolean;
  /** Another gateway took over what this one had under way, and what this one had only just taken over. Resolves once it is let go here. */
  onTaken(by: string, along: readonly TermName[]): Promise<void>;
  /** Whether what this gateway took over has arrived in its own state. */
  has(gateway: string, term: number): boolean;
  /** The gateways that have what was taken over here, as long as nobody here knows how it ended. */
  awaited(): readonly string[];
  /** What a gateway says that has what `holder` took over from here: that one, or whoever took over from there. */
  onTold(holder: string, gateway: string, rows: readonly SharedRow[]): Promise<void>;
  onAdopted(adopted: Adopted, operator: string | null): Promise<CameHome>;
  onTrouble(trouble: Denied): void;
}
