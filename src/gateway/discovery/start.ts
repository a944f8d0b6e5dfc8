import type { ValueSpelling } from "../../../packages/request/src/schema.ts";
import type { Pages } from "../../conventions/action/pack.ts";
import { digestJson } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { bindDefinition } from "../outbound/admit.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import type { LiveCaller } from "../ports.ts";
import type { Run } from "../run/run.ts";
import type { Continuation } from "./handles.ts";
import type { DiscoveryNeeds } from "./needs.ts";

export interface ListAsk {
  readonly continue?: string;
  readonly page_size?: number;
  readonly max_pages?: number;
  readonly max_records?: number;
}

/** What a walk begins with: the definition's ceilings or less, and where an earlier one stopped. */
export interface ListStart {
  readonly pages: Pages;
  readonly from: Continuation | null;
}

interface ListCall {
  readonly input: JsonObject;
  readonly list?: ListAsk | undefined;
  readonly spelling?: ValueSpelling | undefined;
}

/** Binds the first page. A handle counts for the very call that got it: run, caller, action, input and pack. */
export function prepareList(
  core: Pick<DiscoveryNeeds, "handles" | "ports">,
  caller: LiveCaller,
  run: Run,
  definition: Definition,
  { input, list = {}, spelling }: ListCall,
): { readonly outbound: Outbound; readonly list: ListStart } {
  const { pages } = definition.action;
  if (pages === null)
    throw new Denied("schema_violation", "list is for an action that reads a list, and this is none.");
  const asked = { ...handleFor(definition, input), runId: run.id, callerKey: caller.key };
  const from =
    list.continue === undefined
      ? null
      : (core.handles.find(list.continue, asked, core.ports.clock.bootMs()) ?? refuseHandle());
  const narrowed: Pages = {
    ...pages,
    // A page that was cut is read again as it was.
    pageSize:
      from !== null && from.skip > 0 ? from.pageSize : Math.min(pages.pageSize, list.page_size ?? pages.pageSize),
    maxPages: Math.min(pages.maxPages, list.max_pages ?? pages.maxPages),
    maxRecords: Math.min(pages.maxRecords, list.max_records ?? pages.maxRecords),
  };
  const cursor = from?.cursor ?? null;
  const fill = { pageSize: narrowed.pageSize, ...(cursor === null ? {} : { cursor }) };
  return { outbound: bindDefinition(definition, input, fill, spelling), list: { pages: narrowed, from } };
}

export function handleFor({ action, pack }: Definition, input: JsonObject) {
  return { action: action.qualifiedName, inputDigest: digestJson(input), packDigest: pack.digest };
}

function refuseHandle(): never {
  throw new Denied("list_handle_unknown", "This handle continues no list of this run, caller, action and input.");
}
