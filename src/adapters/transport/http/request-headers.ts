import { isSpooled, type SentBody } from "../../../conventions/action/spooled.ts";
import { prepareScreen, type Screen } from "../../../conventions/outcome/echo.ts";
import type { HttpSend, LentCredential } from "../../../gateway/ports.ts";
import type { Secret } from "../../../kernel/secret.ts";
import type { Read } from "./target.ts";

type LentField = NonNullable<LentCredential["json"]>[number];

/** Fields that frame the message or belong to the connection: the transport writes these itself. */
const OURS = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Some providers answer nobody who does not say what they are. No version: it is nobody's business, and a change would be one to them. */
export const USER_AGENT = "agent-action-gateway";

/** Checks everything about the header section that can be known before a connection is opened. */
export function checkRequestHeaders(
  headers: HttpSend["headers"],
  credential: LentCredential | null,
): Read<readonly string[]> {
  const flat: string[] = ["accept-encoding", "identity"];
  const seen = new Set<string>();
  for (const name in headers) {
    const value = headers[name] ?? "";
    const fault = faultOfName(name, seen) ?? (VALUE.test(value) ? undefined : VALUE_FAULT);
    if (fault !== undefined) return { kind: "refused", why: `header field ${JSON.stringify(name)} ${fault}` };
    flat.push(name, value);
  }
  if (credential !== null) {
    const named = hasHeader(credential) ? faultOfName(credential.headerName, seen) : undefined;
    const fault = named ?? faultOfSecret(credential.headerValue) ?? faultOfFurther(credential, seen);
    if (fault !== undefined) return { kind: "refused", why: `credential ${JSON.stringify(credential.label)} ${fault}` };
  }
  if (!seen.has("user-agent")) flat.push("user-agent", USER_AGENT);
  return { kind: "ok", value: flat };
}

/** What one exchange takes along: the header section with the credential in it, and the eye for its return. */
export interface Loaded {
  readonly headers: string[];
  readonly body: SentBody | null;
  /** For the end of the query; empty where the credential has nothing there. */
  readonly query: string;
  readonly screen: Screen;
}

/** The only place where the secret becomes text. The array goes to the socket's writer at once and is kept nowhere. */
export function loadCredential(
  flat: readonly string[],
  body: SentBody | null,
  credential: LentCredential | null,
): Read<Loaded> {
  if (credential === null)
    return { kind: "ok", value: { headers: [...flat], body, query: "", screen: prepareScreen([]) } };
  try {
    const { headerValue } = credential;
    const screen = screenOf(credential);
    const spooled = body !== null && isSpooled(body);
    if (spooled && hasBodyFields(credential))
      return {
        kind: "refused",
        why: `credential ${JSON.stringify(credential.label)} goes into a body, and this one is too large for that`,
      };
    const joined = spooled ? body : joinJson(joinForm(body, credential), credential.json ?? []);
    const own = hasHeader(credential) ? [credential.headerName, headerValue.use(latin1)] : [];
    const further = (credential.further ?? []).flatMap((field) => [field.name, field.value.use(latin1)]);
    return {
      kind: "ok",
      value: { headers: [...flat, ...own, ...further], body: joined, query: queryOf(credential), screen },
    };
  } catch {
    return { kind: "refused", why: `credential ${JSON.stringify(credential.label)} ${WIPED}` };
  }
}

/** Sends that share a loan share what is looked for in their answers. A loan that was taken back cannot be read any more. */
const screens = new WeakMap<LentCredential["secrets"], Screen>();

function screenOf(credential: LentCredential): Screen {
  const { secrets, headerValue } = credential;
  const known = screens.get(secrets);
  if (known !== undefined) return known;
  const prepared = prepareScreen(hasHeader(credential) ? [...secrets, headerValue] : secrets);
  screens.set(secrets, prepared);
  return prepared;
}

function queryOf({ query = [] }: LentCredential): string {
  return query
    .map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value.use(String))}`)
    .join("&");
}

function hasBodyFields({ formField, form = [], json = [] }: LentCredential): boolean {
  return formField !== undefined || form.length > 0 || json.length > 0;
}

/** What goes into a form, and what the connection itself shows, has none. */
function hasHeader({ formField, headerName }: LentCredential): boolean {
  return formField === undefined && headerName !== "";
}

/** The body with the secret members of its form at the end; as it is where the loan has none. */
function joinForm(body: Buffer | null, { formField, headerValue, form = [] }: LentCredential): Buffer | null {
  const members = [...(formField === undefined ? [] : [{ name: formField, value: headerValue }]), ...form];
  if (members.length === 0) return body;
  const pairs = members.map(({ name, value }): [string, string] => [
    name,
    value.use((bytes) => bytes.toString("utf8")),
  ]);
  const fields = Buffer.from(new URLSearchParams(pairs).toString(), "latin1");
  return body === null || body.byteLength === 0 ? fields : Buffer.concat([body, Buffer.from("&"), fields]);
}

/** The body, which is a JSON object with members, with the secret ones at its end. */
function joinJson(body: Buffer | null, members: readonly LentField[]): Buffer | null {
  if (members.length === 0 || body === null) return body;
  const texts = members.map(({ name, value }) => `,${JSON.stringify(name)}:${JSON.stringify(value.use(String))}`);
  return Buffer.concat([body.subarray(0, -1), Buffer.from(`${texts.join("")}}`, "utf8")]);
}

const WIPED = "was taken back before it could be used";

/** RFC 9110 tokens, and values of visible ASCII with blanks inside. No repetition is nested: both run in linear time. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const VALUE_FAULT =
  "has a value that a header field cannot carry (a line break, a control character, or a blank at its edge)";

function faultOfName(name: string, seen: Set<string>): string | undefined {
  if (!TOKEN.test(name)) return "has a name that is not a token";
  const lower = name.toLowerCase();
  if (OURS.has(lower)) return "is written by the transport itself";
  if (seen.has(lower)) return "is given twice";
  seen.add(lower);
  return undefined;
}

function faultOfFurther({ further = [] }: LentCredential, seen: Set<string>): string | undefined {
  for (const { name, value } of further) {
    const fault = faultOfName(name, seen) ?? faultOfSecret(value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfSecret(value: Secret): string | undefined {
  try {
    return value.use(isValueBytes) ? undefined : VALUE_FAULT;
  } catch {
    return WIPED;
  }
}

function latin1(bytes: Buffer): string {
  return bytes.toString("latin1");
}

/** The same rule on bytes, so that a secret is judged before it becomes a string. Bytes above ASCII are let through. */
function isValueBytes(bytes: Buffer): boolean {
  for (const byte of bytes) if ((byte < 0x20 && byte !== 0x09) || byte === 0x7f) return false;
  return !isBlank(bytes.at(0)) && !isBlank(bytes.at(-1));
}

function isBlank(code: number | undefined): boolean {
  return code === 0x20 || code === 0x09;
}
