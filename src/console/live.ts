import { renderEssential, renderEvidence } from "../conventions/approval/render.ts";
import { proposeGrant } from "../conventions/grant/propose.ts";
import type { OperationBoard } from "../conventions/operation/summary.ts";
import { writeGrantLine } from "../surfaces/cli/grant/line.ts";
import { type FeedEvent, type FeedPorts, type PageClient, startFeed } from "../surfaces/cli/watch/feed.ts";
import { hasCard } from "../surfaces/client/reading.ts";
import type { ApprovalRecord, ApprovalView } from "../surfaces/operator/answers.ts";
import { keyOf } from "./card-key.ts";

/** An approval with its card in the words of the terminal: one renderer, whatever the screen. */
export interface ShownApproval extends ApprovalView {
  readonly lines: readonly string[];
  readonly evidence: readonly string[];
  /** The narrowest grant that would have answered it, as `gw grant add` takes it; or why there is none. */
  readonly grant: { readonly line: string } | { readonly none: string };
}

export type Connection =
  | {
      readonly kind: "live";
      readonly guard_rail: boolean;
      readonly locked: boolean;
      /** In words: what waits and could not be read with the rest. */
      readonly unread: readonly string[];
    }
  | { readonly kind: "lost"; readonly why: string };

export type News =
  | { readonly kind: "connection"; readonly connection: Connection }
  | { readonly kind: "approval"; readonly approval: ShownApproval }
  /** All that wait now: what is not among them waits no longer. */
  | { readonly kind: "waiting"; readonly approvals: readonly ShownApproval[] }
  | { readonly kind: "operations"; readonly board: OperationBoard };

/** What the gateway tells, kept for pages that come later. Comes back by itself when the gateway does. */
export interface Live<Client extends PageClient = PageClient> {
  client(): Client;
  /** Told what stands now, then every change. */
  follow(listener: (news: News) => void): () => void;
  guardRail(): boolean;
  /** What became of a question, from whoever decided it here: a hub tells no more of one that is over. */
  note(view: ApprovalRecord): void;
}

export function followGateway<Client extends PageClient>(
  first: Client,
  ports: Omit<FeedPorts<Client>, "tell">,
  signal: AbortSignal,
): Live<Client> {
  const listeners = new Set<(news: News) => void>();
  let connection: Connection = { kind: "lost", why: "not asked yet" };
  let waiting: readonly ShownApproval[] = [];
  /** When each was told of by itself: a list that was asked for before that knows less of it. */
  let told = new Map<string, number>();
  let board: OperationBoard = { open: 0, needs_person: 0, shown: [], ended: [] };

  function tell(news: News): void {
    for (const listener of listeners) listener(news);
  }

  function take(event: FeedEvent): void {
    switch (event.kind) {
      case "live":
        setConnection({
          kind: "live",
          guard_rail: event.guardRail,
          locked: event.locked,
          unread: event.unread ?? [],
        });
        return;
      case "lost":
        setConnection({ kind: "lost", why: event.why });
        return;
      case "list": {
        told = new Map([...told].filter(([, ms]) => ms >= event.askedMs));
        const isNewer = (one: ApprovalRecord): boolean => told.has(keyOf(one));
        const listed = event.views.filter(hasCard).filter((view) => !isNewer(view));
        waiting = [...listed.map(show), ...waiting.filter(isNewer)];
        tell({ kind: "waiting", approvals: waiting });
        return;
      }
      case "approval": {
        // What waits in line has no card yet: nobody could read it.
        if (!hasCard(event.view)) return;
        const approval = show(event.view);
        told.set(keyOf(approval), ports.clock.bootMs());
        const others = waiting.filter((one) => keyOf(one) !== keyOf(approval));
        waiting = approval.state === "pending" ? [...others, approval] : others;
        tell({ kind: "approval", approval });
        return;
      }
      case "operations":
        board = event.board;
        tell({ kind: "operations", board });
        return;
    }
  }

  function setConnection(next: Connection): void {
    const same = JSON.stringify(next) === JSON.stringify(connection);
    connection = next;
    if (!same) tell({ kind: "connection", connection });
  }

  const feed = startFeed(first, { ...ports, tell: take }, signal);
  return {
    client: () => feed.client(),
    follow(listener) {
      listener({ kind: "connection", connection });
      listener({ kind: "waiting", approvals: waiting });
      listener({ kind: "operations", board });
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    note: (view) => take({ kind: "approval", view }),
    guardRail: () => connection.kind !== "live" || connection.guard_rail,
  };
}

export function show(view: ApprovalView): ShownApproval {
  const { card } = view;
  const proposal = proposeGrant(card);
  return {
    ...view,
    lines: renderEssential(card),
    evidence: renderEvidence(card),
    grant: proposal.kind === "none" ? { none: proposal.why } : { line: writeGrantLine(proposal.words) },
  };
}
