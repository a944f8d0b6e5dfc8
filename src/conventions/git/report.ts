import { Denied } from "../../kernel/failure.ts";
import { isSpooled, type SentBody } from "../action/spooled.ts";
import type { Verdict } from "../outcome/classify.ts";
import { cutLines, type Push, readPush } from "./push.ts";

const DATA = 1;
const ASKS = new Set(["report-status", "report-status-v2"]);
const BANDS = new Set(["side-band", "side-band-64k"]);
const STATUS = /^(ok|ng) (refs\/[^ \n]+)(?: [^\n]*)?\n?$/;

/**
 * A host answers 200 to every push that it could read, and says in its report what became of each ref. Where it moved none
 * that is its own no; where it says nothing of one, or whoever pushes asked it not to say, nobody knows.
 */
export function holdToReport(verdict: Verdict, sent: SentBody | null): Verdict {
  if (verdict.kind !== "success" || sent === null || isSpooled(sent)) return verdict;
  const push = readPush(sent);
  const { observation } = verdict;
  const moved = push.capabilities.some((one) => ASKS.has(one)) ? countMoved(push, observation.body) : null;
  if (moved === null) return { kind: "unknown", reason: "answer_unclear", observation };
  return moved > 0 ? verdict : { kind: "error", reason: "provider_said_no", observation };
}

/** How many refs moved; null where the report does not say it of each. */
function countMoved({ updates, capabilities }: Push, answer: Buffer): number | null {
  const lines = linesOf(answer, capabilities);
  if (lines?.[0]?.startsWith("unpack ") !== true) return null;
  const statuses = new Map(lines.map((one) => STATUS.exec(one) ?? []).map(([, status, ref]) => [ref, status]));
  if (!updates.every(({ ref }) => statuses.has(ref))) return null;
  return updates.filter(({ ref }) => statuses.get(ref) === "ok").length;
}

function linesOf(answer: Buffer, capabilities: Push["capabilities"]): readonly string[] | null {
  try {
    const report = capabilities.some((one) => BANDS.has(one)) ? dataOf(answer) : answer;
    return cutLines(report, 0).lines.map((one) => one.toString("utf8"));
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

/** Beside the data come words for whoever pushes. */
function dataOf(answer: Buffer): Buffer {
  const pieces = cutLines(answer, 0).lines.filter((one) => one[0] === DATA);
  return Buffer.concat(pieces.map((one) => one.subarray(1)));
}
