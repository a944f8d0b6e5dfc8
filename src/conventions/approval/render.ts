import { showIdentifier, showText } from "../../kernel/display.ts";
import type { Card } from "./card.ts";
import { callerLines } from "./render-caller.ts";
import { essentialLines } from "./render-essential.ts";
import { entry, group, list } from "./render-line.ts";

/**
 * The card as lines of a terminal or a page. The first line is the authority; every value that an agent or a pack
 * wrote is escaped and stands behind a label of ours, indented, so that no line of theirs can pass for one of ours.
 */
export function renderCard(card: Card): readonly string[] {
  return [...renderEssential(card), "", ...renderEvidence(card)];
}

/** What has to be read before a yes counts. */
export function renderEssential(card: Card): readonly string[] {
  return [plain(card.authority), ...essentialLines(card)];
}

/** The rest of what is signed: what the operating system says of the caller, numbers, digests. Opened by whoever wants it. */
export function renderEvidence(card: Card): readonly string[] {
  return [
    ...group("Who is calling", card.asks === "custody" ? NOBODY : callerLines(card)),
    ...group("What is signed", detailLines(card)),
    ...modeLines(card.mode),
  ];
}

const NOBODY = [entry("caller", "none: the program that started the work has no session any more")];

function detailLines({ approval_id, created_at, expires_at, run, scope, call, session }: Card): readonly string[] {
  return [
    entry(
      "card",
      `${showIdentifier(approval_id)}, written ${showText(created_at)}, open until ${showText(expires_at)}`,
    ),
    entry("run", showIdentifier(run.run_id)),
    ...(session === undefined ? [] : [entry("session", showIdentifier(session.session_id))]),
    entry("run ends", `${showText(run.deadline_at)}; waiting for you counts`),
    entry("attempts", "every send counts, retries and redirects too"),
    ...(call === null
      ? []
      : [entry("call", showIdentifier(call.call_id)), entry("request digest", showIdentifier(call.request_digest))]),
    ...(scope === null
      ? []
      : [
          ...list("actions", scope.actions.map(showIdentifier)),
          ...list("hosts", scope.hosts.map(showIdentifier)),
          ...list("methods", scope.methods.length === 0 ? [] : [scope.methods.map(showIdentifier).join(", ")]),
          ...list("paths", scope.paths.map(showIdentifier)),
          ...list("credentials", scope.credentials.length === 0 ? ["none"] : scope.credentials.map(showIdentifier)),
          entry("request size", `at most ${scope.request_bytes} bytes each`),
        ]),
  ];
}

function modeLines(mode: Card["mode"]): readonly string[] {
  return mode === "guard-rail"
    ? [
        "Guard-rail mode: the caller may run as the same user as this gateway.",
        "That stops mistakes and misled agents. It does not stop malware of the same user.",
      ]
    : ["Dedicated mode: the gateway runs as its own user."];
}

/** Our own sentence, already escaped where it quotes; looked at again because it stands where nothing is before it. */
function plain(line: string): string {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(line) && !line.startsWith(" ") ? line : showText(line);
}
