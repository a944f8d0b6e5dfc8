import { useState } from "preact/hooks";
import { showText } from "../../kernel/display.ts";
import type { PolicyShown, SettingShown } from "../policy.ts";
import { Button, Chip, Problem, Time } from "./parts.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

/** What each setting means, for whoever does not have the manual open. */
const MEANS: Readonly<Record<string, string>> = {
  headless_unlock: "A key file may open the vault when the gateway starts, with nobody there.",
  callbacks: "Where providers may call back: nowhere, this machine, or the network.",
  run_attempts: "Requests that one run may send.",
  run_side_effects: "Requests of one run that change something.",
  run_seconds: "How long one run lasts, in seconds.",
  run_spend_cents: "What one run may spend, in cents.",
  day_spend_cents: "What all runs may spend in a day, in cents.",
};

/** Every switch of signed policy. What lowers protection stands first, together, and says so. */
export function Settings() {
  const { shown, busy, said, problem, work } = useRoom<PolicyShown>("/api/policy");
  const { meant, dialog } = useMeant();
  const set = (setting: string, value: string): void =>
    void work(
      ({ words, lowered }: { words: string; lowered: boolean }) =>
        `${words} Signed.${lowered ? " This lowers protection; every verifier of the policy sees it." : ""}`,
      () => meant("/api/policy/set", { setting, value }),
    );
  return (
    <>
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
      {shown !== null && (
        <>
          <section aria-labelledby="lowered">
            <h2 id="lowered">What lowers protection</h2>
            <Lowered policy={shown} busy={busy} onSet={set} />
          </section>
          <section aria-labelledby="settings">
            <h2 id="settings">Settings</h2>
            <p class="muted wide">
              Policy version {shown.version}, signed <Time at={shown.signed_at} />. Each change is signed by your key
              and stands in the log.
            </p>
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Setting</th>
                  <th scope="col">Stands at</th>
                </tr>
              </thead>
              <tbody>
                {shown.settings.map((one) => (
                  <tr key={one.name}>
                    <th scope="row">
                      {one.name.replaceAll("_", " ")}
                      <span class="muted">{MEANS[one.name]}</span>
                    </th>
                    <td>
                      <select
                        aria-label={one.name.replaceAll("_", " ")}
                        value={one.value}
                        disabled={busy}
                        onChange={({ currentTarget }) => {
                          const { value } = currentTarget;
                          // What stands is what was signed: the list shows it until the change is.
                          currentTarget.value = one.value;
                          set(one.name, value);
                        }}
                      >
                        {one.values.map((value) => (
                          <option key={value} value={value}>
                            {value}
                            {value === one.safe ? "" : " (lowers protection)"}
                          </option>
                        ))}
                      </select>
                    </td>
                  </tr>
                ))}
                {shown.ceilings.map(({ name, value, standard }) => (
                  <Ceiling key={`${name} ${value}`} {...{ name, value, standard, busy }} onSet={set} />
                ))}
              </tbody>
            </table>
          </section>
          <Demands policy={shown} busy={busy} work={work} meant={meant} />
        </>
      )}
      {dialog}
    </>
  );
}

function Lowered(props: {
  readonly policy: PolicyShown;
  readonly busy: boolean;
  readonly onSet: (setting: string, value: string) => void;
}) {
  const lowered = props.policy.settings.filter(({ value, safe }) => value !== safe);
  const grants = props.policy.grants.filter(({ until }) => Date.parse(until) > Date.now()).length;
  return (
    <ul class="plain-list">
      {lowered.length === 0 && (
        <li>Every setting is at its safe value{grants === 0 ? ", and no grant stands" : ""}.</li>
      )}
      {lowered.map(({ name, value, safe }: SettingShown) => (
        <li key={name}>
          <Chip kind="grave">lowers protection</Chip> <b>{name.replaceAll("_", " ")}</b> is {value}.{" "}
          <Button class="plain small" aria-disabled={props.busy} onClick={() => props.onSet(name, safe)}>
            Set it back to {safe}
          </Button>
        </li>
      ))}
      {grants > 0 && (
        <li>
          <Chip kind="acts">passes without a card</Chip> {grants} {grants === 1 ? "grant" : "grants"}:{" "}
          <a href="#/grants">look at them</a>
        </li>
      )}
    </ul>
  );
}

