import { appendPointer } from "../../../packages/request/src/pointer.ts";
import { compileSchema, type JsonSchema } from "../../../packages/request/src/schema.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { RetryClass } from "../outcome/retry.ts";
import { namesIn } from "../token/resource.ts";
import type { PathTemplate } from "../url/template.ts";
import { type ActionDefinition, fieldsOf, hasSideEffect, type InputField, type Slot, type TokenNeed } from "./pack.ts";
import { type ActionContext, type ChannelParts, readChannel } from "./read-channel.ts";
import { isPlain, lintReceiverNames, readInputs } from "./read-inputs.ts";
import { readJob, readPages, readPointer } from "./read-job.ts";
import { readActualCost } from "./read-price.ts";
import { readLimits } from "./read-provider.ts";
import { ROLLBACK_INPUTS } from "./rollback.ts";
import type { ActionWire } from "./schema/pack.ts";

/** One action from its wire form. Null when what it sends, or where, cannot be said. */
export function readAction(wire: ActionWire, context: ActionContext): ActionDefinition | null {
  const { findings, path, name, pack } = context;
  const channel = readChannel(wire, context);
  if (channel === null) return null;
  const inputs = readActionInputs(wire, channel, context);
  const schema = argumentsSchema(inputs);
  const retry = wire.retry ?? (hasSideEffect(wire.effect) ? "non_idempotent_write" : "read");
  const inherited = context.provider?.limits ?? { timeoutMs: null, responseBytes: defaults.responseBytes };
  const base = {
    name,
    qualifiedName: `${pack}.${name}`,
    description: wire.description ?? null,
    effect: wire.effect,
    retry,
    needs: {
      plan: wire.needs?.plan ?? null,
      approval: wire.needs?.approval ?? "session",
      ticket: wire.needs?.ticket ?? false,
    },
    previewless: wire.preview === "none",
    inputs,
    schema,
    checkArguments: compileSchema(schema),
    plan:
      wire.plan === undefined
        ? null
        : { id: slotOf(wire.plan.id), revision: wire.plan.revision === undefined ? null : slotOf(wire.plan.revision) },
    confirm: wire.confirm ?? null,
    maxCostCents: wire.max_cost_cents ?? null,
    actualCost: wire.actual_cost === undefined ? null : readActualCost(wire, `${path}/actual_cost`, findings),
    asksEachCall: canCost(wire.effect) && wire.max_cost_cents === undefined,
    job: wire.job === undefined ? null : readJob(wire.job, `${path}/job`, findings),
    unknown: {
      retryAllowed: wire.unknown?.retry_allowed ?? retry !== "non_idempotent_write",
      reconcile: wire.unknown?.reconcile === TOKEN_RETRY ? null : (wire.unknown?.reconcile ?? null),
      tokenRetry: wire.unknown?.reconcile === TOKEN_RETRY,
    },
    rollback: wire.rollback === undefined ? null : { of: wire.rollback.of },
    pages: wire.pages === undefined ? null : readPages(wire.pages, `${path}/pages`, findings),
    echo: wire.echo ?? "withhold",
    mints: (wire.mints ?? []).map((text, index) => readPointer(text, `${path}/mints/${index}`, findings)),
    token: wire.token === undefined ? null : readToken(wire.token, inputs, context),
    limits: readLimits(wire.limits, inherited),
  } as const;
  lintRetry(wire, retry, channel.kind, context);
  return { ...base, ...channel };
}

function readToken(
  { scopes, repository, resources = [] }: NonNullable<ActionWire["token"]>,
  inputs: readonly InputField[],
  { findings, path }: ActionContext,
): TokenNeed {
  const lint = (name: string, at: string): void => {
    const input = inputs.find((one) => one.name === name);
    const refuse = (why: string) => findings.error("pack_input_unfit", `${path}/token/${at}`, `${name} is ${why}`);
    if (input === undefined || input.optional) refuse("no input that every call has");
    else if (!isPlain(input)) refuse("sensitive, opaque or no single value: what a token is for stands in the log");
  };
  if (repository !== undefined) lint(repository, "repository");
  for (const [index, text] of resources.entries()) for (const name of namesIn(text)) lint(name, `resources/${index}`);
  return { scopes: scopes ?? null, repository: repository ?? null, resources };
}

