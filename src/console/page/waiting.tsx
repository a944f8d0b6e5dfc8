import { useRef, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import { keyOf } from "../card-key.ts";
import { CardHead, CardWords, EffectChip, titleOf } from "./card.tsx";
import { Decide } from "./decide.tsx";
import { useKeys } from "./keys.ts";
import { isOpen, type Me, type Row } from "./model.ts";
import { Chip, Empty, left, useNow } from "./parts.tsx";
import { Plan } from "./plan.tsx";

/** What waits for a person. A card keeps its place whatever happens to it or around it. */
export function Waiting({
  rows,
  me,
  chosen,
}: {
  readonly rows: readonly Row[];
  readonly me: Me;
  readonly chosen: string;
}) {
  const [said, setSaid] = useState({ about: "", text: "" });
  const now = useNow();
  // Whoever chose nothing sees the first card that waits, and goes on seeing it when it is decided.
  const shown = useRef("");
  const named = (id: string): Row | undefined => rows.find((row) => keyOf(row.approval) === id);
  const current = named(chosen) ?? (chosen === "" ? (named(shown.current) ?? rows.find(isOpen)) : undefined);
  shown.current = current === undefined ? "" : keyOf(current.approval);
  const move = (by: number): void => {
    const at = current === undefined ? -1 : rows.indexOf(current);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (next !== undefined) location.hash = hashOf(next);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  if (rows.length === 0) {
    return (
      <Empty title="Nothing waits for you">
        When an agent asks for something that needs a person, its card appears here. Try it: <code>gw call</code>, or{" "}
        <code>gw demo</code>.
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
      <article class="detail">
        {current === undefined ? (
          <p class="muted">Choose a card.</p>
        ) : (
          <>
            <a class="back" href="#/waiting/list">
              All cards
            </a>
            <p class="clock">{isOpen(current) ? left(current.untilMs, now) : ""}</p>
            <CardHead card={current.approval.card} gateway={current.approval.gateway} />
            <p class="said" role="status">
              {said.about === keyOf(current.approval) ? said.text : ""}
            </p>
            <Decide row={current} me={me} onSaid={(text) => setSaid({ about: keyOf(current.approval), text })} />
            {current.approval.card.plan !== undefined && <Plan plan={current.approval.card.plan} />}
            <CardWords approval={current.approval} />
          </>
        )}
      </article>
    </div>
  );
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
        <span class="when">{isOpen(row) ? left(untilMs, now) : approval.state}</span>
      </a>
    </li>
  );
}
