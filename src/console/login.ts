import { createHash } from "node:crypto";
import { createAllowances } from "../conventions/budget/allowance.ts";
import { verifyAssertion } from "../conventions/passkey/assertion.ts";
import type { EnrolledPasskey } from "../conventions/passkey/passkey.ts";
import type { Clock, Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { readAssertion } from "./assertion.ts";
import { textOf } from "./http.ts";

export interface LoginPorts {
  readonly clock: Pick<Clock, "bootMs">;
  readonly random: Random;
  readonly origin: string;
  /** Those of the operator at this console that were enrolled at its own place. */
  passkeys(): Promise<readonly EnrolledPasskey[]>;
}

/** How a person enters a console that listens beyond this machine: with a passkey, and with nothing that could be typed. */
export interface Login {
  begin(network: string): JsonObject;
  /** Denied unless one of the operator's own passkeys answered for what was begun here. */
  finish(network: string, body: JsonObject): Promise<EnrolledPasskey>;
}

export function createLogin({ clock, random, origin, passkeys }: LoginPorts): Login {
  const begun = new Map<string, { readonly network: string; readonly untilMs: number }>();
  const counters = new Map<string, number>();
  const perNetwork = createAllowances({
    burst: defaults.consoleLoginsBurstPerAddress,
    perSecond: defaults.consoleLoginsPerSecondPerAddress,
    remembered: 1_000,
  });
  // Of those alone that failed: nobody uses up what the operator needs by beginning and leaving.
  const failures = createAllowances({
    burst: defaults.consoleLoginsBurst,
    perSecond: defaults.consoleLoginsPerSecond,
    remembered: 1,
  });

  function requireCalm(network: string): void {
    const nowMs = clock.bootMs();
    if (perNetwork.take(network, nowMs) && failures.left("", nowMs) >= 1) return;
    throw new Denied("console_login_busy", "Too many logins were tried. Wait a minute, then try again.", {
      retryAllowed: true,
    });
  }

  /** Each network makes room among its own. */
  function makeRoom(network: string): void {
    const nowMs = clock.bootMs();
    for (const [one, { untilMs }] of begun) if (untilMs <= nowMs) begun.delete(one);
    const own = [...begun].filter(([, one]) => one.network === network);
    if (own.length >= defaults.consoleLoginsOpenPerAddress) begun.delete(own[0]?.[0] ?? "");
    const [oldest] = begun.keys();
    if (begun.size >= defaults.consoleLoginsOpen && oldest !== undefined) begun.delete(oldest);
  }

  async function check(body: JsonObject): Promise<EnrolledPasskey> {
    const challenge = textOf(body, "challenge", 100);
    const untilMs = begun.get(challenge)?.untilMs ?? 0;
    begun.delete(challenge);
    if (untilMs <= clock.bootMs()) throw new Denied("console_draft_gone", "That took too long. Log in again.");
    const assertion = readAssertion(body["assertion"]);
    const passkey = (await passkeys()).find(({ credentialId }) => credentialId === assertion.credential_id);
    if (passkey === undefined) {
      throw new Denied(
        "passkey_refused",
        "This is no passkey of the operator who runs this console, enrolled at this place.",
      );
    }
    const before = counters.get(passkey.credentialId) ?? passkey.counter;
    counters.set(
      passkey.credentialId,
      verifyAssertion(assertion, passkey, Buffer.from(challenge, "base64url"), before),
    );
    return passkey;
  }

  return {
    begin(network) {
      requireCalm(network);
      makeRoom(network);
      const challenge = loginChallenge(random.bytes(32)).toString("base64url");
      begun.set(challenge, { network, untilMs: clock.bootMs() + defaults.consoleDraftMs });
      // Without the names of passkeys: a stranger learns nothing of whose they are.
      return { challenge, rp_id: new URL(origin).hostname, credentials: [] };
    },
    async finish(network, body) {
      requireCalm(network);
      try {
        return await check(body);
      } catch (error) {
        failures.charge("", clock.bootMs(), 1);
        throw error;
      }
    },
  };
}

/** Nothing that is decided has such a challenge: an answer to it says yes to nothing. */
function loginChallenge(random: Buffer): Buffer {
  return createHash("sha256").update("gw console login v1\0", "utf8").update(random).digest();
}
