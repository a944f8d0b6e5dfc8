import type { JsonObject } from "../kernel/json.ts";
import type { HomeRooms } from "./api.ts";
import { textOf } from "./http.ts";
import type { Turn } from "./turn.ts";

/** What the page asks about the signed home: packs, credentials, policy. Undefined where it is about something else. */
export function answerHome(
  { packs, credentials, policy }: HomeRooms,
  { seen, changed }: Turn,
  what: string,
  name: string,
  /** Whatever signs: with the person's own secret, where the mode asks for it. */
  meant: () => Promise<JsonObject>,
): Promise<unknown> | undefined {
  const signed = async (work: (body: JsonObject) => Promise<unknown>): Promise<unknown> => {
    const body = await meant();
    return changed(() => work(body));
  };
  switch (what === "POST credentials/*" || what === "POST policy/*" ? what.replace("*", name) : what) {
    case "GET packs":
      return seen(() => packs.list());
    case "GET packs/*":
      return seen(() => packs.show(name));
    case "GET packs/*/review":
      return seen(() => packs.review(name));
    case "POST packs/*/trust":
      return signed((body) => packs.trust(name, body));
    case "POST packs/*/decide":
      return signed((body) => packs.decide(name, body));
    case "POST packs/*/remove":
      return signed(() => packs.remove(name));
    case "GET credentials":
      return seen(() => credentials.list());
    case "POST credentials/add":
      return signed((body) => credentials.add(body));
    case "POST credentials/rotate":
      return signed((body) => credentials.rotate(textOf(body, "label", 64), body));
    case "POST credentials/bind":
      return signed((body) => credentials.bind(textOf(body, "label", 64), body));
    case "POST credentials/change":
      return signed((body) => credentials.change(textOf(body, "label", 64), body));
    case "GET policy":
      return seen(() => policy.show());
    case "GET grants":
      return seen(() => policy.grantUses());
    case "POST grants/*/remove":
      return signed(() => policy.removeGrant(name));
    case "POST policy/caller":
      return signed((body) => policy.removeCaller(body));
    case "POST policy/set":
      return signed((body) => policy.set(body));
    case "POST policy/decide-with":
      return signed((body) => policy.decideWith(body));
    case "POST policy/approvers":
      return signed((body) => policy.approvers(body));
    default:
      return undefined;
  }
}
