import { useState } from "preact/hooks";
import type { EnrolledPasskey } from "../../conventions/passkey/passkey.ts";
import { showText } from "../../kernel/display.ts";
import { Button, Chip, Empty, Problem, Time } from "./parts.tsx";
import { enrol } from "./passkey.ts";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

type Shown = EnrolledPasskey & { readonly counts: boolean; readonly here: boolean };

/** Keys that only a hand can use. The operator's key signs for each, in signed policy. */
export function Passkeys({ onChange }: { readonly onChange: () => void }) {
  const { shown: list, busy, said, problem, work } = useRoom<readonly Shown[]>("/api/passkeys", onChange);
  const { meant, dialog } = useMeant();
  const add = (name: string): Promise<boolean> =>
    work(`${name} is enrolled. Your key signed for it; gw passkey remove takes it away.`, () => enrol(name, meant));
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p class="muted wide">
        An approval with a passkey is made by a hand: malware that runs as you cannot make one. Policy can demand it:{" "}
        <code>gw policy decide-with passkey --effect send</code>
      </p>
      <EnrolForm busy={busy} onName={add} />
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
      {list !== null && list.length === 0 && (
        <Empty title="None yet">Enrol one: a finger, a face, a PIN or a security key.</Empty>
      )}
      <ul class="tiles">
        {(list ?? []).map((one) => (
          <li key={one.credentialId} class="tile">
            <header>
              <b>{showText(one.name)}</b>
              <Button
                class="no small"
                aria-disabled={busy}
                onClick={() =>
                  void work(`${one.name} decides nothing any more.`, () =>
                    meant(`/api/passkeys/${one.credentialId}/remove`),
                  )
                }
              >
                Remove
              </Button>
            </header>
            <p class="chips">
              <Chip kind="plain">{showText(one.operator)}</Chip>
              <Chip kind="plain">{one.algorithm}</Chip>
              {one.counts ? <Chip kind="good">counts</Chip> : <Chip kind="grave">decides nothing</Chip>}
              {!one.here && <Chip kind="acts">at {one.origin}</Chip>}
            </p>
            <p class="muted">
              enrolled <Time at={one.enrolledAt} />
            </p>
          </li>
        ))}
      </ul>
      {dialog}
    </section>
  );
}

/** Asks for a word of the person's own for it; true empties the field. */
export function EnrolForm(props: { readonly busy: boolean; readonly onName: (name: string) => Promise<boolean> }) {
  const [name, setName] = useState("");
  const add = (event: Event): void => {
    event.preventDefault();
    void props.onName(name.trim()).then((done) => done && setName(""));
  };
  return (
    <form class="enrol" onSubmit={add}>
      <label>
        Name of the new one
        <input
          value={name}
          maxLength={64}
          required
          placeholder="laptop"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <button type="submit" class="yes" disabled={props.busy}>
        Enrol a passkey
      </button>
    </form>
  );
}