function Ceiling(props: {
  readonly name: string;
  readonly value: string;
  readonly standard: number;
  readonly busy: boolean;
  readonly onSet: (setting: string, value: string) => void;
}) {
  const [value, setValue] = useState(props.value);
  const label = props.name.replaceAll("_", " ");
  const submit = (event: Event): void => {
    event.preventDefault();
    props.onSet(props.name, value.trim());
  };
  return (
    <tr>
      <th scope="row">
        {label}
        <span class="muted">
          {MEANS[props.name]} A number, or standard, which is {props.standard}.
        </span>
      </th>
      <td>
        <form class="inline" onSubmit={submit}>
          <input
            aria-label={label}
            value={value}
            size={10}
            onInput={({ currentTarget }) => setValue(currentTarget.value)}
          />
          {value !== props.value && (
            <button type="submit" class="plain small" disabled={props.busy}>
              Sign
            </button>
          )}
        </form>
      </td>
    </tr>
  );
}

/** What a yes needs beside one operator's key. */
function Demands(props: {
  readonly policy: PolicyShown;
  readonly busy: boolean;
  readonly work: (words: (answer: never) => string, does: () => Promise<unknown>) => Promise<boolean>;
  readonly meant: (path: string, body?: object) => Promise<unknown>;
}) {
  const { policy, busy, work, meant } = props;
  const [action, setAction] = useState("");
  const sign = (path: string, body: object): void =>
    void work(
      ({ words }: { words: string }) => `${words} Signed.`,
      () => meant(path, body),
    );
  const effects = policy.passkey?.effects ?? [];
  const rule = (all: boolean, chosen: readonly string[]): void =>
    sign("/api/policy/decide-with", { all, effects: chosen });
  return (
    <section aria-labelledby="demands">
      <h2 id="demands">What a yes needs</h2>
      <p>
        {policy.passkey === null
          ? "Any operator's key is enough."
          : `A passkey is needed for ${showText(policy.passkey.words)}.`}{" "}
        <span class="muted">A no never needs more than one operator&apos;s key.</span>
      </p>
      <fieldset class="choices" disabled={busy}>
        <legend>Demand a passkey for</legend>
        <label>
          <input
            type="checkbox"
            checked={policy.passkey?.all === true}
            onChange={({ currentTarget }) => rule(currentTarget.checked, [])}
          />
          everything
        </label>
        {policy.effects.map((effect) => (
          <label key={effect}>
            <input
              type="checkbox"
              checked={effects.includes(effect)}
              disabled={policy.passkey?.all === true}
              onChange={({ currentTarget }) =>
                rule(false, currentTarget.checked ? [...effects, effect] : effects.filter((one) => one !== effect))
              }
            />
            {effect}
          </label>
        ))}
      </fieldset>
      <h3>Two people</h3>
      {policy.two_people.length === 0 && <p class="muted">No action needs two approvals.</p>}
      <ul class="plain-list">
        {policy.two_people.map((name) => (
          <li key={name}>
            <code>{showText(name)}</code>{" "}
            <Button
              class="plain small"
              aria-disabled={busy}
              onClick={() => sign("/api/policy/approvers", { action: name, count: "1" })}
            >
              One is enough
            </Button>
          </li>
        ))}
      </ul>
      <form
        class="enrol"
        onSubmit={(event) => {
          event.preventDefault();
          sign("/api/policy/approvers", { action, count: "2" });
        }}
      >
        <label>
          Action that two operators approve
          <input
            value={action}
            required
            placeholder="acme.refund.create"
            onInput={({ currentTarget }) => setAction(currentTarget.value)}
          />
        </label>
        <button type="submit" class="plain" disabled={busy}>
          Demand two
        </button>
      </form>
    </section>
  );
}
