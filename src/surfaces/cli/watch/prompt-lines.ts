import { showIdentifier, showText } from "../../../kernel/display.ts";
import { wants } from "./arrive.ts";
import { findItem, nameOperation } from "./board.ts";
import { type Line, line } from "./line.ts";
import { widthOf, wrapText } from "./measure.ts";
import { sayNarrowing } from "./narrow.ts";
import type { About, Prompt, ReasonTo, WatchState } from "./state.ts";

/** The question at the foot of the screen. It names what a yes is about, and that was fixed when it was put. */
export function promptLines(state: WatchState, prompt: Prompt, columns: number, rows: number): readonly Line[] {
  switch (prompt.kind) {
    case "told":
      return [
        ...wrapText(prompt.text, columns - 2, columns - 4)
          .slice(0, rows - 1)
          .map((text, index) => line(index === 0 ? `! ${text}` : `!   ${text}`, "warning")),
        line("! Enter goes on.", "strong"),
      ];
    case "reason": {
      const { to } = prompt;
      const [asks, hint] = reasonWords(state, to);
      return [
        line(`? ${asks}`, "strong"),
        line(`  ${tailOf(showText(prompt.text), columns - 4)}_`, "plain"),
        prompt.note === undefined ? line(`  ${hint}`, "quiet") : line(`! ${prompt.note}`, "warning"),
      ];
    }
    case "confirm":
      return [
        line(`? ${aboutWords(state, prompt.about)}`, "strong"),
        line(`  y ${prompt.about.kind === "approve" ? "signs" : "sends"} it, any other letter goes back.`, "plain"),
      ];
    case "secret": {
      const asks = prompt.which === "pin" ? "PIN" : "Passphrase";
      const verb = prompt.about.kind === "approve" ? "signs" : "sends";
      const typed = prompt.checking ? "checking .." : `${"*".repeat(Math.min(prompt.length, columns - 50))}_`;
      return [
        line(`? ${aboutWords(state, prompt.about)}`, "strong"),
        line(`  ${asks}: ${typed}${prompt.checking ? "" : `   (Enter ${verb}, Esc goes back)`}`, "plain"),
        line(prompt.note === null ? "" : `! ${prompt.note}`, "warning"),
      ];
    }
  }
}

function reasonWords(state: WatchState, to: ReasonTo): readonly [string, string] {
  switch (to.kind) {
    case "deny":
      return [
        `Deny${what(state, to.approvalId, false)}. Why?`,
        "The agent reads this. Enter signs the no, Esc goes back.",
      ];
    case "ticket":
      return [
        `Approve${what(state, to.approvalId, false)}. Under which ticket?`,
        "SYSTEM:REF. It will cover exactly this call. Enter goes on, Esc goes back.",
      ];
    case "revoke":
      return [`Revoke session ${to.sessionId}. Why?`, "For the log. Enter ends the session now, Esc goes back."];
    case "cancel":
      return [
        `Stop ${operationName(state, to.operationId)}. Why?`,
        "It stays on record. Enter asks once more, Esc goes back.",
      ];
  }
}

function aboutWords(state: WatchState, about: About): string {
  switch (about.kind) {
    case "approve":
      if (about.grant !== undefined)
        return `Approve, and sign the grant ${showText(about.grant.split(" ")[0] ?? "")}${what(state, about.approvalId, false)}`;
      return `Approve${about.ticket === undefined ? "" : ` under ticket ${showIdentifier(about.ticket)}`}${what(state, about.approvalId)}`;
    case "cancel":
      return `Ask the provider to stop ${operationName(state, about.operationId)}`;
    case "reconcile":
      return `Read once more, on your word: ${operationName(state, about.operationId)}`;
  }
}

function operationName(state: WatchState, id: string): string {
  const item = findItem(state, id);
  return item === undefined ? showIdentifier(id) : nameOperation(item);
}

function what(state: WatchState, id: string, withNarrowing = true): string {
  const item = state.queue.find(({ view }) => view.approval_id === id);
  const narrowed = withNarrowing ? sayNarrowing(item?.narrow ?? null) : "";
  return `${narrowed === "" ? "" : `, ${narrowed}`}: ${item === undefined ? id : wants(item.view)}`;
}

/** The end of what is typed is where the cursor is. */
function tailOf(text: string, columns: number): string {
  const points = [...text];
  while (widthOf(points.join("")) > columns) points.shift();
  return points.join("");
}
