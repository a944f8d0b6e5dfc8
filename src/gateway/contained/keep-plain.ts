import { isSpooled } from "../../conventions/action/spooled.ts";
import type { PlainRequest } from "../../conventions/reverse/plain.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import type { Code } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject } from "../../kernel/json.ts";

/**
 * What the log keeps of a request that no action says, so that a pack can be drafted from it: everything but the values of
 * header fields, of which two have no secrets. Of one that brought a foreign credential, only where it went.
 */
export function keepPlain({ origin, method, target, headers, body }: PlainRequest, code: Code): string {
  const names = [...new Set(headers.map(([name]) => name))];
  const field = (wanted: string): string | null => headers.find(([name]) => name === wanted)?.[1] ?? null;
  const bare: JsonObject = { method, origin, path: pathOf(target), header_names: names };
  if (code === "credential_foreign") return canonicalJson(bare);
  const held = body === null || isSpooled(body) ? null : body;
  const text = held?.toString("utf8") ?? null;
  const readable = text !== null && held !== null && Buffer.from(text, "utf8").equals(held);
  return canonicalJson({
    ...bare,
    target,
    accept: field("accept"),
    content_type: field("content-type"),
    body: readable && held.byteLength <= defaults.containedKeptBytes ? text : null,
    body_bytes: body?.byteLength ?? 0,
  });
}

/** What stands behind it may be a credential, behind a `#` too, where no request has anything. */
export function pathOf(target: string): string {
  return target.startsWith("/") ? target.slice(0, target.search(/[?#]|$/)) : "";
}
