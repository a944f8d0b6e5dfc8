import { useRef, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import { keyOf } from "../card-key.ts";
import { CardHead, CardWords, EffectChip, titleOf } from "./card.tsx";
import { Decide } from "./decide.tsx";
import { useKeys } from "./keys.ts";
import { endingOf, isOpen, type Me, type Row } from "./model.ts";
import { Chip, Empty, left, useNow } from "./parts.tsx";
import { Plan } from "./plan.tsx";

/** What waits for a person. A card keeps its place whatever happens to it or around it. */
export function Waiting({
  rows,
  me,
  chosen,
  connected,
}: {
  readonly rows: readonly Row[];
  readonly me: Me;
  readonly chosen: string;
  readonly connected: boolean;
}) {
  const [said, setSaid] = useState({ about: "", text: "" });
  const now = useNow();
  const detail = useRef<HTMLElement>(null);
  /** The card that stands here; which stood before it, and since when, where the page went on by itself. */
  const shown = useRef({ key: "", before: "", sinceMs: 0 });
  const named = (id: string): Row | undefined => rows.find((row) => keyOf(row.approval) === id);
  const last = named(shown.current.key);
  const next = rows.slice(last === undefined ? 0 : rows.indexOf(last)).find(isOpen) ?? rows.find(isOpen);
  // Whoever chose nothing sees the first card that waits; and when it is over the next one, unless they are at work on it.
  const stays = last !== undefined && (isOpen(last) || next === undefined || isAtWork(detail.current));
  const current = named(chosen) ?? (chosen === "" ? (stays ? last : next) : undefined);
  const key = current === undefined ? "" : keyOf(current.approval);
  if (key !== shown.current.key) {
    const went = chosen === "" && last !== undefined;
    shown.current = { key, before: went ? shown.current.key : "", sinceMs: went ? performance.now() : 0 };
  }
  const move = (by: number): void => {
    const at = current === undefined ? -1 : rows.indexOf(current);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (next !== undefined) location.hash = hashOf(next);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  if (rows.length === 0) {
    return (
      <Empty title="Nothing waits for you">
        When an agent asks for something that needs a person, its card appears here. Try it in a terminal:{" "}
        <code>gw actions</code> lists what can be asked for, <code>gw call ACTION</code> asks.
      </Empty>
    );
  }
  return (
    <div class={current === undefined ? "split" : "split open"}>
      <nav class="queue" aria-label="Cards">
        <ul>
          {rows.map((row) => (
            <QueueRow key={keyOf(row.approval)} row={row} now={now} chosen={row === current} />
          ))}
        </ul>
      </nav>
      <article class="detail" ref={detail}>
        {current === undefined ? (
          <p class="muted">Choose a card.</p>
        ) : (
          <>
            <a class="back" href="#/waiting/list">
              All cards
            </a>
            <p class="passed" role="status">
              {wordsOf(named(shown.current.before))}
            </p>
            <p class="clock">{isOpen(current) ? left(current.untilMs, now) : ""}</p>
            <CardHead card={current.approval.card} gateway={current.approval.gateway} />
            <p class="said" role="status">
              {said.about === key ? said.text : ""}
            </p>
            <Decide
              row={current}
              shownMs={shown.current.sinceMs}
              me={me}
              connected={connected}
              onSaid={(text) => setSaid({ about: key, text })}
            />
            {!isOpen(current) && next !== undefined && (
              <p>
                <a href={hashOf(next)}>The next one that waits</a>
              </p>
            )}
            {current.approval.card.plan !== undefined && <Plan plan={current.approval.card.plan} />}
            <CardWords approval={current.approval} />
          </>
        )}
      </article>
    </div>
  );
}

/** Something is being typed, or the keyboard is there. */
function isAtWork(detail: HTMLElement | null): boolean {
  return detail?.contains(document.activeElement) === true || document.querySelector("dialog[open]") !== null;
}

/** Of the card that stood there before, and above this one: none of it is about what can be decided now. */
function wordsOf(before: Row | undefined): string {
  if (before === undefined) return "";
  const { word, more } = endingOf(before);
  const { approval_id, card } = before.approval;
  return `The card before this one, ${titleOf(card)}: ${showIdentifier(approval_id)} is ${word}${more}.`;
}

function hashOf({ approval }: Row): string {
  return `#/waiting/${encodeURIComponent(keyOf(approval))}`;
}

function QueueRow({ row, now, chosen }: { readonly row: Row; readonly now: number; readonly chosen: boolean }) {
  const { approval, untilMs } = row;
  const { card } = approval;
  return (
    <li>
      <a
        href={hashOf(row)}
        class={isOpen(row) ? "row" : "row over"}
        {...(chosen ? { "aria-current": "true" as const } : {})}
      >
        <span class="name">{titleOf(card)}</span>
        {approval.gateway !== undefined && <Chip kind="plain">{showIdentifier(approval.gateway)}</Chip>}
        {card.call !== null && <EffectChip effect={card.call.effect} />}
        <span class="when">{isOpen(row) ? left(untilMs, now) : endingOf(row).word}</span>
      </a>
    </li>
  );
}
