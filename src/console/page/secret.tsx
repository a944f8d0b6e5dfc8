import { useRef, useState } from "preact/hooks";
import { ask, Refused } from "./api.ts";
import { Answers, Dialog, Problem } from "./parts.tsx";

/** What only the person knows, typed for one thing. It is kept nowhere. */
export function SecretDialog(props: {
  readonly title: string;
  readonly words: string;
  readonly verb: string;
  readonly problem: string | null;
  readonly onSecret: (secret: string) => void;
  readonly onClose: () => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    const secret = field.current?.value ?? "";
    if (field.current !== null) field.current.value = "";
    if (secret !== "") props.onSecret(secret);
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form onSubmit={submit}>
        <label>
          {props.words}
          <input ref={field} type="password" autocomplete="off" />
        </label>
        <Problem text={props.problem} />
        <Answers verb={props.verb} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}

interface Pending {
  readonly words: string;
  readonly problem: string | null;
  readonly answer: (secret: string | null) => void;
}

/** Asks the console for something that acts or signs, and the person for their secret where the console wants it. */
export function useMeant() {
  const [pending, setPending] = useState<Pending | null>(null);
  const secretFor = (words: string, problem: string | null): Promise<string | null> =>
    new Promise((answer) => setPending({ words, problem, answer }));

  async function meant(path: string, body: object = {}): Promise<unknown> {
    let words = "";
    for (let given: object = {}; ; ) {
      try {
        const answer = await ask("POST", path, { ...body, ...given });
        setPending(null);
        return answer;
      } catch (error) {
        const needed = error instanceof Refused && error.code === "console_secret_needed";
        const wrong = error instanceof Refused && (error.code === "pin_wrong" || error.code === "passphrase_wrong");
        setPending(null);
        if (!needed && !wrong) throw error;
        if (needed) words = error.message;
        const secret = await secretFor(words, wrong ? error.message : null);
        setPending(null);
        if (secret === null) throw new Refused("left", "Nothing was done.");
        given = { secret };
      }
    }
  }

  const dialog =
    pending === null ? null : (
      <SecretDialog
        title="Is it you?"
        words={pending.words}
        verb="Go on"
        problem={pending.problem}
        onSecret={pending.answer}
        onClose={() => pending.answer(null)}
      />
    );
  return { meant, dialog };
}
