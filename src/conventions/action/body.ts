import { canonicalJson } from "../../kernel/canonical-json.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import { PUSH_MEDIA_TYPE, type RefUpdate, writePush } from "../git/push.ts";
import { buildQuery, type QueryPair, type Scalar, scalarText } from "../url/query.ts";
import type { BodyValue } from "./gather.ts";
import { digestPart, type Part, writeMultipart } from "./multipart.ts";
import { type HttpAction, type UrlAction, WHOLE } from "./pack.ts";
import { ROLLBACK_BODY } from "./rollback.ts";
import { byDigest, type SentBody, type SpooledBody, standInFor } from "./spooled.ts";

export interface WrittenBody {
  readonly bytes: SentBody | null;
  readonly mediaType: string | null;
  /** Canonical JSON of what the digest covers: the value itself, form text, or the parts by digest. */
  readonly digested: string;
}

/** Writes the one body that an action declares, always the same bytes for the same values. */
export function writeBody(
  action: HttpAction | UrlAction,
  values: ReadonlyMap<string, BodyValue>,
  spooled?: SpooledBody,
): WrittenBody {
  switch (action.body) {
    case null:
      return NONE;
    case "application/json": {
      if (values.size === 0 && isEmptyAllowed(action)) return NONE;
      const text = writeJsonBody(action, values);
      return { bytes: Buffer.from(text, "utf8"), mediaType: action.body, digested: text };
    }
    case "application/x-www-form-urlencoded": {
      if (values.size === 0 && isEmptyAllowed(action)) return NONE;
      const text = buildQuery([...values].map(formPair));
      return { bytes: Buffer.from(text, "utf8"), mediaType: action.body, digested: JSON.stringify(text) };
    }
    case "multipart/form-data": {
      const parts = [...values].map(partOf);
      const { bytes, mediaType } = writeMultipart(parts);
      return { bytes, mediaType, digested: canonicalJson(parts.map((part) => ({ ...digestPart(part) }))) };
    }
    case "opaque": {
      const [[name, { value }] = ["", { value: "" }]] = [...values];
      const bytes = standsFor(String(value), spooled) ?? decodeFile(name, String(value));
      const mediaType = action.kind === "http" ? action.mediaType : null;
      return { bytes, mediaType, digested: canonicalJson(byDigest(bytes)) };
    }
    case "git-receive-pack":
      return writePushBody(values);
  }
}

const NONE: WrittenBody = { bytes: null, mediaType: null, digested: "null" };

function isEmptyAllowed(action: HttpAction | UrlAction): boolean {
  return action.kind === "http" && action.emptyBody;
}

/** RFC 8785 with the order of the members known from the definition; a property holds it equal to the general writer. */
function writeJsonBody(action: HttpAction | UrlAction, values: ReadonlyMap<string, BodyValue>): string {
  const whole = values.get(WHOLE);
  if (whole !== undefined) {
    if (values.size > 1) throw new Fault("a bare value has no room for another");
    return canonicalJson(whole.value);
  }
  let text = "";
  for (const { wireName, prefix } of bodyOrder(action)) {
    const found = values.get(wireName);
    if (found !== undefined) text += `${text === "" ? "{" : ","}${prefix}${canonicalJson(found.value)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

interface Ordered {
  readonly wireName: string;
  readonly prefix: string;
}

const orders = new WeakMap<object, readonly Ordered[]>();

/** The wire names of the body in canonical order, worked out once per definition. */
function bodyOrder(action: HttpAction | UrlAction): readonly Ordered[] {
  const known = orders.get(action);
  if (known !== undefined) return known;
  const names = action.inputs.filter(({ place }) => place === "body").map(({ wireName }) => wireName);
  for (const slot of [action.plan?.id, action.plan?.revision]) if (slot?.place === "body") names.push(slot.wireName);
  if (action.rollback !== null) names.push(...ROLLBACK_BODY.map(([wireName]) => wireName));
  const order = [...new Set(names)].sort().map((wireName) => ({ wireName, prefix: `${JSON.stringify(wireName)}:` }));
  orders.set(action, order);
  return order;
}

function formPair([name, { field, value }]: readonly [string, BodyValue]): QueryPair {
  return { name, value: value as Scalar | readonly Scalar[], percent: "literal", list: field?.list ?? null };
}

function partOf([name, { field, value }]: readonly [string, BodyValue]): Part {
  if (field === null) throw new Fault("only declared inputs become parts");
  switch (field.part) {
    case "file":
      return {
        name,
        bytes: decodeFile(field.name, String(value)),
        filename: field.filename,
        mediaType: field.mediaType,
      };
    case "bytes":
      throw new Fault("bytes are a whole body and no part");
    case "json":
      return { name, bytes: Buffer.from(canonicalJson(value), "utf8"), filename: null, mediaType: "application/json" };
    case "field":
      return {
        name,
        bytes: Buffer.from(scalarText(field.name, value as Scalar), "utf8"),
        filename: null,
        mediaType: null,
      };
  }
}

/** The members are typed by the definition; what git does not take is refused by the writer. */
function writePushBody(values: ReadonlyMap<string, BodyValue>): WrittenBody {
  const members = Object.fromEntries([...values].map(([name, { value }]) => [name, value]));
  const {
    shallow = [],
    updates = [],
    capabilities = [],
    push_options: options = [],
    packfile = "",
  } = members as unknown as PushInput;
  const pack = decodeFile("packfile", packfile);
  const bytes = writePush({ shallow, updates, capabilities, options, packfile: pack });
  const digested = canonicalJson({ ...members, packfile: byDigest(pack) });
  return { bytes, mediaType: PUSH_MEDIA_TYPE, digested };
}

interface PushInput {
  readonly shallow?: readonly string[];
  readonly updates?: readonly RefUpdate[];
  readonly capabilities?: readonly string[];
  readonly push_options?: readonly string[];
  readonly packfile?: string;
}

/** The body that the text stands for, where it is the one that came with it; an agent that writes such a text has none. */
function standsFor(text: string, spooled: SpooledBody | undefined): SpooledBody | null {
  return spooled !== undefined && text === standInFor(spooled) ? spooled : null;
}

function decodeFile(name: string, text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text)
    throw new Denied("value_not_allowed", `"${name}" is not base64 in its one spelling`);
  return bytes;
}
