import { showIdentifier, showText } from "../../kernel/display.ts";
import type { Card, ShownApproval } from "./model.ts";
import { Chip } from "./parts.tsx";

const DANGER: Readonly<Record<string, string>> = { read: "calm", preview: "calm", purchase: "grave" };

/** What it is about, in a few words. Everything that others wrote is escaped as on the terminal. */
export function titleOf(card: Card): string {
  if (card.call !== null) return showIdentifier(card.call.action);
  const actions = card.scope?.actions ?? [];
  const only = actions[0];
  return actions.length === 1 && only !== undefined ? showIdentifier(only) : `${actions.length} actions`;
}

const ASKS: Readonly<Record<Card["asks"], string>> = {
  session: "wants a session",
  call: "wants one call",
  session_and_call: "wants this call and a session",
  redirect: "wants to follow a redirect",
  access: "wants more for its session",
  custody: "a read about work left behind",
};

export function EffectChip({ effect }: { readonly effect: string }) {
  return <Chip kind={DANGER[effect] ?? "acts"}>{showIdentifier(effect)}</Chip>;
}

export function CardHead({ card, gateway }: { readonly card: Card; readonly gateway: string | undefined }) {
  const { call, scope, run } = card;
  return (
    <header class="card-head">
      {gateway !== undefined && (
        <p class="on">
          on <b>{showIdentifier(gateway)}</b>
        </p>
      )}
      <p class="who">{showText(card.authority)}</p>
      <h2>
        <span class="asks">{ASKS[card.asks]}:</span> <code>{titleOf(card)}</code>
      </h2>
      <p class="chips">
        {call !== null && <EffectChip effect={call.effect} />}
        {call?.credential != null && <Chip kind="plain">with {showIdentifier(call.credential)}</Chip>}
        {call === null && (
          <Chip kind="plain">{scope?.credentials.map(showIdentifier).join(", ") || "no credential"}</Chip>
        )}
        {card.mode === "guard-rail" && <Chip kind="plain">guard-rail</Chip>}
        {card.decide?.passkey === true && <Chip kind="key">needs a passkey</Chip>}
        {card.decide?.approvers === 2 && <Chip kind="key">needs two people</Chip>}
      </p>
      {call !== null && (
        <p class="target">
          <b>{showIdentifier(call.method)}</b> {showIdentifier(call.target)}
        </p>
      )}
      <p class="claim">
        <span class="muted">The agent says, unchecked:</span> “{showText(run.purpose_claimed)}”
      </p>
    </header>
  );
}

/** The exact words that are signed. Signs of a diff tell; colour repeats them. */
export function CardWords({ approval }: { readonly approval: Pick<ShownApproval, "lines" | "evidence"> }) {
  return (
    <>
      <Words label="The card, word by word" lines={approval.lines} />
      {approval.evidence.length > 0 && (
        <details>
          <summary>Evidence: who is calling, and what else is signed</summary>
          <Words label="Evidence" lines={approval.evidence} />
        </details>
      )}
    </>
  );
}

export function Words({ label, lines }: { readonly label: string; readonly lines: readonly string[] }) {
  return (
    <section class="words" aria-label={label} tabIndex={0}>
      {lines.map((line, index) => (
        <Line key={index} text={line} />
      ))}
    </section>
  );
}

function Line({ text }: { readonly text: string }) {
  if (text.startsWith("      + ")) return <ins>{text}</ins>;
  if (text.startsWith("      - ")) return <del>{text}</del>;
  const label = /^ {2}[a-zA-Z0-9]/.test(text) && text.charAt(13) === " ";
  if (label) {
    return (
      <div>
        <b>{text.slice(0, 13)}</b>
        {text.slice(13)}
      </div>
    );
  }
  return <div class={text.startsWith(" ") ? "" : "top"}>{text === "" ? " " : text}</div>;
}
