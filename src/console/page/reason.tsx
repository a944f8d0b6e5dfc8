import { useState } from "preact/hooks";
import { Button, Dialog } from "./parts.tsx";

/** Asks why, before something is signed with the answer. */
export function ReasonDialog(props: {
  readonly title: string;
  readonly words: string;
  readonly verb: string;
  readonly kind?: "yes" | "no";
  readonly required?: boolean;
  readonly onReason: (reason: string) => void;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState("");
  const { required = true } = props;
  const submit = (event: Event): void => {
    event.preventDefault();
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
        <div class="buttons">
          <button type="submit" class={props.kind ?? "no"}>
            {props.verb}
          </button>
          <Button class="plain" onClick={props.onClose}>
            Back
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
