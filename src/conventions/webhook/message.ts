import { showText } from "../../kernel/display.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Card } from "../approval/card.ts";
import type { Webhook } from "./webhook.ts";

export interface WebhookMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** That a card waits, as each receiver reads it. Nothing in it that an agent wrote, unless arguments are told. */
export function writeMessage(hook: Webhook, card: Card): WebhookMessage {
  const link = linkTo(hook, card);
  switch (hook.format) {
    case "standard":
      return json({ type: "approval.waiting", timestamp: card.created_at, data: { ...factsOf(hook, card), link } });
    case "slack":
      return json({ text: `${linesOf(hook, card).map(forSlack).join("\n")}\n<${link}|Open it in gw console>` });
    case "teams":
      return json(adaptiveCard(linesOf(hook, card), link));
    case "ntfy":
      return {
        headers: {
          "content-type": "text/plain; charset=utf-8",
          title: "gw: a card waits",
          click: link,
          priority: "high",
        },
        body: linesOf(hook, card).join("\n"),
      };
  }
}

function linkTo({ console }: Webhook, { approval_id }: Card): string {
  return `${console.replace(/\/$/, "")}/#/waiting/${approval_id}`;
}

function factsOf({ tellsArguments }: Webhook, card: Card): JsonObject {
  const { call, scope } = card;
  return {
    approval_id: card.approval_id,
    asks: card.asks,
    authority: card.authority,
    action: call?.action ?? null,
    effect: call?.effect ?? null,
    actions: scope?.actions ?? [],
    expires_at: card.expires_at,
    ...(tellsArguments && call !== null ? { arguments: call.arguments } : {}),
  };
}

function linesOf({ tellsArguments }: Webhook, { authority, asks, call, scope, expires_at }: Card): readonly string[] {
  const what = call === null ? (scope?.actions ?? []).join(", ") : `${call.action} (${call.effect})`;
  return [
    `gw: a card waits (${asks.replaceAll("_", " ")}): ${what}`,
    showText(authority),
    ...(tellsArguments && call !== null ? [showText(JSON.stringify(call.arguments))] : []),
    `Nobody's answer by ${expires_at} is a no.`,
  ];
}

/** The three characters that mean something to Slack. */
function forSlack(line: string): string {
  return line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function adaptiveCard(lines: readonly string[], link: string): JsonObject {
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    // A TextBlock would make links of what an agent wrote; a run of text is text.
    body: lines.map((text) => ({ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] })),
    actions: [{ type: "Action.OpenUrl", title: "Open it in gw console", url: link }],
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", content }],
  };
}

function json(value: JsonObject): WebhookMessage {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}
