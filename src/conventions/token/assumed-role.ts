import { defaults } from "../../kernel/defaults.ts";
import type { Answered } from "../outcome/observation.ts";
import type { Asked, TokenAnswer } from "./result.ts";

/** AWS's own form (STS AssumeRole, version 2011-06-15): XML with a key, its secret, a session token and an end. */
export function readAssumedRole(answer: Answered, asked: Asked, roleArn: string): TokenAnswer {
  const { status, headers } = answer;
  const text = answer.body.toString("utf8");
  if (status !== 200) return refusal(status, memberOf(text, "Code"));
  const id = memberOf(text, "AccessKeyId") ?? "";
  const secret = memberOf(text, "SecretAccessKey") ?? "";
  const token = memberOf(text, "SessionToken") ?? "";
  if (!ID.test(id) || !SECRET.test(secret) || !SECRET.test(token) || token.length > defaults.accessTokenBytes)
    return { kind: "failed", why: "its answer has no key of a session that could be used" };
  if (!isOf(roleArn, memberOf(text, "Arn") ?? "")) return { kind: "failed", why: "its key is one of another role" };
  const lifeMs = Date.parse(memberOf(text, "Expiration") ?? "") - Date.parse(headers["date"] ?? "");
  if (!(lifeMs >= defaults.tokenLifeMinMs))
    return { kind: "failed", why: "its key has ended already, or nothing says when it does" };
  return {
    kind: "token",
    token: `${id}:${secret}:${token}`,
    refreshToken: null,
    lifeMs: Math.min(lifeMs, defaults.tokenLifeMaxMs),
    // The policy that went along is what it is good for: the answer does not repeat it.
    granted: { scopes: asked.scopes, missing: [], beyond: [] },
  };
}

const ID = /^[A-Z0-9]{16,128}$/;
const SECRET = /^[A-Za-z0-9+/=_-]{16,16384}$/;
const CODE = /^[A-Za-z0-9.]{1,64}$/;

function refusal(status: number, code: string | null): TokenAnswer {
  const word = code !== null && CODE.test(code) ? code : `status_${status}`;
  const passing = status >= 500 || status === 408 || status === 429 || word === "Throttling";
  return passing ? { kind: "failed", why: `it answered ${status} (${word})` } : { kind: "refused", error: word };
}

/** The text between the only two tags of that name; null where there is none, or more than one. */
function memberOf(text: string, name: string): string | null {
  const [open, close] = [`<${name}>`, `</${name}>`];
  const start = text.indexOf(open);
  const end = text.indexOf(close);
  const once = start !== -1 && end > start && text.lastIndexOf(open) === start && text.lastIndexOf(close) === end;
  return once ? text.slice(start + open.length, end).trim() : null;
}

/** arn:aws:iam::ACCOUNT:role/PATH/NAME and arn:aws:sts::ACCOUNT:assumed-role/NAME/SESSION */
function isOf(roleArn: string, assumedArn: string): boolean {
  const [, partition, , , account, role = ""] = roleArn.split(":");
  const [, otherPartition, service, , otherAccount, assumed = ""] = assumedArn.split(":");
  const name = role.split("/").at(-1) ?? "";
  return (
    service === "sts" &&
    partition === otherPartition &&
    account === otherAccount &&
    assumed.startsWith(`assumed-role/${name}/`)
  );
}
