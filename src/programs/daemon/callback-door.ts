import type { JsonObject } from "../../kernel/json.ts";
import type { PolicySettings } from "../../vault/policy/policy.ts";
import { type CallbackAddress, isLoopbackAddress, showAddress } from "./callback-address.ts";
import { type CallbackListener, type CallbackListenerOptions, listenForCallbacks } from "./callback-listener.ts";

/** The third listener as configuration and signed policy together want it: the one says where, the other whether. */
export interface CallbackDoor {
  /** Opens or closes it. Trouble is kept for `gw status`; it never keeps the gateway from its other work. */
  adjust(allowed: PolicySettings["callbacks"]): Promise<void>;
  status(): JsonObject;
  close(): void;
}

export function createCallbackDoor(
  address: CallbackAddress | null,
  options: Omit<CallbackListenerOptions, "address">,
): CallbackDoor {
  let listener: CallbackListener | null = null;
  let why: string | null = null;
  let turn = Promise.resolve();

  async function change(allowed: PolicySettings["callbacks"]): Promise<void> {
    why = reasonAgainst(address, allowed);
    if (why !== null || address === null) {
      listener?.close();
      listener = null;
      return;
    }
    if (listener !== null) return;
    try {
      listener = await listenForCallbacks({ ...options, address });
    } catch (error) {
      const cause = error instanceof Error && "code" in error ? String(error.code) : "unforeseen";
      const taken = cause === "EADDRINUSE" ? "something else listens on" : "this gateway may not listen on";
      why = `${taken} ${showAddress(address)} (${cause}): name another port in config.yaml and start again`;
    }
  }

  return {
    adjust(allowed) {
      turn = turn.then(() => change(allowed));
      return turn;
    },
    status: () => ({
      listening: listener === null ? null : showAddress(listener.address),
      configured: address === null ? null : showAddress(address),
      why,
    }),
    close() {
      listener?.close();
      listener = null;
    },
  };
}

function reasonAgainst(address: CallbackAddress | null, allowed: PolicySettings["callbacks"]): string | null {
  if (address === null) return "config.yaml names no address (callbacks: { listen: 127.0.0.1:PORT })";
  if (allowed === "off") return "signed policy has it off (gw policy set callbacks loopback)";
  if (allowed === "loopback" && !isLoopbackAddress(address)) {
    return "signed policy allows a loopback address alone (gw policy set callbacks network)";
  }
  return null;
}