function readActionInputs(wire: ActionWire, channel: ChannelParts, context: ActionContext): readonly InputField[] {
  const { findings, path, provider } = context;
  const inputPath = `${path}/input`;
  const taken = [
    ...fieldsOf(provider?.auth ?? null),
    provider?.version?.header,
    provider?.idempotency?.header,
    provider?.correlationHeader,
  ];
  const frame = {
    kind: channel.kind,
    path: inputPath,
    body: channel.kind === "ssh" ? null : channel.body,
    takenHeaders: new Set(
      taken.flatMap((header) => (header === null || header === undefined ? [] : [header.toLowerCase()])),
    ),
  };
  const declared = readInputs((wire.input ?? {}) as JsonObject, frame, findings);
  if (wire.rollback !== undefined) {
    if (declared.length > 0)
      findings.error(
        "pack_input_unfit",
        inputPath,
        "a rollback is built from the stored record; it declares no inputs",
      );
    return ROLLBACK_INPUTS;
  }
  if (channel.kind === "ssh") lintReceiverNames(declared, inputPath, findings);
  if (channel.kind === "url") {
    if (declared.some(({ name }) => name === "url"))
      findings.error("pack_input_unfit", `${inputPath}/url`, "url is the agent's URL and is always there");
    return [urlInput, ...declared];
  }
  if (channel.kind === "http") lintPath(channel.template, declared, wire, context);
  return declared;
}

/** Every parameter of the path has its input or slot, and every path input its parameter. */
function lintPath(
  template: PathTemplate,
  fields: readonly InputField[],
  wire: ActionWire,
  { findings, path }: ActionContext,
): void {
  const slots = [wire.plan?.id, wire.plan?.revision].flatMap((slot) => (slot?.in === "path" ? [slot.as] : []));
  const filled = new Set([...fields.filter(({ place }) => place === "path").map(({ name }) => name), ...slots]);
  for (const name of template.parameters) {
    if (!filled.has(name))
      findings.error("pack_input_unfit", `${path}/request/path`, `{${name}} has no input with in: path`);
  }
  for (const { name, place } of fields) {
    if (place === "path" && !template.parameters.includes(name)) {
      findings.error("pack_input_unfit", appendPointer(`${path}/input`, name), `the path has no {${name}}`);
    }
  }
}

function lintRetry(
  wire: ActionWire,
  retry: RetryClass,
  kind: ActionDefinition["kind"],
  { findings, path, provider }: ActionContext,
): void {
  const side = hasSideEffect(wire.effect);
  if (side && retry === "read")
    findings.error("pack_retry_unfit", `${path}/retry`, `effect: ${wire.effect} is never retried like a read`);
  if (!side && retry !== "read")
    findings.error("pack_retry_unfit", `${path}/retry`, `effect: ${wire.effect} is retried as a read`);
  if (retry === "idempotent_write" && kind !== "ssh" && provider !== null && provider.idempotency === null) {
    findings.error(
      "pack_retry_unfit",
      `${path}/retry`,
      "idempotent_write needs the provider's idempotency header, which carries the token",
    );
  }
  if (wire.unknown?.retry_allowed === true && retry === "non_idempotent_write") {
    findings.error(
      "pack_retry_unfit",
      `${path}/unknown/retry_allowed`,
      "a write without a token may not be repeated after an unknown outcome",
    );
  }
  if (wire.unknown?.reconcile === TOKEN_RETRY) lintTokenRetry(wire, retry, kind, { findings, path });
}

/** Stands where a read's name would: the very request again, under its own token. */
const TOKEN_RETRY = "token_retry";

/** Only what can be built again from the stored arguments alone, and is known to the provider by its token. */
function lintTokenRetry(
  wire: ActionWire,
  retry: RetryClass,
  kind: ActionDefinition["kind"],
  { findings, path }: Pick<ActionContext, "findings" | "path">,
): void {
  const refuse = (why: string) => findings.error("pack_retry_unfit", `${path}/unknown/reconcile`, why);
  if (retry !== "idempotent_write" || kind !== "http") {
    refuse("token_retry is for an idempotent_write of an HTTP provider: only its token makes a repeat safe");
  }
  if (wire.unknown?.retry_allowed === false) refuse("token_retry repeats what retry_allowed: false forbids");
  if (wire.rollback !== undefined) refuse("a rollback is sent once; name the read that shows its effect");
}

function argumentsSchema(inputs: readonly InputField[]): JsonSchema {
  return {
    type: "object",
    properties: Object.fromEntries(inputs.map(({ name, schema }) => [name, schema])),
    required: inputs.filter(({ optional, constant }) => !optional && constant === undefined).map(({ name }) => name),
    additionalProperties: false,
  };
}

const urlInput: InputField = {
  name: "url",
  place: null,
  wireName: "url",
  optional: false,
  constant: undefined,
  percent: "literal",
  list: null,
  opaque: false,
  sensitive: false,
  part: "field",
  filename: "url",
  mediaType: "text/plain",
  schema: {
    type: "string",
    minLength: 1,
    maxLength: defaults.urlCharacters,
    description: "An absolute URL under the action's allow-list.",
  },
};

function slotOf(wire: { readonly in: Slot["place"]; readonly as: string }): Slot {
  return { place: wire.in, wireName: wire.as };
}

function canCost(effect: ActionWire["effect"]): boolean {
  return effect === "purchase" || effect === "send" || effect === "create";
}
