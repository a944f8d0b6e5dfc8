import type { ActivityEntry } from "../../../audit/journals/activity-entry.ts";
import type { SessionEntry } from "../../../audit/journals/sessions.ts";
import { quote } from "../../../conventions/approval/render-line.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";

/** One line an entry. Everything that others wrote is escaped; none of it can start a line of its own. */
export function activityLine(entry: ActivityEntry): string {
  switch (entry.kind) {
    case "gap":
      return `${"".padEnd(24)} GAP        frame ${entry.frame}: ${showText(entry.detail)}`;
    case "call": {
      const gap = entry.gap ? "  [gap before the result]" : "";
      const status = entry.status === null ? "" : ` ${entry.status}`;
      const took = entry.elapsed_ms === null ? "" : ` ${entry.elapsed_ms} ms`;
      const reason = entry.reason === null ? "" : ` (${showIdentifier(entry.reason)})`;
      const credential = entry.credential_label === null ? "" : ` with ${showIdentifier(entry.credential_label)}`;
      const channel = entry.channel === "ssh" ? "ssh " : "";
      const what = `${name(entry.action)} → ${channel}${name(entry.target)}${credential}`;
      return `${entry.at} ${word(entry.outcome)} ${what}${status}${reason}${took}  ${name(entry.run_id)}${gap}`;
    }
    case "reconciliation": {
      const how =
        entry.said === null
          ? `read from ${name(entry.source)}`
          : `as operator ${name(entry.source)} signed, where nothing else could tell: ${showText(entry.said)}`;
      return `${entry.at} ${word("reconciled")} ${name(entry.action)} is ${entry.outcome}, ${how}  ${name(entry.run_id)}`;
    }
    case "denial": {
      const many = entry.count > 1 ? ` ${entry.count} times` : "";
      const reason = entry.reason === null ? "" : `: ${showText(entry.reason)}`;
      return `${entry.at} ${word("denied")} ${name(entry.action)} ${showIdentifier(entry.code)}${many}${reason}  ${name(entry.run_id)}`;
    }
    case "operation":
      return `${entry.at} ${word("operation")} ${name(entry.operation_id)} ${name(entry.from)} → ${name(entry.to)} by ${name(entry.actor)}: ${showText(entry.cause)}`;
    case "preview":
      return `${entry.at} ${word("preview")} ${name(entry.event)} ${name(entry.plan_id)} ${name(entry.outcome)}  ${name(entry.run_id)}`;
  }
}

export function sessionLine(entry: SessionEntry): string {
  const { succeeded, failed, unknown, denied } = entry.calls;
  const calls = `${succeeded} succeeded, ${failed} failed, ${unknown} unknown, ${denied} denied`;
  const approved = entry.approved_by === null ? "nobody approved" : `approved by ${showIdentifier(entry.approved_by)}`;
  const end = entry.end_reason === null ? "" : `, ended ${entry.ended_at ?? ""}: ${showIdentifier(entry.end_reason)}`;
  const gap = entry.gap ? "  [the gateway stopped in between]" : "";
  const who = entry.authority ?? entry.caller;
  return `${entry.started_at} ${word(entry.state)} ${name(entry.session_id ?? entry.run_id)} ${name(who)}${sayPurpose(entry.purpose)}; ${approved}${end}; ${calls}${gap}`;
}

/** What the agent said it is for: its words, and nobody checked them. */
function sayPurpose(purpose: string | null): string {
  return purpose === null || purpose === "" ? "" : ` says ${quote(purpose)}`;
}

function word(text: string): string {
  return showIdentifier(text).padEnd(10);
}

function name(text: string | null): string {
  return text === null || text === "" ? "-" : showIdentifier(text);
}
