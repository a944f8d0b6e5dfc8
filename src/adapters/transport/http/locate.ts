import type { HttpSend } from "../../../gateway/ports.ts";
import { addressAllowed, classifyAddress } from "./address.ts";
import type { ResolveName } from "./resolve.ts";
import type { Stop, StopCause } from "./stop.ts";
import type { Target } from "./target.ts";

/** The addresses one call may connect to. They are resolved once, judged once, and nothing is looked up after this. */
export type Located =
  | { readonly kind: "located"; readonly addresses: readonly string[] }
  | {
      readonly kind: "failed";
      readonly reason: "name_not_resolved" | "address_refused" | StopCause;
      readonly detail: string;
    };

export function locate(
  target: Target,
  network: HttpSend["network"],
  resolve: ResolveName,
  stop: Stop,
): Located | Promise<Located> {
  if (target.literal) return judge(target, network, [target.hostname]);
  return lookUp(target.hostname, resolve, stop).then((answers) =>
    answers === null
      ? failed(stop.cause ?? "deadline", "while the name was resolved")
      : judge(target, network, answers),
  );
}

function judge(target: Target, network: HttpSend["network"], answers: readonly string[]): Located {
  if (answers.length === 0) return failed("name_not_resolved", `no address for ${target.hostname}`);
  const addresses = answers
    .filter((address) => {
      const kind = classifyAddress(address);
      // Without TLS nothing proves who answers, so plain HTTP stays on this machine.
      return addressAllowed(kind, network, target.literal) && (target.secure || kind === "loopback");
    })
    .slice(0, ADDRESSES_TRIED);
  if (addresses.length > 0) return { kind: "located", addresses };
  const scheme = target.secure ? "https" : "http";
  return failed("address_refused", `${target.hostname} has no address that a ${network} ${scheme} origin may have`);
}

/** A name with more addresses than this is tried at the first few. */
const ADDRESSES_TRIED = 4;

async function lookUp(hostname: string, resolve: ResolveName, stop: Stop): Promise<readonly string[] | null> {
  try {
    return await stop.race(resolve(hostname));
  } catch {
    return [];
  }
}

function failed(reason: Extract<Located, { kind: "failed" }>["reason"], detail: string): Located {
  return { kind: "failed", reason, detail };
}
