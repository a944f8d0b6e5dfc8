import { useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import type { CheckedGateway } from "../../surfaces/cli/hub/fleet.ts";
import { stream } from "./api.ts";
import { Words } from "./card.tsx";
import { Chain } from "./chain.tsx";
import { Button, Chip, Problem } from "./parts.tsx";
import { useAttempt } from "./room.ts";

/** The logs of all gateways, checked from the hub alone. */
export function FleetLog() {
  const [checked, setChecked] = useState<readonly CheckedGateway[] | null>(null);
  const { busy, problem, attempt } = useAttempt();
  const verify = (): Promise<boolean> =>
    attempt(async () => {
      setChecked(null);
      let told = false;
      await stream("POST", "/api/log/verify", (event, data) => {
        if (event !== "fleet") return;
        told = true;
        setChecked(data);
      });
      if (!told) throw new Error("The hub could not be checked: gw audit verify --hub says why.");
    });
  return (
    <section aria-labelledby="log">
      <h2 id="log">The logs on the hub</h2>
      <p class="muted wide">
        Every part is held against its gateway's signature, and every log checked like one on a host, here, in your own
        program. What you saw is remembered: a hub that shows less the next time is found. A checkpoint is made on each
        host: <code>gw audit checkpoint</code>
      </p>
      <div class="buttons">
        <Button class="yes" onClick={() => void verify()} aria-disabled={busy}>
          Verify them
        </Button>
      </div>
      {busy && <p class="muted">Fetching and checking…</p>}
      <Problem text={problem} />
      {checked?.map(({ gateway, left, log, sound, words }) => (
        <div key={gateway} class="report" role="status">
          <h3>
            {showIdentifier(gateway)} <Chip kind={sound ? "good" : "grave"}>{sound ? "intact" : "wrong"}</Chip>
            {left && <Chip kind="plain">has left</Chip>}
          </h3>
          {log !== null && <Chain report={log} />}
          <Words label={`The report on ${showIdentifier(gateway)}, word by word`} lines={words} />
        </div>
      ))}
    </section>
  );
}
