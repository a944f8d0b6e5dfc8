import { isTicketReference } from "../../../conventions/ticket/context.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { decidePin, FRESH_PIN_GUARD, needsPassphrase } from "../../../vault/passphrase/pin.ts";
import type { WatchKey } from "./keys.ts";
import { conditionsOf, narrowingOf } from "./narrow.ts";
import { type About, type Item, note, type Prompt, stay, type WatchState, type WatchStep } from "./state.ts";

export type SecretAnswer =
  | { readonly kind: "pin"; readonly right: boolean }
  | { readonly kind: "passphrase"; readonly right: boolean; readonly why: string | null };

type SecretPrompt = Prompt & { readonly kind: "secret" };

/** Before anything is approved or sent: the PIN in guard-rail mode, and a plain question elsewhere. */
export function askYes(state: WatchState, about: About, guardRail: boolean): WatchState {
  if (!guardRail) return { ...state, prompt: { kind: "confirm", about } };
  const spent = needsPassphrase(state.pinGuard);
  const which = state.hasPin && !spent ? "pin" : "passphrase";
  const why = spent ? SPENT : which === "passphrase" ? NO_PIN : null;
  const attempt = state.attempts + 1;
  return {
    ...state,
    attempts: attempt,
    prompt: { kind: "secret", which, about, length: 0, checking: false, attempt, note: why },
  };
}

const NO_PIN = "You have no PIN. A PIN is quicker: set one with gw operator pin";
const SPENT = "Too many wrong PINs: only the passphrase works now";

export function pressPrompt(state: WatchState, prompt: Prompt, key: WatchKey): WatchStep {
  switch (prompt.kind) {
    case "reason":
      return pressReason(state, prompt, key);
    case "secret":
      return pressSecret(state, prompt, key);
    case "confirm":
      if (key.kind !== "text") return key.kind === "escape" ? close(state) : stay(state);
      return key.point === "y" ? goAhead(state, prompt.about) : close(state);
    case "told":
      return key.kind === "enter" || key.kind === "escape"
        ? stay({ ...state, prompt: null, shownMs: state.nowMs })
        : stay(state);
  }
}

function pressReason(state: WatchState, prompt: Prompt & { readonly kind: "reason" }, key: WatchKey): WatchStep {
  const write = (text: string): WatchStep => {
    const kept = [...text].slice(0, defaults.watchReasonCharacters).join("");
    return stay({ ...state, prompt: { kind: "reason", to: prompt.to, text: kept } });
  };
  switch (key.kind) {
    case "text":
      return write(prompt.text + key.point);
    case "paste":
      return write(prompt.text + key.text);
    case "backspace":
      return write([...prompt.text].slice(0, -1).join(""));
    case "kill":
      return write("");
    case "escape":
      return close(state);
    case "enter":
      return sendReason(state, prompt);
    default:
      return stay(state);
  }
}

function sendReason(state: WatchState, { to, text }: Prompt & { readonly kind: "reason" }): WatchStep {
  const reason = text.trim() === "" ? null : text.trim();
  const next = { ...state, prompt: null };
  if (state.link.kind !== "live") return stay(note(next, NOT_CONNECTED, "warning"));
  if (to.kind === "cancel") {
    // The record keeps why: a cancel without a reason is not taken.
    if (reason === null) return stay(note(state, "a reason is needed: it stays with the operation", "hint"));
    return stay(askYes(next, { kind: "cancel", operationId: to.operationId, reason }, state.link.guardRail));
  }
  if (to.kind === "revoke") {
    const busy = { kind: "revoke", id: to.sessionId } as const;
    return stay({ ...next, busy }, { kind: "revoke", sessionId: to.sessionId, reason });
  }
  const item = sameCard(state, to);
  if (item === undefined) return stay(note(next, GONE, "warning"));
  if (to.kind === "ticket") {
    const ticket = text.trim();
    if (!isTicketReference(ticket)) return stay({ ...state, prompt: { kind: "reason", to, text, note: NO_REFERENCE } });
    const { approvalId, digest, guardRail } = to;
    return stay(askYes(next, { kind: "approve", approvalId, digest, ticket }, guardRail));
  }
  const approval = { ...item.view, card_digest: item.digest };
  return stay(
    { ...next, busy: { kind: "deny", id: to.approvalId } },
    { kind: "decide", approval, decision: "deny", reason, narrow: null },
  );
}

