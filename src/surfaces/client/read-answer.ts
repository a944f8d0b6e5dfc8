import { parseJson } from "../../../packages/request/src/json/parse.ts";
import { compileSchema, type JsonSchema, type SchemaCheck } from "../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { list, object, text } from "../../../packages/request/src/shape.ts";
import { NOTHING_AT_PATH } from "../../../packages/request/src/target.ts";
import { type Code, codes } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, type Finding } from "../../kernel/failure.ts";

const checks = new WeakMap<JsonSchema, SchemaCheck>();

/** One answer, read as strictly as the planes read requests, and typed by what the route declares of it. */
export function readAnswer<const Schema extends JsonSchema>(
  bytes: Uint8Array,
  answer: Schema,
  asked: string,
): FromSchema<Schema> {
  const check = checks.get(answer) ?? compileSchema(answer);
  checks.set(answer, check);
  let first: Finding | undefined;
  try {
    const { value, spelling } = parseJson(bytes, limits);
    first = check(value, spelling)[0];
    if (first === undefined) return value as FromSchema<Schema>;
  } catch (error) {
    throw error instanceof Denied ? unfit(asked, error.message) : error;
  }
  throw unfit(asked, `${first.path || "it"}: ${first.message}`);
}

/**
 * What a provider wrote was let in at the depth of a request, and stands a few members down here; its integers may be more than a
 * double holds, and its texts half a character. Nothing else is read less strictly for it.
 */
const limits = { depth: defaults.jsonDepth * 2, foreign: true };

export function unfit(asked: string, why: string): Denied {
  const done = asked.startsWith("POST") ? " Whether it was carried out is not known: look before you ask again." : "";
  return new Denied(
    "answer_not_declared",
    `What the gateway answered to ${asked} is not what it declares (${why}). Nothing of it was used.${done} gw version tells whether the gateway that runs is of another version than this gw.`,
  );
}

/** Every refusal has these; what stands beside the envelope belongs to this one, such as what made a plan stale. */
const problem = {
  ...object(
    { code: text, message: text },
    { errors: list(object({ code: text, path: text, message: text })), retry_allowed: { type: "boolean" } },
  ),
  additionalProperties: true,
} as const;

const ENVELOPE = new Set(["type", "title", "status", "detail", "code", "message", "errors", "retry_allowed"]);

/** A problem document becomes the refusal that it stands for; a code that this client does not know is one of ours gone wrong. */
export function readProblem(bytes: Uint8Array, asked: string): Denied {
  const told = readAnswer(bytes, problem, asked);
  const known = (code: string): Code => (Object.hasOwn(codes, code) ? (code as Code) : "internal_fault");
  const code = known(told.code);
  if (code === "not_found" && told.message === NOTHING_AT_PATH)
    return new Denied(
      "answer_not_declared",
      `The gateway that runs has no ${asked}: it is of another version than this gw (gw version), and nothing was carried out. Start it again, so that both are one version.`,
    );
  return new Denied(code, told.message, {
    next: codes[code].mend,
    retryAllowed: told.retry_allowed === true,
    errors: (told.errors ?? []).map((one) => ({ ...one, code: known(one.code) })),
    extra: Object.fromEntries(Object.entries(told).filter(([name]) => !ENVELOPE.has(name))),
  });
}
