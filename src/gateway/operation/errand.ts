import { type ErrandStatement, statementBytes, type Verified } from "../../conventions/approval/decision.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { StateRow } from "../ports.ts";
import type { OperationNeeds } from "./needs.ts";
import { linksOf } from "./operation.ts";
import type { Operation } from "./operations.ts";

/** The state of a row that says that a signed word was taken. Its name begins with when it was signed. */
export const ASKED = "asked";

/**
 * Takes a signed word once: it is on record here before anything is done about it. Whoever plays it again, and a gateway that
 * stopped in between, finds that; what is older than a record is kept is not taken at all.
 */
export async function takeErrand(
  core: OperationNeeds,
  operation: Operation,
  { statement, signature }: Verified<ErrandStatement>,
): Promise<void> {
  const { errand, reason, operator, decided_at: at } = statement;
  if (statement.request_fingerprint !== operation.fingerprint) {
    throw new Denied("card_mismatch", "The statement was signed for another request than this operation's.");
  }
  const agoMs = core.ports.clock.wallMs() - Date.parse(at);
  if (!(agoMs > -defaults.hubClockMs && agoMs < defaults.errandMs)) {
    throw new Denied(
      "errand_over",
      `This was signed at ${at}, and is taken within a day of that. Nothing was done; say it again.`,
    );
  }
  const text = statementBytes(statement).toString("utf8");
  const id = errandId(Date.parse(at), digestText(text));
  if (core.ledger.find("notes", id) !== null) {
    throw new Denied(
      "errand_over",
      "This very word was taken before. Look at what came of it (gw operation show), and say it again where nothing did.",
    );
  }
  const onlyIf = (stored: StateRow | null): boolean => stored === null;
  const row: StateRow = { table: "notes", id, runId: operation.purse.id, state: ASKED, body: {}, onlyIf };
  const said = { errand, reason, operator, statement: text, signature };
  await core.ledger.record(
    "errand.taken",
    [{ ...core.envelope("operation_asked"), ...linksOf(operation), ...said }],
    [row],
  );
}

/** Sorts by time, so that old ones are forgotten together. */
export function errandId(signedAtMs: number, digest = ""): string {
  return `${ASKED} ${isoTime(signedAtMs)} ${digest}`;
}
