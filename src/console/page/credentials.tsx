import { useRef, useState } from "preact/hooks";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { CredentialShown } from "../credentials.ts";
import { Answers, Button, Chip, Dialog, Empty, Id, Problem, Time } from "./parts.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

type Asked = { readonly kind: "add" } | { readonly kind: "rotate"; readonly of: CredentialShown } | null;

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

const PLACES: Readonly<Record<string, readonly [label: string, example: string]>> = {
  ssh: ["Host keys that may get it, one a line", "ssh-ed25519 AAAA…"],
  hmac: ["Packs whose callbacks it checks, one a line", "acme"],
};

function AddDialog({ onGive, onClose }: { readonly onGive: (body: object) => void; readonly onClose: () => void }) {
  const [kind, setKind] = useState("bearer");
  const value = useValue();
  const [places, example] = PLACES[kind] ?? ["Origins that may get it, one a line", "https://api.acme.example"];
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => String(form.get(name) ?? "");
    onGive({
      ...{ kind, label: text("label"), bound_to: text("bound_to"), each_use: form.get("each_use") === "on" },
      ...(kind === "header" ? { header: text("header") } : {}),
      ...(kind === "basic" ? { username: text("username") } : {}),
      ...value.take(),
    });
  };
  return (
    <Dialog title="Add a credential" onClose={onClose}>
      <form class="fields" onSubmit={submit}>
        <label>
          Label, as packs name it
          <input name="label" required maxLength={64} autocomplete="off" placeholder="acme-token" />
        </label>
        <label>
          Kind
          <select value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
            <option value="bearer">bearer token</option>
            <option value="basic">user name and password</option>
            <option value="header">a header of its own</option>
            <option value="hmac">secret of callbacks (hmac)</option>
            <option value="ssh">SSH private key</option>
          </select>
        </label>
        {kind === "header" && (
          <label>
            Header
            <input name="header" required maxLength={64} placeholder="X-API-Key" />
          </label>
        )}
        {kind === "basic" && (
          <label>
            User name
            <input name="username" required maxLength={200} autocomplete="off" />
          </label>
        )}
        <label>
          {places}
          <textarea name="bound_to" required rows={2} placeholder={example} />
        </label>
        <ValueField kind={kind} field={value.field} phrase={value.phrase} />
        <label class="check">
          <input type="checkbox" name="each_use" /> ask a person on every use
        </label>
        <p class="muted">
          OAuth, GitHub Apps and other kinds that are exchanged for tokens: <code>gw credential add</code>
        </p>
        <Answers verb="Store it" onClose={onClose} />
      </form>
    </Dialog>
  );
}

function RotateDialog(props: {
  readonly of: CredentialShown;
  readonly onGive: (body: object) => void;
  readonly onClose: () => void;
}) {
  const { label, kind } = props.of;
  const value = useValue();
  const submit = (event: Event): void => {
    event.preventDefault();
    const username = new FormData(event.currentTarget as HTMLFormElement).get("username");
    props.onGive({ label, ...(username === null ? {} : { username: String(username) }), ...value.take() });
  };
  return (
    <Dialog title={`A new value for ${showIdentifier(label)}`} onClose={props.onClose}>
      <form class="fields" onSubmit={submit}>
        {kind === "basic" && (
          <label>
            User name
            <input name="username" required maxLength={200} autocomplete="off" />
          </label>
        )}
        <ValueField kind={kind} field={value.field} phrase={value.phrase} />
        <Answers verb="Rotate it" onClose={props.onClose} />
      </form>
    </Dialog>
  );
}

/** What is typed stays in the field and leaves it once: no state of the page ever holds it. */
function useValue() {
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const phrase = useRef<HTMLInputElement>(null);
  const empty = (one: HTMLInputElement | HTMLTextAreaElement | null): string => {
    const text = one?.value ?? "";
    if (one !== null) one.value = "";
    return text;
  };
  const take = (): object => {
    const keyPassphrase = empty(phrase.current);
    return { value: empty(field.current), ...(keyPassphrase === "" ? {} : { key_passphrase: keyPassphrase }) };
  };
  return { field, phrase, take };
}

/** What is one line; every other kind is a key or a document, which a field of one line would flatten. */
const ONE_LINE = ["bearer", "basic", "header", "hmac"];

function ValueField({ kind, field, phrase }: Omit<ReturnType<typeof useValue>, "take"> & { readonly kind: string }) {
  if (ONE_LINE.includes(kind)) {
    return (
      <label>
        Value
        <input ref={field} type="password" required autocomplete="off" />
      </label>
    );
  }
  return (
    <>
      <label>
        {kind === "ssh" ? "Private key" : "Value, as its provider gave it out"}
        <textarea ref={field} required rows={4} spellcheck={false} autocomplete="off" />
      </label>
      {kind === "ssh" && (
        <label>
          Its passphrase, if it has one
          <input ref={phrase} type="password" autocomplete="off" />
        </label>
      )}
    </>
  );
}
