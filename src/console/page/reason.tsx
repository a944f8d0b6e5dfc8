import { useState } from "preact/hooks";
import { Answers, Dialog, Over } from "./parts.tsx";

/** Asks why, before something is signed with the answer. */
export function ReasonDialog(props: {
  readonly title: string;
  readonly words: string;
  readonly verb: string;
  readonly kind?: "yes" | "no";
  readonly required?: boolean;
  /** How what it is about has ended meanwhile. */
  readonly over?: string | null;
  readonly onReason: (reason: string) => void;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState("");
  const { required = true, over = null } = props;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (over !== null) return;
    if (reason.trim() !== "" || !required) props.onReason(reason.trim());
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form onSubmit={submit}>
        <label>
          {props.words}
          <textarea
            rows={3}
            required={required}
            maxLength={500}
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        {over === null ? (
          <Answers verb={props.verb} kind={props.kind ?? "no"} onClose={props.onClose} />
        ) : (
          <Over how={over} onClose={props.onClose} />
        )}
      </form>
    </Dialog>
  );
}
