import type { InputField, Pack, SshAction } from "../../conventions/action/pack.ts";
import { STATUS_ACTION } from "../../conventions/ssh/manifest.ts";
import type { Definition } from "../outbound/outbound.ts";

/** The one input of the receiver's own read. The gateway fills it in; no agent does. */
const OF: InputField = {
  name: "of",
  place: null,
  wireName: "of",
  optional: false,
  constant: undefined,
  percent: "literal",
  list: null,
  opaque: false,
  sensitive: false,
  part: "field",
  filename: "",
  mediaType: "",
  schema: { type: "string" },
};

/**
 * Every receiver answers one read about a request of its own host. It goes to where the request went, with the same key,
 * user and pinned host key, so that no pack has to define it and nothing new is reached.
 */
export function statusReaderOf(pack: Pack, action: SshAction): Definition {
  const reader: SshAction = {
    ...action,
    qualifiedName: `${pack.name}.${STATUS_ACTION}`,
    action: STATUS_ACTION,
    effect: "read",
    retry: "read",
    needs: { plan: null, approval: "session", ticket: false },
    inputs: [OF],
    checkArguments: () => [],
    plan: null,
    confirm: null,
    maxCostCents: 0,
    asksEachCall: false,
    job: null,
    pages: null,
    recording: false,
  };
  return { pack: { ...pack, actions: new Map([[action.name, reader]]) }, action: reader };
}

export function isStatusReader({ action }: Definition): boolean {
  return action.kind === "ssh" && action.action === STATUS_ACTION;
}
