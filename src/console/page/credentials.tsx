import { useState } from "preact/hooks";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { CredentialShown } from "../credentials.ts";
import { AddDialog, BindDialog, RotateDialog } from "./credential-dialogs.tsx";
import { Button, Chip, Empty, Id, Problem, Time } from "./parts.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

type Asked = { readonly kind: "add" } | { readonly kind: "rotate" | "bind"; readonly of: CredentialShown } | null;

/** What agents never hold. A value is typed here once, sealed, and shown nowhere again. */
export function Credentials() {
  const { shown, busy, said, problem, work } = useRoom<readonly CredentialShown[]>("/api/credentials");
  const { meant, dialog } = useMeant();
  const [asked, setAsked] = useState<Asked>(null);
  const change = (label: string, verb: string, words: string): void =>
    void work(
      ({ warnings }: { warnings: readonly string[] }) => [words, ...warnings].join(" "),
      () => meant("/api/credentials/change", { label, verb }),
    );
  const give = (path: string, words: string, body: object): void => {
    setAsked(null);
    void work(words, () => meant(path, body));
  };
  return (
    <section aria-labelledby="credentials">
      <h2 id="credentials">Credentials</h2>
      <p class="muted wide">
        Each is bound to the places that may get it. A value goes in and never comes out: rotate it where it is lost.
      </p>
      <div class="buttons">
        <Button class="yes" onClick={() => setAsked({ kind: "add" })}>
          Add a credential
        </Button>
      </div>
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
      {shown?.length === 0 && <Empty title="None yet">Add the one that your first pack names.</Empty>}
      <ul class="tiles">
        {(shown ?? []).map((one) => (
          <li key={one.label} class="tile">
            <header>
              <b>{showIdentifier(one.label)}</b>
              <span class="chips">
                <Chip kind="plain">{one.kind}</Chip>
                <Chip kind={one.state === "enabled" ? "good" : "grave"}>{one.state}</Chip>
              </span>
            </header>
            <p>
              for{" "}
              {one.bound_to.map((place) => (
                <code key={place} class="place">
                  {showText(place)}
                </code>
              ))}
            </p>
            {one.each_use && (
              <p class="chips">
                <Chip kind="key">asks on every use</Chip>
              </p>
            )}
            <p class="muted">
              version {one.version}, since <Time at={one.rotated_at} />; <Use use={one.use} />
            </p>
            {one.public_key !== null && <Id text={one.public_key} />}
            <div class="buttons">
              <Button class="plain small" aria-disabled={busy} onClick={() => setAsked({ kind: "rotate", of: one })}>
                Rotate
              </Button>
              <Button class="plain small" aria-disabled={busy} onClick={() => setAsked({ kind: "bind", of: one })}>
                Bind
              </Button>
              <Button
                class="plain small"
                aria-disabled={busy}
                onClick={() =>
                  one.state === "enabled"
                    ? change(one.label, "disabled", `${one.label} is lent to nobody until it is enabled.`)
                    : change(one.label, "enabled", `${one.label} is lent again where it is bound to.`)
                }
              >
                {one.state === "enabled" ? "Disable" : "Enable"}
              </Button>
              <Button
                class="plain small"
                aria-disabled={busy}
                onClick={() =>
                  change(
                    one.label,
                    one.each_use ? "unmarked_each_use" : "marked_each_use",
                    one.each_use
                      ? `${one.label} asks as its actions do.`
                      : `Every use of ${one.label} asks a person from now on.`,
                  )
                }
              >
                {one.each_use ? "Ask less" : "Ask on every use"}
              </Button>
              <Button
                class="no small"
                aria-disabled={busy}
                onClick={() => change(one.label, "removed", `${one.label} is gone. It cannot be brought back.`)}
              >
                Remove
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {asked?.kind === "add" && (
        <AddDialog
          onClose={() => setAsked(null)}
          onGive={(body) => give("/api/credentials/add", "Stored and sealed. It is lent from now on.", body)}
        />
      )}
      {asked?.kind === "bind" && (
        <BindDialog
          of={asked.of}
          onClose={() => setAsked(null)}
          onGive={(body) =>
            give("/api/credentials/bind", `${asked.of.label} goes to these places from now on, and nowhere else.`, body)
          }
        />
      )}
      {asked?.kind === "rotate" && (
        <RotateDialog
          of={asked.of}
          onClose={() => setAsked(null)}
          onGive={(body) =>
            give("/api/credentials/rotate", `${asked.of.label} has a new value; the old one is no longer lent.`, body)
          }
        />
      )}
      {dialog}
    </section>
  );
}

function Use({ use }: Pick<CredentialShown, "use">) {
  if (use === "unasked") return <>when it was last used only the gateway knows, and it cannot be asked now</>;
  if (use?.last_used_at == null) return <>not used since the unlock</>;
  return (
    <>
      last used <Time at={use.last_used_at} />
      {use.token !== null && (
        <>
          ; its token is good until <Time at={use.token.expires_at} />
        </>
      )}
    </>
  );
}
