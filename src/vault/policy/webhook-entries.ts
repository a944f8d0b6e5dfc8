import { troubleWithWebhook, WEBHOOK_FORMATS, type Webhook } from "../../conventions/webhook/webhook.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { PACK, readLabel, shape } from "./entries.ts";

const ADDRESS = /^[!-~]{1,2000}$/;

export function webhookPage(hook: Webhook): JsonObject {
  return {
    name: hook.name,
    url: hook.url,
    format: hook.format,
    secret: hook.secret,
    tells_arguments: hook.tellsArguments,
    console: hook.console,
    network: hook.network,
  };
}

export function readWebhook(value: JsonValue, where: string): Webhook {
  const hook = shape.members(value, where, [
    "name",
    "url",
    "format",
    "secret",
    "tells_arguments",
    "console",
    "network",
  ]);
  const read: Webhook = {
    name: shape.text(hook.name, `${where}/name`, 64, PACK),
    url: shape.text(hook.url, `${where}/url`, 2_000, ADDRESS),
    format: shape.oneOf(hook.format, `${where}/format`, WEBHOOK_FORMATS),
    secret: hook.secret === null ? null : readLabel(hook.secret, `${where}/secret`),
    tellsArguments: shape.flag(hook.tells_arguments, `${where}/tells_arguments`),
    console: shape.text(hook.console, `${where}/console`, 500, ADDRESS),
    network: shape.oneOf(hook.network, `${where}/network`, ["public", "private"]),
  };
  const trouble = troubleWithWebhook(read);
  return trouble === null ? read : shape.refuse(where, trouble);
}
