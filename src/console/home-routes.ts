import type { JsonObject } from "../kernel/json.ts";
import type { Api } from "./api.ts";
import { textOf } from "./http.ts";

/** What the page asks about the signed home: packs, credentials, policy. Undefined where it is about something else. */
export function answerHome(
  { packs, credentials, policy }: Pick<Api, "packs" | "credentials" | "policy">,
  what: string,
  name: string,
  /** Whatever signs: with the person's own secret, where the mode asks for it. */
  meant: () => Promise<JsonObject>,
): Promise<unknown> | undefined {
  const labelled = async (work: (label: string, body: JsonObject) => Promise<JsonObject>): Promise<JsonObject> => {
    const body = await meant();
    return work(textOf(body, "label", 64), body);
  };
  switch (what === "POST credentials/*" || what === "POST policy/*" ? what.replace("*", name) : what) {
    case "GET packs":
      return Promise.resolve(packs.list());
    case "GET packs/*":
      return Promise.resolve(packs.show(name));
    case "GET packs/*/review":
      return packs.review(name);
    case "POST packs/*/trust":
      return meant().then((body) => packs.trust(name, body));
    case "POST packs/*/decide":
      return meant().then((body) => packs.decide(name, body));
    case "POST packs/*/remove":
      return meant().then(() => packs.remove(name));
    case "GET credentials":
      return credentials.list();
    case "POST credentials/add":
      return meant().then((body) => credentials.add(body));
    case "POST credentials/rotate":
      return labelled(credentials.rotate);
    case "POST credentials/change":
      return labelled(credentials.change);
    case "GET policy":
      return Promise.resolve(policy.show());
    case "GET grants":
      return Promise.resolve(policy.grantUses());
    case "POST grants/*/remove":
      return meant().then(() => policy.removeGrant(name));
    case "POST policy/caller":
      return meant().then((body) => policy.removeCaller(body));
    case "POST policy/set":
      return meant().then((body) => policy.set(body));
    case "POST policy/decide-with":
      return meant().then((body) => policy.decideWith(body));
    case "POST policy/approvers":
      return meant().then((body) => policy.approvers(body));
    default:
      return undefined;
  }
}
