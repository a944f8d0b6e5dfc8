import { useState } from "preact/hooks";
import { Answers, Dialog, Over } from "./parts.tsx";

/** The narrowest grant that would have answered the card, to be edited before it is signed. */
export function GrantDialog(props: {
  readonly line: string;
  /** It is for every gateway of the vault then. */
  readonly hub: boolean;
  /** How the card has ended meanwhile. */
  readonly over: string | null;
  readonly onGrant: (line: string) => void;
  readonly onClose: () => void;
}) {
  const [line, setLine] = useState(props.line);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (props.over === null) props.onGrant(line.trim());
  };
  return (
    <Dialog title="Approve, and let such calls pass from now on" onClose={props.onClose}>
      <form onSubmit={submit}>
        <label>
          The grant, as gw grant add takes it. It is signed first; then the card is approved.
          <textarea
            class="code"
            rows={7}
            required
            maxLength={4_000}
            spellcheck={false}
            value={line}
            onInput={({ currentTarget }) => setLine(currentTarget.value)}
          />
        </label>
        <p class="muted">Arguments that it does not name are free, also those that this call left out.</p>
        {props.hub && (
          <p class="muted">
            It is signed for every gateway of the vault. A number after uid: means the user of that number on each host.
          </p>
        )}
        {props.over === null ? (
          <Answers verb="Sign the grant and approve" onClose={props.onClose} />
        ) : (
          <Over how={props.over} onClose={props.onClose} />
        )}
      </form>
    </Dialog>
  );
}
