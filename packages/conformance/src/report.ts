import type { CheckedExchange } from "./check.ts";
import type { CheckResult } from "./run.ts";

/** One line a check; a failure is followed by its rule, what was expected, and the exchange that failed. */
export function reportLines(result: CheckResult): readonly string[] {
  const mark = { passed: "ok  ", failed: "FAIL", skipped: "skip" }[result.verdict];
  const head = `${mark} ${result.check}`;
  if (result.verdict === "passed") return [head];
  if (result.verdict === "skipped") return [`${head}: ${result.why}`];
  return [head, `     rule      ${result.rule}`, `     expected  ${result.why}`, ...exchangeLines(result.exchange)];
}

export function summaryLine(results: readonly CheckResult[]): string {
  const count = (verdict: CheckResult["verdict"]) => results.filter((result) => result.verdict === verdict).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`;
}

function exchangeLines(exchange: CheckedExchange | null): readonly string[] {
  if (exchange === null) return [];
  const { sent, answered } = exchange;
  const lines = [`     sent      ${showAscii(`${sent.method} ${sent.target}`)}`];
  for (const [name, value] of Object.entries(sent.headers))
    lines.push(`               ${showAscii(`${name}: ${String(value)}`)}`);
  if (sent.body !== "") lines.push(`               ${showAscii(sent.body)}`);
  if (answered === null) return [...lines, "     answered  nothing"];
  return [...lines, `     answered  ${answered.status} ${showAscii(answered.body)}`];
}

/** What a provider wrote is hostile to a terminal: everything but printable ASCII is shown as an escape. */
function showAscii(text: string): string {
  return [...text]
    .map((point) => (point >= " " && point <= "~" ? point : `\\u{${point.codePointAt(0)?.toString(16)}}`))
    .join("");
}
