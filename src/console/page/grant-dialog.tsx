import { useState } from "preact/hooks";
import { Answers, Dialog } from "./parts.tsx";

/** The narrowest grant that would have answered the card, to be edited before it is signed. */
export function GrantDialog(props: {
  readonly line: string;
  readonly onGrant: (line: string) => void;
  readonly onClose: () => void;
}) {
  const [line, setLine] = useState(props.line);
  const submit = (event: Event): void => {
    event.preventDefault();
    props.onGrant(line.trim());
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
        <Answers verb="Sign the grant and approve" onClose={props.onClose} />
      </form>
    </Dialog>
  );
}
