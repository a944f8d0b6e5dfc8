import type { Card } from "../../conventions/approval/card.ts";
import { webhookHead } from "../../conventions/callback/standard-webhooks.ts";
import { writeMessage } from "../../conventions/webhook/message.ts";
import { placeOfWebhook, SECRET_PLACE, type Webhook } from "../../conventions/webhook/webhook.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Desk } from "../approval/desk.ts";
import type { Approval } from "../approval/question.ts";
import type { Credentials, HttpSend, LentCredential, Ports } from "../ports.ts";
import type { Ledger } from "../record/ledger.ts";
import type { Envelope } from "../record/record.ts";
import { isFull } from "../record/room-line.ts";

/**
 * Rings where signed policy says that a card waits. It stands beside the way of a call and is never waited for: what
 * cannot be told is told again under the same id while the card waits, then given up, and the log says so. While the log
 * is full nothing is sent, and that is no try.
 */
export interface Bell {
  /** How the newest try of each webhook of policy ended; null for one that nothing was sent to yet. */
  status(): readonly RingStatus[];
  close(): void;
}

export interface BellPorts extends Pick<Ports, "http" | "clock" | "sleep"> {
  readonly ledger: Pick<Ledger, "note" | "noteHappened">;
  readonly desk: Pick<Desk, "watch" | "find">;
  readonly envelope: Envelope;
  webhooks(): readonly Webhook[];
  /** Somebody who should have heard of a card did not, and will not be told again. */
  onGivenUp(name: string, approvalId: string): void;
  /** Null while the gateway is locked. */
  credentials(): Pick<Credentials, "lendHmac" | "lendHttp"> | null;
}

export interface RingStatus {
  readonly name: string;
  readonly last: { readonly at: string; readonly result: Result; readonly detail: string | null } | null;
}

type Result = "delivered" | "refused" | "unreachable";

export function createBell(ports: BellPorts): Bell {
  const over = new AbortController();
  const told = new Set<string>();
  const last = new Map<string, RingStatus["last"]>();
  let ringing = 0;

  const unwatch = ports.desk.watch((approval) => {
    const { approvalId, card, state } = approval;
    if (state !== "pending" || card === null || told.has(approvalId)) return;
    told.add(approvalId);
    for (const oldest of told) {
      if (told.size <= defaults.webhookCardsRemembered) break;
      told.delete(oldest);
    }
    for (const hook of ports.webhooks()) {
      // A flood of cards is not a flood of messages: whoever heard the first ones comes and sees the rest.
      if (ringing >= defaults.webhooksAtOnce) return;
      ringing++;
      void ring(hook, approval, card)
        .catch(() => undefined)
        .finally(() => {
          ringing--;
        });
    }
  });

  async function ring(hook: Webhook, { approvalId }: Approval, card: Card): Promise<void> {
    const id = `${approvalId}.${hook.name}`;
    for (let attempt = 1; attempt <= defaults.webhookTries; attempt++) {
      if (attempt > 1) await ports.sleep.sleep(delayMs(attempt), over.signal);
      const result = await deliverOnceRoom(hook.name, card, id, attempt);
      if (result === null || result === "delivered") return;
    }
    ports.onGivenUp(hook.name, approvalId);
  }

  /** Null where nobody has to be told any more. */
  async function deliverOnceRoom(name: string, card: Card, id: string, attempt: number): Promise<Result | null> {
    for (;;) {
      if (over.signal.aborted || ports.desk.find(card.approval_id)?.state !== "pending") return null;
      // Policy may have taken it away meanwhile, or signed another address for it.
      const hook = ports.webhooks().find((one) => one.name === name);
      if (hook === undefined) return null;
      try {
        return await deliver(hook, card, id, attempt);
      } catch (error) {
        if (!isFull(error)) throw error;
      }
      await ports.sleep.sleep(defaults.logRoomLookMs, over.signal);
    }
  }

  async function deliver(hook: Webhook, card: Card, id: string, attempt: number): Promise<Result> {
    const { headers, body } = writeMessage(hook, card);
    const about = { webhook: hook.name, message_id: id, approval_id: card.approval_id, attempt };
    const receipt = await ports.ledger.note([
      { ...ports.envelope("webhook_sending"), ...about, body_digest: digestText(body) },
    ]);
    let result: Result = "unreachable";
    let detail: string | null = null;
    try {
      const { request, credential, release } = address(hook, headers, body, id);
      try {
        const limits = { timeoutMs: defaults.webhookTimeoutMs, responseBytes: 65_536, signal: over.signal };
        const seen = await ports.http.send(receipt, request, credential, limits);
        if (seen.kind === "answered") {
          result = seen.status >= 200 && seen.status < 300 ? "delivered" : "refused";
          detail = String(seen.status);
        } else detail = seen.kind === "never_sent" ? seen.reason : "no_answer";
      } finally {
        release();
      }
    } catch (error) {
      detail = error instanceof Denied ? error.code : "internal_fault";
    }
    const ended = { ...ports.envelope("webhook_ended"), ...about, result, detail };
    last.set(hook.name, { at: ended.occurred_at, result, detail });
    await ports.ledger.noteHappened([ended]);
    return result;
  }

  /** The request as the receiver takes it, with its secret where that belongs. */
  function address(
    hook: Webhook,
    headers: Readonly<Record<string, string>>,
    body: string,
    id: string,
  ): { readonly request: HttpSend; readonly credential: LentCredential | null; release(): void } {
    const credentials = ports.credentials();
    if (credentials === null) throw new Denied("gateway_locked", "The gateway is locked.");
    const base = {
      kind: "http",
      method: "POST",
      body: Buffer.from(body),
      network: hook.network,
      ca: null,
      echo: "withhold",
    } as const;
    const done = (): void => undefined;
    const origin = new URL(hook.url.replace(SECRET_PLACE, "")).origin;
    if (hook.format === "standard" && hook.secret !== null) {
      const loan = credentials.lendHmac(hook.secret, placeOfWebhook(hook.name), "standard_webhooks");
      const mac = (content: Buffer): Buffer => loan.mac("sha256", content);
      const head = webhookHead(mac, id, Math.floor(ports.clock.wallMs() / 1000), Buffer.from(body));
      loan.release();
      const signed = {
        "webhook-id": head.id,
        "webhook-timestamp": head.timestamp,
        "webhook-signature": head.signature,
      };
      return {
        request: { ...base, url: hook.url, headers: { ...headers, ...signed } },
        credential: null,
        release: done,
      };
    }
    if (hook.secret === null) return { request: { ...base, url: hook.url, headers }, credential: null, release: done };
    const loan = credentials.lendHttp(hook.secret, origin, null);
    const release = (): void => loan.release();
    if (hook.format === "ntfy") return { request: { ...base, url: hook.url, headers }, credential: loan, release };
    const end = loan.secrets[0]?.use((bytes) => bytes.toString("latin1")) ?? "";
    const url = new URL(hook.url.replace(SECRET_PLACE, () => end));
    if (url.origin !== origin) {
      release();
      throw new Denied("credential_invalid", "The secret end of the address leads to another origin.");
    }
    return { request: { ...base, url: url.href, headers }, credential: null, release };
  }

  return {
    status: () => ports.webhooks().map(({ name }) => ({ name, last: last.get(name) ?? null })),
    close() {
      unwatch();
      over.abort();
    },
  };
}

function delayMs(attempt: number): number {
  return Math.min(defaults.webhookDelayMsMax, defaults.webhookFirstDelayMs * 6 ** (attempt - 2));
}
