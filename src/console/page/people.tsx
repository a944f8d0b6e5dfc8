import { showText } from "../../kernel/display.ts";
import type { PolicyShown } from "../policy.ts";
import { Button, Empty, Id, Problem } from "./parts.tsx";
import { Passkeys } from "./passkeys.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

/** Who may decide, with which keys, and which programs are vouched for. */
export function People({ onChange }: { readonly onChange: () => void }) {
  const { shown, busy, said, problem, work } = useRoom<PolicyShown>("/api/policy");
  const { meant, dialog } = useMeant();
  return (
    <>
      <section aria-labelledby="operators">
        <h2 id="operators">Operators</h2>
        <ul class="plain-list">
          {(shown?.operators ?? []).map(({ name, key_id, reading_key_id }) => (
            <li key={key_id}>
              <b>{showText(name)}</b> signs with <Id text={key_id} />, reads with <Id text={reading_key_id} />
            </li>
          ))}
        </ul>
        <p class="muted">
          A new operator types a passphrase of their own, in a terminal: <code>gw operator add NAME</code>
        </p>
      </section>
      <Passkeys onChange={onChange} />
      <section aria-labelledby="callers">
        <h2 id="callers">Callers that are vouched for</h2>
        <p class="said" role="status">
          {said}
        </p>
        <Problem text={problem} />
        {shown?.callers.length === 0 && (
          <Empty title="None">
            A card names who vouches for a program. Enrol one with <code>gw caller enroll FILE --as NAME</code>.
          </Empty>
        )}
        <ul class="plain-list">
          {(shown?.callers ?? []).map(({ name, line }) => (
            <li key={line}>
              <code>{line}</code>{" "}
              <Button
                class="no small"
                aria-disabled={busy}
                aria-label={`Remove ${showText(name)}`}
                onClick={() =>
                  void work(`${name} vouches for no caller any more.`, () => meant("/api/policy/caller", { name }))
                }
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      </section>
      {dialog}
    </>
  );
}
