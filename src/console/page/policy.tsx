import { useEffect, useState } from "preact/hooks";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { PolicyShown } from "../policy.ts";
import { ask } from "./api.ts";
import { Chip, Empty, Id, Problem, Time } from "./parts.tsx";

/** What operators signed, to read: whatever lowers protection stands first and says so. */
export function Policy() {
  const [policy, setPolicy] = useState<PolicyShown | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    ask("GET", "/api/policy").then(
      (found) => setPolicy(found as PolicyShown),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  }, []);
  return (
    <>
      <section aria-labelledby="policy">
        <h2 id="policy">Signed policy</h2>
        <Problem text={problem} />
        {policy !== null && (
          <>
            <p class="muted wide">
              Version {policy.version}, signed <Time at={policy.signed_at} /> by one of{" "}
              {policy.operators.map(showText).join(", ")}. It is changed in a terminal: <code>gw policy set</code>,{" "}
              <code>gw policy decide-with</code>, <code>gw grant add</code>, <code>gw pack trust</code>.
            </p>
            <dl class="facts">
              {[...policy.settings]
                .sort((a, b) => Number(b.lowered) - Number(a.lowered))
                .map(({ name, value, lowered }) => (
                  <div key={name}>
                    <dt>{name.replaceAll("_", " ")}</dt>
                    <dd>
                      {value} {lowered && <Chip kind="grave">lowers protection</Chip>}
                    </dd>
                  </div>
                ))}
              {policy.rules.map(({ name, value }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{showText(value)}</dd>
                </div>
              ))}
            </dl>
          </>
        )}
      </section>
      {policy !== null && <Lists policy={policy} />}
    </>
  );
}

function Lists({ policy }: { readonly policy: PolicyShown }) {
  return (
    <>
      <section aria-labelledby="grants">
        <h2 id="grants">Grants</h2>
        {policy.grants.length === 0 && (
          <Empty title="None">A grant is a decision made ahead: calls that pass without a card.</Empty>
        )}
        <ul class="tiles">
          {policy.grants.map(({ name, until, lines }) => (
            <li key={name} class="tile">
              <header>
                <b>{showIdentifier(name)}</b>
                {Date.parse(until) <= Date.now() ? (
                  <Chip kind="plain">over</Chip>
                ) : (
                  <Chip kind="acts">passes without a card</Chip>
                )}
              </header>
              {lines.map((line) => (
                <p key={line}>{showText(line)}</p>
              ))}
              <p class="muted">
                until <Time at={until} />; taken away by <code>gw grant remove {showIdentifier(name)}</code>
              </p>
            </li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="packs">
        <h2 id="packs">Trusted packs</h2>
        {policy.packs.length === 0 && (
          <Empty title="None">A pack says what agents may ask for. Trust one with gw pack trust.</Empty>
        )}
        <ul class="plain-list">
          {policy.packs.map(({ name, digest }) => (
            <li key={name}>
              <b>{showIdentifier(name)}</b> <Id text={digest} />
            </li>
          ))}
        </ul>
      </section>
      {policy.callers.length > 0 && (
        <section aria-labelledby="callers">
          <h2 id="callers">Enrolled programs</h2>
          <ul class="plain-list">
            {policy.callers.map(({ name, digest, at }) => (
              <li key={digest}>
                <b>{showText(name)}</b> <Time at={at} /> <Id text={digest} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
