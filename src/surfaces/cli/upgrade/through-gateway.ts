import type { Corpus } from "../../../conventions/upgrade/probe/corpus-schema.ts";
import { expandCorpus, type ProbeCase } from "../../../conventions/upgrade/probe/expand.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { CliIo, Exit } from "../io.ts";
import { type GatewaySession, withGateway } from "../operator/session.ts";
import type { OperatorOptions } from "../options.ts";
import { type DecideOptions, runUpgradeDecide } from "./decide.ts";
import { type ProbeOptions, type ProbePorts, runUpgradeProbe } from "./probe.ts";

/** `gw upgrade decide`: listing needs nobody; a decision is signed by the operator who unlocks. */
export function decideThroughGateway(options: OperatorOptions & DecideOptions, deps: CliDeps): Promise<Exit> {
  const { io, clock } = deps;
  const operatorKeys = () => deps.operatorKeys(options.home);
  const nobody = () => Promise.reject(new Denied("operator_not_logged_in", "A decision needs an operator."));
  if (options.ids.length === 0)
    return runUpgradeDecide(options, io, { clock, operatorKeys, reviewer: nobody, record: nobody });
  return withGateway(options, deps, ({ operator, client }) =>
    runUpgradeDecide(options, io, {
      clock,
      operatorKeys,
      reviewer: async () => ({
        operator: operator.name,
        keyId: operator.keyId,
        sign: (bytes) => operator.approver.sign(bytes),
      }),
      record: (decisions) => client.recordDecisions(decisions),
    }),
  );
}

/** `gw upgrade probe`: every request leaves through the running gateway, budgeted and logged there. */
export function probeThroughGateway(
  options: OperatorOptions & ProbeOptions & { readonly approveSideEffects: boolean },
  deps: CliDeps,
): Promise<Exit> {
  return withGateway(options, deps, async (session) => {
    const opened: string[] = [];
    try {
      return await runUpgradeProbe(options, deps.io, probePorts(options, deps, session, opened));
    } finally {
      for (const runId of opened) await session.client.closeProbe(runId).catch(() => undefined);
    }
  });
}

function probePorts(
  options: { readonly home: string; readonly approveSideEffects: boolean },
  { io, operatorKeys }: CliDeps,
  { client }: GatewaySession,
  opened: string[],
): ProbePorts {
  let approved = 0;
  return {
    operatorKeys: () => operatorKeys(options.home),
    async approveSideEffects(cases) {
      const yes = options.approveSideEffects || (await askAboutEffects(cases, io));
      approved = yes ? cases.length : 0;
      return yes;
    },
    async openSend(version, corpus, tokens) {
      const runId = await client.openProbe({
        api: corpus.api,
        versions: [{ base: version.base, header: version.header === null ? null : { ...version.header } }],
        credentials: credentialsOf(corpus, tokens),
        // Each may have a second page.
        requests: expandCorpus(corpus).length * 2,
        side_effects: approved,
      });
      opened.push(runId);
      return (request) => client.sendProbe(runId, request);
    },
    async disableCredentials(labels, reason) {
      const suspended = await client.suspendCredentials(labels, reason);
      for (const label of labels.filter((one) => !suspended.includes(one)))
        io.err(`The vault has no credential ${showIdentifier(label)}: nothing was disabled for it.`);
    },
  };
}

function credentialsOf(corpus: Corpus, tokens: ReadonlyMap<string, Secret>) {
  return [...tokens].map(([label, token]) => {
    const { present = "bearer", name = null } = corpus.credentials[label] ?? {};
    if (present === "form")
      throw new Denied("corpus_invalid", `${label}: a token inside a form body is not sent through the gateway.`);
    return { label, present, name, token: token.use((bytes) => bytes.toString("utf8")) };
  });
}

async function askAboutEffects(cases: readonly ProbeCase[], io: CliIo): Promise<boolean> {
  io.err("These requests have side effects, at both versions:");
  for (const { id, request } of cases)
    io.err(`  ${showIdentifier(id)}: ${request.method} ${showIdentifier(request.path)}`);
  return (await io.ask("Send them? Type yes to approve: ")).trim() === "yes";
}

/** `Name: value`, as a dated version header is written. */
export function readVersionHeader(text: string | undefined): { readonly name: string; readonly value: string } | null {
  if (text === undefined) return null;
  const found = /^([A-Za-z][A-Za-z0-9-]{0,63}): ?([\x21-\x7e]{1,128})$/.exec(text);
  if (found?.[1] === undefined || found[2] === undefined)
    throw new Denied("schema_violation", "A version header is written NAME: VALUE, such as X-API-Version: 2026-10-01.");
  return { name: found[1], value: found[2] };
}
