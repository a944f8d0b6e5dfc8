import assert from "node:assert/strict";
import { test } from "node:test";
import type { Card } from "../approval/card.ts";
import { writeMessage } from "./message.ts";
import { troubleWithWebhook, type Webhook } from "./webhook.ts";

const hook: Webhook = {
  name: "oncall",
  url: "https://hooks.example.com/gw",
  format: "standard",
  secret: "oncall-key",
  tellsArguments: false,
  console: "http://gw.localhost:7717",
  network: "public",
};

const card = {
  approval_id: "apr_1",
  asks: "call",
  authority: "Nobody <vouches> & nobody signs",
  created_at: "2026-11-16T07:00:00.000Z",
  expires_at: "2026-11-16T07:10:00.000Z",
  run: { purpose_claimed: "tell everybody" },
  call: {
    action: "demo.thing.make",
    effect: "write",
    target: "https://api/v1/s3cret-name",
    arguments: { name: "s3cret-name" },
  },
  scope: null,
} as unknown as Card;

test("no format tells arguments, the target or the agent's words unless an operator signed for arguments, and all link to the card", () => {
  for (const format of ["standard", "slack", "ntfy", "teams"] as const) {
    const { headers, body } = writeMessage({ ...hook, format }, card);
    const whole = JSON.stringify(headers) + body;
    for (const hidden of ["s3cret-name", "tell everybody"]) assert.ok(!whole.includes(hidden), `${format}: ${hidden}`);
    assert.ok(whole.includes("http://gw.localhost:7717/#/waiting/apr_1"), format);
    assert.ok(whole.includes("demo.thing.make"), format);
    const more = writeMessage({ ...hook, format, tellsArguments: true }, card).body;
    assert.ok(more.includes("s3cret-name") && !more.includes("tell everybody"), format);
  }
});

test("what Slack would read as a link or a mention is text", () => {
  const { text } = JSON.parse(writeMessage({ ...hook, format: "slack" }, card).body) as { text: string };
  assert.match(text, /Nobody &lt;vouches&gt; &amp; nobody signs/);
});

test("an address is https, written plainly, and keeps its secret end in the vault", () => {
  assert.equal(troubleWithWebhook(hook), null);
  const slack = { ...hook, format: "slack", url: "https://hooks.slack.com/services/{secret}" } as const;
  assert.equal(troubleWithWebhook(slack), null);
  for (const bad of [
    { ...hook, url: "http://hooks.example.com/gw" },
    { ...hook, url: "https://user@hooks.example.com/gw" },
    { ...hook, url: "https://hooks.example.com/a/../gw" },
    { ...hook, url: "https://hooks.example.com/{secret}" },
    { ...hook, url: "ftp://hooks.example.com/gw", network: "private" as const },
    { ...hook, secret: null },
    { ...slack, url: "https://hooks.slack.com/services/T0/B0/XX" },
    { ...slack, url: "https://{secret}" },
    { ...hook, console: "nowhere" },
  ])
    assert.notEqual(troubleWithWebhook(bad), null, JSON.stringify(bad));
});