/** Whether what is typed now belongs to a secret, and so never enters the model. */
export function takesSecret({ prompt, nowMs, frozenMs }: WatchState): boolean {
  return prompt?.kind === "secret" && !prompt.checking && nowMs >= frozenMs;
}

function pressSecret(state: WatchState, prompt: SecretPrompt, key: WatchKey): WatchStep {
  // An answer is on its way and will be counted; leaving now would make a guess free.
  if (prompt.checking) return stay(state);
  if (key.kind === "escape") return close(state);
  if (key.kind !== "enter" || prompt.length === 0) return stay(state);
  const { which, attempt } = prompt;
  return stay({ ...state, prompt: { ...prompt, checking: true, note: null } }, { kind: "checkSecret", which, attempt });
}

/** A wrong PIN counts whatever became of its card; a right secret approves only what it was asked for. */
export function takeSecretAnswer(state: WatchState, attempt: number, answer: SecretAnswer): WatchStep {
  const prompt = state.prompt?.kind === "secret" && state.prompt.attempt === attempt ? state.prompt : null;
  if (answer.kind === "passphrase") {
    if (prompt === null) return stay(state);
    if (answer.right) return goAhead({ ...state, pinGuard: FRESH_PIN_GUARD }, prompt.about);
    return stay(again(state, prompt, "passphrase", answer.why ?? "That is not the passphrase"));
  }
  const outcome = decidePin(state.pinGuard, answer.right);
  if (prompt === null) return stay(answer.right ? state : { ...state, pinGuard: outcome.guard });
  const counted = { ...state, pinGuard: outcome.guard };
  switch (outcome.kind) {
    case "accepted":
      return goAhead(counted, prompt.about);
    case "wrong":
      return stay(again(counted, prompt, "pin", `Wrong PIN. ${outcome.left} more before only the passphrase works`));
    case "passphrase_needed":
      return stay(again(counted, prompt, "passphrase", SPENT));
  }
}

function again(state: WatchState, prompt: SecretPrompt, which: SecretPrompt["which"], why: string): WatchState {
  const attempt = state.attempts + 1;
  return {
    ...state,
    attempts: attempt,
    prompt: { ...prompt, which, attempt, length: 0, checking: false, note: why },
  };
}

function goAhead(state: WatchState, about: About): WatchStep {
  switch (about.kind) {
    case "approve":
      return approve(state, about);
    case "cancel":
    case "reconcile":
      return runErrand(state, about);
  }
}

function runErrand(state: WatchState, about: Exclude<About, { readonly kind: "approve" }>): WatchStep {
  const next = { ...state, prompt: null };
  if (state.link.kind !== "live") return stay(note(next, NOT_CONNECTED, "warning"), { kind: "clearSecret" });
  const { operationId } = about;
  return stay(
    { ...next, errand: { kind: about.kind, id: operationId } },
    about.kind === "cancel"
      ? { kind: "cancelOperation", operationId, reason: about.reason }
      : { kind: "reconcileOperation", operationId },
  );
}

function approve(state: WatchState, about: About & { readonly kind: "approve" }): WatchStep {
  const next = { ...state, prompt: null };
  const item = sameCard(state, about);
  if (item === undefined) return stay(note(next, GONE, "warning"), { kind: "clearSecret" });
  if (state.link.kind !== "live") return stay(note(next, NOT_CONNECTED, "warning"), { kind: "clearSecret" });
  const approval = { ...item.view, card_digest: item.digest };
  return stay(
    { ...next, busy: { kind: "approve", id: about.approvalId } },
    {
      ...{ kind: "decide", approval, decision: "approve", reason: null, narrow: narrowingOf(item.narrow) },
      where: conditionsOf(item.narrow),
      ...(about.ticket === undefined ? {} : { ticket: { ref: about.ticket, state: null, emergency: null } }),
      ...(about.grant === undefined ? {} : { grant: about.grant }),
    },
  );
}

function sameCard(
  state: WatchState,
  about: { readonly approvalId: string; readonly digest: string },
): Item | undefined {
  return state.queue.find(({ view, digest }) => view.approval_id === about.approvalId && digest === about.digest);
}

function close(state: WatchState): WatchStep {
  return stay({ ...state, prompt: null, shownMs: state.nowMs }, { kind: "clearSecret" });
}

export const NOT_CONNECTED = "not connected: nothing was signed or sent; try again when the gateway answers";
const NO_REFERENCE = "A ticket is named SYSTEM:REF, such as jira:OPS-17. None? Esc, and d denies.";
const GONE = "that card is no longer the one on screen: nothing was signed";
