import { createHmac } from "node:crypto";
import type { Pack } from "../../conventions/action/pack.ts";
import type { CallbackRule, ReceivedCallback } from "../../conventions/callback/callback.ts";
import { type CallbackNotice, readCallback } from "../../conventions/callback/read.ts";
import { verifyCallback } from "../../conventions/callback/verify.ts";
import type { Brand } from "../../kernel/brand.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HmacLoan } from "../../vault/lent.ts";
import { requireUnlocked } from "../core.ts";
import type { CallbackNeeds } from "./needs.ts";

/** Proof that a callback was signed with the secret of its pack. Only this file makes one. */
export type VerifiedCallback = Brand<{ readonly pack: Pack; readonly notice: CallbackNotice }, "VerifiedCallback">;

/** Throws Denied with the true reason, which is for the log and for nobody outside. */
export function verify(
  core: Pick<CallbackNeeds, "credentials" | "packs" | "ports">,
  name: string,
  received: ReceivedCallback,
): VerifiedCallback {
  const { pack, rule } = findRule(core, name, received);
  const loan = borrow(core, name, rule, received);
  try {
    const nowS = Math.floor(core.ports.clock.wallMs() / 1000);
    const mac = (content: Buffer): Buffer => loan.mac("sha256", content);
    switch (verifyCallback(rule.scheme, received, mac, nowS, defaults.webhookToleranceS)) {
      case "verified":
        return { pack, notice: readNotice(name, rule, received) } as unknown as VerifiedCallback;
      case "signature_invalid":
        throw new Denied("callback_signature_invalid", "The signature does not verify with the pack's secret.");
      case "too_old":
        throw new Denied("callback_too_old", "The signed time is too far from now.");
    }
  } finally {
    loan.release();
  }
}

function findRule(
  core: Pick<CallbackNeeds, "packs">,
  name: string,
  received: ReceivedCallback,
): { readonly pack: Pack; readonly rule: CallbackRule } {
  const pack = core
    .packs()
    .all()
    .find((one) => one.pack.name === name)?.pack;
  const rule = pack?.provider?.callbacks ?? null;
  if (pack !== undefined && rule !== null) return { pack, rule };
  pretend(received);
  throw new Denied("callback_pack_unknown", "No trusted pack of that name takes callbacks.");
}

function borrow(
  core: Pick<CallbackNeeds, "credentials">,
  name: string,
  { credential, scheme }: CallbackRule,
  received: ReceivedCallback,
): HmacLoan {
  try {
    const notation = scheme.kind === "standard_webhooks" ? "standard_webhooks" : "text";
    return requireUnlocked(core).lendHmac(credential, name, notation);
  } catch (error) {
    pretend(received);
    throw error;
  }
}

const DECOY_KEY = Buffer.alloc(32);

/** The work that a real check takes, so that its absence is not the first thing a stranger measures. */
function pretend({ body }: ReceivedCallback): void {
  createHmac("sha256", DECOY_KEY).update(body).digest();
}

/** Read only after it verified: nothing that a stranger wrote is parsed. */
function readNotice(name: string, rule: CallbackRule, received: ReceivedCallback): CallbackNotice {
  try {
    return readCallback(name, rule, received);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    throw new Denied("callback_unreadable", `The body is not strict JSON: ${error.code}.`);
  }
}
