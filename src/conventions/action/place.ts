import { Denied } from "../../kernel/failure.ts";
import { isPrivateHost, type Origin, troubleWithOrigin } from "../url/origin.ts";
import { parseTemplate } from "../url/template.ts";
import type { ActionDefinition, HttpAction, Pack } from "./pack.ts";

/** Where a home reaches the provider of a pack, in place of what the pack says: an installation of one's own. */
export interface PackPlace {
  readonly pack: string;
  readonly origin: string;
  /** Before every path of the pack; empty for none. */
  readonly basePath: string;
  readonly network: "public" | "private";
}

/** Why it cannot be; null where it can. */
export function troubleWithPlace({ origin, basePath, network }: PackPlace): string | null {
  const trouble = troubleWithOrigin(origin);
  if (trouble !== null) return trouble;
  if (isPrivateHost(new URL(origin).hostname) && network !== "private")
    return "the origin is a private or loopback address; say --network private";
  if (basePath === "") return null;
  if (!/^(\/[A-Za-z0-9._~-]{1,64}){1,8}$/.test(basePath) || /\/\.{1,2}(\/|$)/.test(basePath))
    return "a base path is like /api/v3, without a final slash";
  return null;
}

/** The same pack elsewhere. Its digest stays: who trusts it and who placed it are two signed decisions. */
export function placePack(pack: Pack, place: PackPlace | undefined): Pack {
  const { provider } = pack;
  if (place === undefined || provider === null) return pack;
  const trouble = troubleWithPlace(place);
  if (trouble !== null) throw new Denied("pack_place_invalid", trouble);
  const actions = new Map<string, ActionDefinition>();
  for (const [name, action] of pack.actions) {
    actions.set(name, action.kind === "http" ? moveAction(action, place.basePath) : action);
  }
  return { ...pack, provider: { ...provider, origin: place.origin as Origin, network: place.network }, actions };
}

function moveAction(action: HttpAction, basePath: string): HttpAction {
  const template = parseTemplate(basePath + action.template.text);
  const way = action.pages?.continuation;
  if (action.pages === null || way?.kind !== "link" || way.path === null) return { ...action, template };
  return { ...action, template, pages: { ...action.pages, continuation: { ...way, path: basePath + way.path } } };
}
