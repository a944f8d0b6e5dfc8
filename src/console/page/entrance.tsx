import { useEffect, useState } from "preact/hooks";
import { showText } from "../../kernel/display.ts";
import { ask, enter, takeToken } from "./api.ts";
import type { Me } from "./model.ts";
import { Button, Problem } from "./parts.tsx";
import { enrol, login } from "./passkey.ts";
import { EnrolForm } from "./passkeys.tsx";
import { useAttempt } from "./room.ts";

/** Before anything else is shown: a link on the operator's own machine, a passkey everywhere else. */
export function Entrance({ me, onEntered }: { readonly me: Me | null; readonly onEntered: () => Promise<void> }) {
  const remote = location.protocol === "https:";
  const { busy, problem, attempt } = useAttempt(true);
  const [enrolled, setEnrolled] = useState(false);

  const enrolHere = (name: string): Promise<boolean> =>
    attempt(async () => {
      await enrol(name, (path) => ask("POST", path));
      setEnrolled(true);
    });
  useEffect(() => {
    const token = takeToken();
    void attempt(async () => {
      if (token !== null) await enter("/api/enter", { token }).then(onEntered);
      else if (!remote)
        throw new Error("This page needs a link of its own: copy the newest one from the terminal of gw console.");
    });
  }, []);

  if (!remote) {
    return problem === null ? (
      <p class="boot">…</p>
    ) : (
      <main class="alone">
        <h1>gw</h1>
        <p role="alert">{problem}</p>
      </main>
    );
  }
  return (
    <main class="alone">
      <h1>gw</h1>
      {me?.enrolling === true && !enrolled ? (
        <>
          <p>
            Enrol a passkey of {showText(me.operator)}. From then on it opens this page, and says yes or no to cards.
          </p>
          <EnrolForm busy={busy} onName={enrolHere} />
        </>
      ) : (
        <>
          <p>{enrolled ? "Enrolled. Your key signed for it." : "This console opens to its operator's passkey."}</p>
          <div class="buttons">
            <Button class="yes" aria-disabled={busy} onClick={() => void attempt(() => login().then(onEntered))}>
              Log in with a passkey
            </Button>
          </div>
        </>
      )}
      <Problem text={problem} />
    </main>
  );
}
