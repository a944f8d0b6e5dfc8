import { useEffect, useRef, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import { ask } from "./api.ts";
import { isOpen, type Me, type Row } from "./model.ts";
import { Button, Dialog, Problem, useSteady } from "./parts.tsx";
import { answerWith, type PasskeyAsked } from "./passkey.ts";
import { SecretDialog } from "./secret.tsx";

interface Drafted {
  readonly draft: string;
  readonly passkey: PasskeyAsked | null;
  readonly secret: "pin" | "passphrase" | null;
}

type Asking = { readonly kind: "deny" } | { readonly kind: "secret"; readonly drafted: Drafted } | null;

interface Limits {
  readonly attempts: number;
  readonly side_effects: number;
  readonly duration_seconds: number;
  readonly spend_cents: number;
}

/** Approve, deny, narrow. Nothing here is optimistic: what is shown as decided is what the gateway said. */
export function Decide({
  row,
  me,
  onSaid,
}: {
  readonly row: Row;
  readonly me: Me;
  readonly onSaid: (text: string) => void;
}) {
  const { approval, changedMs } = row;
  const { card } = approval;
  const steady = useSteady(changedMs, me.steady_ms);
  const [busy, setBusy] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [asking, setAsking] = useState<Asking>(null);
  const [actions, setActions] = useState<readonly string[] | null>(null);
  const [budget, setBudget] = useState<Limits>(card.run.budget);
  useEffect(() => {
    setActions(null);
    setBudget(card.run.budget);
    setProblem(null);
    setAsking(null);
  }, [approval.approval_id, approval.card_digest]);

  const mayNarrow = card.asks === "session" || card.asks === "session_and_call";
  const ready = steady && busy === null && isOpen(row);

  async function run(what: string, work: () => Promise<void>): Promise<void> {
    setBusy(what);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(null);
    }
  }

  async function give(drafted: Drafted, more: object): Promise<void> {
    const view = (await ask("POST", "/api/decisions", { draft: drafted.draft, ...more })) as {
      readonly state: string;
      readonly given: readonly unknown[];
    };
    setAsking(null);
    onSaid(
      view.state === "pending" && view.given.length > 0
        ? "Your yes is on record. A second operator has to approve it too."
        : `${showIdentifier(approval.approval_id)} is ${view.state}.`,
    );
  }

  const draft = (body: object): Promise<Drafted> =>
    ask("POST", `/api/approvals/${encodeURIComponent(approval.approval_id)}/draft`, {
      card_digest: approval.card_digest,
      ...body,
    }) as Promise<Drafted>;

  const approve = (): Promise<void> =>
    run("approve", async () => {
      const narrow = mayNarrow ? { actions, budget } : null;
      const drafted = await draft({ decision: "approve", narrow });
      if (drafted.passkey !== null) await give(drafted, { assertion: await answerWith(drafted.passkey) });
      else if (drafted.secret !== null) setAsking({ kind: "secret", drafted });
      else await give(drafted, {});
    });
  const deny = (reason: string): Promise<void> =>
    run("deny", async () => give(await draft({ decision: "deny", reason }), {}));
  const extend = (): Promise<void> =>
    run("extend", async () => {
      await ask("POST", `/api/approvals/${encodeURIComponent(approval.approval_id)}/extend`);
      onSaid("Five minutes more. The card says so, and is another one now: read it again.");
    });

  useKeys({ a: () => ready && void approve(), d: () => ready && setAsking({ kind: "deny" }) });

  if (!isOpen(row)) return <Ended row={row} />;
  const passkey = card.decide?.passkey === true;
  return (
    <section class="decide" aria-label="Decide">
      {approval.given.map(({ operator }) => (
        <p key={operator} class="given">
          Approved by <b>{showIdentifier(operator)}</b>. It is carried out when a second operator has approved it too.
        </p>
      ))}
      {mayNarrow && (
        <details class="narrow">
          <summary>Narrow what you approve</summary>
          <Narrow
            all={card.scope?.actions ?? []}
            chosen={actions}
            onChoose={setActions}
            most={card.run.budget}
            budget={budget}
            onBudget={setBudget}
          />
        </details>
      )}
      <div class="buttons">
        <Button class="yes" aria-disabled={!ready} onClick={() => ready && void approve()}>
          {busy === "approve" ? "Waiting for you…" : passkey || me.passkeys > 0 ? "Approve with passkey" : "Approve"}
          <kbd>a</kbd>
        </Button>
        <Button class="no" aria-disabled={!ready} onClick={() => ready && setAsking({ kind: "deny" })}>
          Deny <kbd>d</kbd>
        </Button>
        <Button class="plain" aria-disabled={!ready} onClick={() => ready && void extend()}>
          5 min more
        </Button>
      </div>
      {passkey && me.passkeys === 0 && (
        <p class="muted">
          This needs a passkey, and you have none here yet. <a href="#/passkeys">Enrol one</a>; a no needs none.
        </p>
      )}
      <Problem text={problem} />
      {asking?.kind === "deny" && <DenyDialog onDeny={(reason) => void deny(reason)} onClose={() => setAsking(null)} />}
      {asking?.kind === "secret" && (
        <SecretDialog
          title={asking.drafted.secret === "pin" ? "Your PIN" : "Your passphrase"}
          words={
            asking.drafted.secret === "pin"
              ? "As in gw watch. With a passkey it is not asked for."
              : "You have no PIN. A passkey is quicker, and safer."
          }
          verb="Approve"
          problem={problem}
          onSecret={(secret) => void run("secret", () => give(asking.drafted, { secret }))}
          onClose={() => setAsking(null)}
        />
      )}
    </section>
  );
}

