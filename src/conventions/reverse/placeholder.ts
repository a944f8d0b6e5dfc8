import { createHash } from "node:crypto";

const PREFIX = "gw-placeholder-";

/**
 * What tools in a box are given where they insist on a token. It opens nothing: it only tells a request that uses what it
 * was given from one that brings a credential of its own. It follows from the run, so that nobody has to keep it.
 */
export function placeholderOf(runId: string): string {
  return PREFIX + createHash("sha256").update(`gw placeholder ${runId}`).digest("hex").slice(0, 32);
}

/** As it is, after any scheme of one word, or as name or password of Basic. */
export function isPlaceholder(value: string, placeholder: string): boolean {
  if (value === placeholder) return true;
  const [, scheme, rest] = /^([A-Za-z]{1,16}) +(\S+)$/.exec(value.trim()) ?? [];
  if (scheme === undefined || rest === undefined) return false;
  if (rest === placeholder) return true;
  if (scheme.toLowerCase() !== "basic") return false;
  const [name = "", ...password] = Buffer.from(rest, "base64").toString("utf8").split(":");
  return password.join(":") === placeholder ? isHarmless(name) : name === placeholder && isHarmless(password.join(":"));
}

/** What tools put beside a token: nothing, or a word that says that it is one. */
const BESIDE = /^(?:|x-access-token|oauth2|x-oauth-basic|git|token|_token|__token__|user|gw)$/;

function isHarmless(word: string): boolean {
  return BESIDE.test(word);
}
