import { type PackPlace, troubleWithPlace } from "../../conventions/action/place.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { lastTrusted } from "../../vault/policy/policy.ts";
import { answering } from "./answer.ts";
import type { CliIo, Exit } from "./io.ts";
import { say, type VaultCliPorts, type VaultOptions } from "./vault/session.ts";
import { type SignChange, signTried } from "./vault/sign-change.ts";

export interface PackPlaceOptions extends VaultOptions {
  readonly origin?: string;
  readonly basePath?: string;
  readonly network: "public" | "private";
}

/** `gw pack place NAME --origin URL`: an operator signs where this home reaches the provider; without it, where the pack says. */
export function runPackPlace(name: string, options: PackPlaceOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const { origin, basePath = "", network } = options;
    const place: PackPlace | null = origin === undefined ? null : { pack: name, origin, basePath, network };
    const trouble = place === null ? null : troubleWithPlace(place);
    if (trouble !== null) throw new Denied("pack_place_invalid", `The place was not signed: ${trouble}.`);
    const subject = origin === undefined ? name : `${name} ${origin}${basePath}`;
    const change = (sign: SignChange): Promise<void> =>
      sign({ what: "pack_placed", subject }, (policy) => {
        if (lastTrusted(policy, name) === null)
          throw new Denied(
            "not_found",
            `No pack ${showIdentifier(name)} is trusted. Trust it first: gw pack trust NAME`,
          );
        const others = policy.places.filter(({ pack }) => pack !== name);
        return { ...policy, places: place === null ? others : [...others, place] };
      });
    const where = place === null ? "where the pack says" : `at ${place.origin}${place.basePath}`;
    const words = `${name} is reached ${where} from now on. Its credential has to be bound to that origin.`;
    const record = { pack: name, origin: place?.origin ?? null, base_path: place?.basePath ?? null };
    return signTried(options, io, ports, change, () => say(io, options.json, record, words));
  });
}
