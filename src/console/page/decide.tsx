import { useEffect, useState } from "preact/hooks";
import { narrowingWords } from "../../conventions/approval/render-narrowing.ts";
import { showIdentifier, showText } from "../../kernel/display.ts";
import { keyOf } from "../card-key.ts";
import { ask, Refused } from "./api.ts";
import { GrantDialog } from "./grant-dialog.tsx";
import { useKeys } from "./keys.ts";
import { endingOf, isOpen, type Me, type Row } from "./model.ts";
import { type Conditions, conditionsOf, type Limits, Narrow } from "./narrow.tsx";
import { Button, Problem, useSteady } from "./parts.tsx";
import { answerWith, type PasskeyAsked } from "./passkey.ts";
import { ReasonDialog } from "./reason.tsx";
import { useMeant } from "./secret.tsx";

interface Drafted {
  readonly draft: string;
  readonly passkey: PasskeyAsked | null;
}

/** A grant that was signed, and the gateways of a hub that have not taken it yet. */
interface Granted {
  readonly name: string;
  readonly behind: readonly string[];
}

/** Why something was not done. `away`: nobody answered, which is over when somebody does, and of a card that is over says nothing. */
interface Trouble {
  readonly text: string;
  readonly away: boolean;
}

const AWAY = new Set(["console_gone", "gateway_unreachable", "hub_unreachable"]);

type Asking = { readonly kind: "deny" } | { readonly kind: "grant"; readonly line: string } | null;