function Ended({ row: { approval } }: { readonly row: Row }) {
  const by = approval.decided_by === null ? "" : ` by ${showIdentifier(approval.decided_by)}`;
  return (
    <p class={`ended ${approval.state}`} role="status">
      <b>{approval.state}</b>
      {by}
      {approval.reason === null ? "" : `: ${showIdentifier(approval.reason)}`}
    </p>
  );
}

function Narrow(props: {
  readonly all: readonly string[];
  readonly chosen: readonly string[] | null;
  readonly onChoose: (actions: readonly string[]) => void;
  readonly most: Limits;
  readonly budget: Limits;
  readonly onBudget: (budget: Limits) => void;
}) {
  const { all, chosen, onChoose, most, budget, onBudget } = props;
  const kept = chosen ?? all;
  const limits: readonly (readonly [keyof Limits, string])[] = [
    ["attempts", "Attempts"],
    ["side_effects", "Side effects"],
    ["duration_seconds", "Seconds"],
    ["spend_cents", "Cents"],
  ];
  return (
    <div class="narrowing">
      <fieldset>
        <legend>Actions</legend>
        {all.map((action) => (
          <label key={action}>
            <input
              type="checkbox"
              checked={kept.includes(action)}
              onChange={({ currentTarget }) =>
                onChoose(currentTarget.checked ? [...kept, action] : kept.filter((one) => one !== action))
              }
            />
            <code>{showIdentifier(action)}</code>
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>Budget</legend>
        {limits
          .filter(([name]) => most[name] > 0)
          .map(([name, label]) => (
            <label key={name} class="slider">
              <span>{label}</span>
              <input
                type="range"
                min={0}
                max={most[name]}
                value={budget[name]}
                onInput={({ currentTarget }) => onBudget({ ...budget, [name]: Number(currentTarget.value) })}
              />
              <output>
                {budget[name]} <span class="muted">of {most[name]}</span>
              </output>
            </label>
          ))}
      </fieldset>
    </div>
  );
}

function DenyDialog({ onDeny, onClose }: { readonly onDeny: (reason: string) => void; readonly onClose: () => void }) {
  const [reason, setReason] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    onDeny(reason);
  };
  return (
    <Dialog title="Deny it" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          Why? The agent is told.
          <textarea
            rows={3}
            value={reason}
            maxLength={500}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        <div class="buttons">
          <button type="submit" class="no">
            Deny
          </button>
          <Button class="plain" onClick={onClose}>
            Back
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Single letters, as in gw watch; never while something is typed or a question stands. */
export function useKeys(keys: Readonly<Record<string, () => unknown>>): void {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { target } = event;
      const typing = target instanceof HTMLElement && target.closest("input, textarea, select, dialog") !== null;
      if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (document.querySelector("dialog[open]") !== null) return;
      held.current[event.key]?.();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
