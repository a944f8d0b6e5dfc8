import type { KnownCredential } from "../../../conventions/upgrade/decision/narrow.ts";
import type { Reviewer } from "../../../conventions/upgrade/decision/statement.ts";
import type { Corpus } from "../../../conventions/upgrade/probe/corpus-schema.ts";
import { expandCorpus, type ProbeCase } from "../../../conventions/upgrade/probe/expand.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import { openHome } from "../../../vault/files/home.ts";
import type { OpenOperator } from "../../../vault/operator.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { OperatorClient } from "../../client/operator.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { CliIo, Exit } from "../io.ts";
import { type GatewaySession, withGateway } from "../operator/session.ts";
import type { OperatorOptions } from "../options.ts";
import type { VaultSession } from "../vault/session.ts";
import { type DecideOptions, type DecidePorts, requireDecidable, runUpgradeDecide } from "./decide.ts";
import { type ProbeOptions, type ProbePorts, requireProbeInput, runUpgradeProbe } from "./probe.ts";

/** `gw upgrade decide`: listing needs nobody; a decision is signed by the operator who unlocks. */
export async function decideThroughGateway(options: OperatorOptions & DecideOptions, deps: CliDeps): Promise<Exit> {
  const { io, clock } = deps;
  const operatorKeys = () => deps.operatorKeys(options.home);
  const nobody = () => Promise.reject(new Denied("operator_not_logged_in", "A decision needs an operator."));
  if (options.ids.length === 0 && options.finish !== true)
    return await runUpgradeDecide(options, io, {
      clock,
      operatorKeys,
      credentials: nobody,
      reviewer: nobody,
      record: nobody,
    });
  const credentials = async () => credentialsOfVault(openHome(options.home, deps.random).readVault());
  await requireDecidable(options, { clock, operatorKeys, credentials });
  return await withGateway(options, deps, ({ operator, client, home }) =>
    runUpgradeDecide(
      options,
      io,
      decidePorts({ operator, home }, () => client, clock, operatorKeys),
    ),
  );
}

/** An operator's keys and the gateway's log, as deciding needs them. */
export function decidePorts(
  { operator, home }: VaultSession,
  client: () => Pick<OperatorClient, "recordDecisions">,
  clock: DecidePorts["clock"],
  operatorKeys: DecidePorts["operatorKeys"],
): DecidePorts {
  return {
    clock,
    operatorKeys,
    credentials: async () => credentialsOfVault(home.readVault()),
    reviewer: async () => reviewerOf(operator),
    record: (decisions) => client().recordDecisions(decisions),
  };
}

/** `gw upgrade probe`: every request leaves through the running gateway, budgeted and logged there. */
export async function probeThroughGateway(
  options: OperatorOptions & ProbeOptions & { readonly approveSideEffects: boolean },
  deps: CliDeps,
): Promise<Exit> {
  await requireProbeInput(options);
  return await withGateway(options, deps, async (session) => {
    const opened: string[] = [];
    try {
      return await runUpgradeProbe(options, deps.io, probePorts(options, deps, session, opened));
    } finally {
      for (const runId of opened) await session.client.closeProbe(runId, null).catch(() => undefined);
    }
  });
}

function probePorts(
  options: { readonly home: string; readonly approveSideEffects: boolean },
  { io, clock, operatorKeys }: CliDeps,
  { client, operator }: GatewaySession,
  opened: string[],
): ProbePorts {
  let approved = 0;
  return {
    clock,
    operatorKeys: () => operatorKeys(options.home),
    reviewer: async () => reviewerOf(operator),
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
    async record(result) {
      while (opened[0] !== undefined) {
        await client.closeProbe(opened[0], result);
        opened.shift();
      }
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
    return { label, present, name, token: token.use((bytes) => bytes.toString("utf8")) };
  });
}

function reviewerOf(operator: OpenOperator): Reviewer {
  return { operator: operator.name, keyId: operator.keyId, sign: (bytes) => operator.approver.sign(bytes) };
}

function credentialsOfVault({ credentials, notes }: Vault): readonly KnownCredential[] {
  return credentials.map(({ label, boundTo, disabled }) => ({
    label,
    boundTo,
    usable: !disabled && !notes.suspended.some((one) => one.label === label),
  }));
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