/** Approve, deny, narrow. Nothing here is optimistic: what is shown as decided is what the gateway said. */
export function Decide({
  row,
  shownMs,
  me,
  connected,
  onSaid,
}: {
  readonly row: Row;
  /** When the page went to it by itself: as with a change, nothing on it can be clicked for a moment after. */
  readonly shownMs: number;
  readonly me: Me;
  readonly connected: boolean;
  readonly onSaid: (text: string) => void;
}) {
  const { approval, changedMs } = row;
  const { card } = approval;
  const steady = useSteady(Math.max(changedMs, shownMs), me.steady_ms);
  const [busy, setBusy] = useState<string | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [asking, setAsking] = useState<Asking>(null);
  const [actions, setActions] = useState<readonly string[] | null>(null);
  const [where, setWhere] = useState<Conditions>({});
  const [budget, setBudget] = useState<Limits>(card.run.budget);
  const [granted, setGranted] = useState<Granted | null>(null);
  const [ticket, setTicket] = useState("");
  const { meant, dialog } = useMeant();
  useEffect(() => {
    setActions(null);
    setWhere({});
    setBudget(card.run.budget);
    setProblem(null);
    setAsking(null);
    setGranted(null);
    setTicket("");
  }, [keyOf(approval), approval.card_digest]);

  const { scope } = card;
  // The budget is the run's: whoever joins one later, or wants more for a session, changes none of it.
  const ownBudget = approval.mode === "session";
  // What was said about another choice is about this one no more.
  useEffect(() => setProblem(null), [actions, where, budget, ticket]);
  useEffect(() => {
    if (connected) setProblem((before) => (before?.away === true ? null : before));
  }, [connected]);
  const ready = steady && busy === null && isOpen(row);

  async function run(what: string, work: () => Promise<void>): Promise<void> {
    setBusy(what);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      const code = error instanceof Refused ? error.code : "";
      setProblem({ text: error instanceof Error ? error.message : String(error), away: AWAY.has(code) });
    } finally {
      setBusy(null);
    }
  }

  async function give(drafted: Drafted, more: object): Promise<void> {
    const view = (await meant("/api/decisions", { draft: drafted.draft, ...more })) as {
      readonly state: string;
    };
    setAsking(null);
    onSaid(
      view.state === "pending"
        ? "Your yes is on record. A second operator has to approve it too."
        : `${showIdentifier(approval.approval_id)} is ${view.state}.`,
    );
  }

  const shown = { card_digest: approval.card_digest, gateway: approval.gateway ?? null };
  const draft = (body: object): Promise<Drafted> =>
    ask("POST", `/api/approvals/${encodeURIComponent(approval.approval_id)}/draft`, {
      ...shown,
      ...body,
    }) as Promise<Drafted>;

  const draftYes = (): Promise<Drafted> => {
    const narrow = scope === null ? null : { actions, budget: ownBudget ? budget : null, where: conditionsOf(where) };
    return draft({ decision: "approve", narrow, ticket });
  };
  const approve = (): Promise<void> =>
    run("approve", async () => {
      const drafted = await draftYes();
      await give(drafted, drafted.passkey === null ? {} : { assertion: await answerWith(drafted.passkey) });
    });
  const deny = (reason: string): Promise<void> =>
    run("deny", async () => give(await draft({ decision: "deny", reason }), {}));
  const extend = (): Promise<void> =>
    run("extend", async () => {
      await ask("POST", `/api/approvals/${encodeURIComponent(approval.approval_id)}/extend`, shown);
      onSaid("It has more time. The card says until when, and is another one now: read it again.");
    });

  /** The grant is signed first: where it does not hold, nothing is approved. */
  const grantAndApprove = (line: string): Promise<void> => {
    setAsking(null);
    return run("approve", async () => {
      // What cannot be approved is said before the grant is signed.
      await draftYes();
      setGranted((await meant("/api/grants", { line })) as Granted);
      await approve();
    });
  };
  const proposed = !me.remote && "line" in approval.grant ? approval.grant.line : null;
  const askGrant = (): void => {
    if (ready && proposed !== null) setAsking({ kind: "grant", line: proposed });
  };

  useKeys({ g: askGrant, a: () => ready && void approve(), d: () => ready && setAsking({ kind: "deny" }) });

  const signed =
    granted === null ? null : (
      <p class="given">
        Signed: <b>{showIdentifier(granted.name)}</b> lets such calls pass without a card, from now on
        {granted.behind.length === 0 ? "" : `; not taken yet by ${granted.behind.map(showIdentifier).join(", ")}`}. See{" "}
        {me.hub ? <code>gw grant list --hub {me.hub_url}</code> : <a href="#/grants">Grants</a>}.
      </p>
    );
  const passkey = card.decide?.passkey === true;
  const ending = endingOf(row);
  // Of what is being decided here, the answer says how.
  const over = isOpen(row) || busy !== null ? null : `It is ${ending.word}${ending.more}. Nothing of yours was sent.`;
  const open = (
    <section class="decide" aria-label="Decide">
      {approval.given.map(({ operator, narrow }) => (
        <p key={operator} class="given">
          Approved by <b>{showIdentifier(operator)}</b>
          {narrow === null ? "" : `, narrowed to ${narrowingWords(narrow)}`}. It is carried out when a second operator
          has approved it too.
        </p>
      ))}
      {scope !== null && (
        <details class="narrow">
          <summary>Narrow what you approve</summary>
          <Narrow
            all={scope.actions}
            chosen={actions}
            onChoose={setActions}
            where={where}
            onWhere={setWhere}
            most={ownBudget ? card.run.budget : null}
            budget={budget}
            onBudget={setBudget}
          />
        </details>
      )}
      {card.ticket_needed !== undefined && (
        <label class="ticket">
          Under which ticket? Your yes assigns it to this call.
          <input
            value={ticket}
            maxLength={200}
            placeholder="jira:OPS-17"
            autocomplete="off"
            onInput={({ currentTarget }) => setTicket(currentTarget.value)}
          />
        </label>
      )}
      <div class="buttons">
        <Button class="yes" aria-disabled={!ready} onClick={() => ready && void approve()}>
          {busy === "approve" ? "Waiting for you…" : passkey || me.passkeys > 0 ? "Approve with passkey" : "Approve"}
          <kbd>a</kbd>
        </Button>
        <Button class="no" aria-disabled={!ready} onClick={() => ready && setAsking({ kind: "deny" })}>
          Deny <kbd>d</kbd>
        </Button>
        {proposed !== null && (
          <Button class="plain" aria-disabled={!ready} onClick={askGrant}>
            Approve and grant <kbd>g</kbd>
          </Button>
        )}
        <Button class="plain" aria-disabled={!ready} onClick={() => ready && void extend()}>
          5 min more
        </Button>
      </div>
      {"none" in approval.grant && card.call !== null && (
        <p class="muted">No grant could answer this: {showText(approval.grant.none)}.</p>
      )}
      {signed}
      {passkey && me.passkeys === 0 && (
        <p class="muted">
          This needs a passkey, and you have none here yet.{" "}
          {me.hub ? (
            "Enrol one at gw console on a host of the vault"
          ) : me.remote ? (
            "Enrol one with gw console --listen … --enrol"
          ) : (
            <a href="#/people">Enrol one</a>
          )}
          ; a no needs none.
        </p>
      )}
    </section>
  );
  return (
    <>
      {isOpen(row) ? (
        open
      ) : (
        <>
          <p class={`ended ${ending.word}`} role="status">
            <b>{ending.word}</b>
            {ending.more}
          </p>
          {signed}
        </>
      )}
      <Problem text={problem === null || (problem.away && !isOpen(row)) ? null : problem.text} />
      {asking?.kind === "deny" && (
        <ReasonDialog
          title="Deny it"
          words="Why? The agent is told."
          verb="Deny"
          required={false}
          over={over}
          onReason={(reason) => void deny(reason)}
          onClose={() => setAsking(null)}
        />
      )}
      {asking?.kind === "grant" && (
        <GrantDialog
          line={asking.line}
          hub={me.hub}
          over={over}
          onGrant={(line) => void grantAndApprove(line)}
          onClose={() => setAsking(null)}
        />
      )}
      {dialog}
    </>
  );
}
