import { useRef, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import type { CredentialShown } from "../credentials.ts";
import { Answers, Dialog } from "./parts.tsx";

const PLACES: Readonly<Record<string, readonly [label: string, example: string]>> = {
  ssh: ["Host keys that may get it, one a line", "ssh-ed25519 AAAA…"],
  hmac: ["Packs whose callbacks it checks, one a line", "acme"],
};

function placesFor(kind: string): readonly [label: string, example: string] {
  return PLACES[kind] ?? ["Origins that may get it, one a line", "https://api.acme.example"];
}

/** Where it may go. The value is sealed again with its places, in the console program; it is not asked for. */
export function BindDialog(props: {
  readonly of: CredentialShown;
  readonly onGive: (body: object) => void;
  readonly onClose: () => void;
}) {
  const { label, kind, bound_to } = props.of;
  const submit = (event: Event): void => {
    event.preventDefault();
    const places = new FormData(event.currentTarget as HTMLFormElement).get("bound_to");
    props.onGive({ label, bound_to: String(places) });
  };
  return (
    <Dialog title={`Where ${showIdentifier(label)} may go`} onClose={props.onClose}>
      <form class="fields" onSubmit={submit}>
        <label>
          {placesFor(kind)[0]}
          <textarea name="bound_to" required rows={4} spellcheck={false} defaultValue={bound_to.join("\n")} />
        </label>
        <p class="muted">
          A place that is not listed gets it no more; one that is new gets it with the next call there.
        </p>
        <Answers verb="Sign it" onClose={props.onClose} />
      </form>
    </Dialog>
  );
}

export function AddDialog({
  onGive,
  onClose,
}: {
  readonly onGive: (body: object) => void;
  readonly onClose: () => void;
}) {
  const [kind, setKind] = useState("bearer");
  const value = useValue();
  const [places, example] = placesFor(kind);
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

export function RotateDialog(props: {
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
