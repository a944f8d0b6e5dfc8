import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { type AttestationOffer, signAttestation } from "../../../audit/attestation.ts";
import { openReader } from "../../../audit/read/reader.ts";
import type { Head } from "../../../audit/receipt.ts";
import { leadsTo } from "../../../audit/verify/leads-to.ts";
import type { VerifyReport } from "../../../audit/verify/report.ts";
import type { Digest } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { checkHighWater, type HighWater } from "../../../vault/high-water.ts";
import { Unreachable } from "../../client/connection.ts";
import { connectOperator, type OperatorClient } from "../../client/operator.ts";
import { readStatus } from "../../client/read-status.ts";
import { openReading, type ReadingClient } from "../../client/reading.ts";
import type { Status } from "../../operator/answers.ts";
import { checkLog } from "../audit/check-log.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { Exit } from "../io.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { remember, type SeenLine, seenOf } from "../vault/seen.ts";
import {
  findLogin,
  lookingAgain,
  policyInForce,
  type VaultCliPorts,
  type VaultSession,
  withOperator,
} from "../vault/session.ts";

export interface GatewaySession extends VaultSession {
  readonly client: OperatorClient;
}

/** Unlocks an operator in this process and logs in to the running gateway with their key. */
export async function withGateway(
  options: OperatorOptions & { readonly attest?: boolean },
  deps: CliDeps,
  work: (session: GatewaySession) => Promise<Exit>,
): Promise<Exit> {
  // Whether anybody answers there, before a secret is typed for it.
  await readStatus(operatorDoor(options));
  return await withOperator(options, deps.io, deps.vault, (session) => logIn(session, options, deps, work));
}

/**
 * Whether anybody is there at all, for the orders that must get through, before a secret is typed for them. A door that is crowded,
 * or has anything to say, has somebody behind it: the order itself tries on.
 */
export async function requireSomebody(options: OperatorOptions): Promise<void> {
  try {
    await readStatus(operatorDoor(options));
  } catch (error) {
    if (error instanceof Unreachable && !error.crowded) throw error;
  }
}

/** What a session with the gateway needs of the machine. */
export type SessionDeps = Pick<CliDeps, "io" | "clock" | "vault">;

/** The same with keys that are open already. */
export async function logIn(
  session: VaultSession,
  options: OperatorOptions & { readonly attest?: boolean },
  deps: SessionDeps,
  work: (session: GatewaySession) => Promise<Exit>,
): Promise<Exit> {
  const client = await connectOperator(operatorDoor(options), session.operator, deps.clock);
  try {
    const seen = seenOf(deps.vault.stateFolder, session.home.readVault());
    await requireNewest(client, seen);
    // A log that has stopped takes no attestation.
    if (options.attest !== false) await attestLog(options, deps, session, client, seen);
    return await work({ ...session, client });
  } finally {
    client.close();
  }
}

/** For what only looks at the running gateway: after `gw login` nothing is asked, and nothing is signed but that login. */
export async function withReadingGateway(
  options: OperatorOptions,
  deps: CliDeps,
  work: (session: { readonly client: ReadingClient }) => Promise<Exit>,
): Promise<Exit> {
  let exit: Exit | undefined;
  await lookFirst(options, deps, async (client) => {
    exit = await work({ client });
  });
  return exit ?? (await withGateway(options, deps, work));
}

/** What a login may see without a word of its owner; nothing where there is none. */
export async function lookFirst(
  options: OperatorOptions,
  deps: CliDeps,
  look: (client: ReadingClient) => Promise<void>,
): Promise<void> {
  const vault = openHome(options.home, deps.random).readVault();
  const keeper = await findLogin(options, vault, deps.vault);
  if (keeper === null) return;
  try {
    const login = { vaultId: keeper.vaultId, signLogin: keeper.signReading };
    const { reading: client } = await openReading(operatorDoor(options), login);
    try {
      const status = await client.status();
      const seen = seenOf(deps.vault.stateFolder, vault);
      // Another command may have changed it since it was asked.
      const behind = isBehind(status, seen) && isBehind(await client.status(), seen);
      if (behind !== null)
        deps.io.err(`WARNING: ${behind.code}: it shows ${behind.shown}, and you have seen ${behind.seen}.`);
      await look(client);
    } finally {
      client.close();
    }
  } finally {
    keeper.close();
  }
}

/** The gateway may not have read the newest files yet; one that still shows less after reading them gets nothing. */
async function requireNewest(client: OperatorClient, seen: SeenLine): Promise<void> {
  if (isBehind(await client.status(), seen) === null) return;
  await client.reload().catch(() => undefined);
  const behind = isBehind(await client.status(), seen);
  if (behind !== null) {
    throw new Denied(
      behind.code,
      `The gateway at this socket works with ${behind.shown}, and you have seen ${behind.seen}. Nothing was signed and no key was handed over. Find out who put old files back; if the newest are lost, see gw restore.`,
    );
  }
}

function isBehind(status: Status, { vault, policy }: SeenLine) {
  const generation = status.vault_generation;
  if (vault !== null && generation < vault.generation) {
    return {
      code: "vault_rolled_back",
      shown: `vault generation ${generation}`,
      seen: `generation ${vault.generation}`,
    } as const;
  }
  // Without a policy in force the gateway says what is wrong itself, and stays locked.
  const version = status.policy_version;
  if (policy !== null && version !== null && version < policy.version) {
    return {
      code: "policy_rolled_back",
      shown: `policy version ${version}`,
      seen: `version ${policy.version}`,
    } as const;
  }
  return null;
}

/**
 * Vouches for what the live gateway wrote, after seeing that the log extends the head this operator remembers. A log that
 * does not is never attested. One that was cut back is refused, since what it said of newer files is gone with its end;
 * about one that is damaged otherwise the person is told, and what they came for still works. Once a day all of the log is
 * checked, otherwise the newest segment, and of both only signatures that came since the last check: else every command would cost more
 * with every day.
 */
export async function attestLog(
  { home }: OperatorOptions,
  { io, clock, vault: { stateFolder, refresh } }: SessionDeps,
  session: VaultSession,
  client: OperatorClient,
  seen: SeenLine = seenOf(stateFolder, session.home.readVault()),
): Promise<void> {
  const { operator } = session;
  const folder = join(home, "audit");
  const nowMs = clock.wallMs();
  const wholeAtMs = seen.checked?.wholeAtMs ?? 0;
  const isFresh = wholeAtMs <= nowMs && nowMs - wholeAtMs <= defaults.logCheckMs;
  const from = isFresh ? (seen.checked?.cut ?? null) : null;
  const report = await checkLog(folder, session.home.readVault(), {
    allowUnattested: true,
    cutAt: "newest",
    from,
    sealed: seen.checked?.sealed ?? null,
    ...(seen.head === null ? {} : { heads: [seen.head] }),
  });
  if (report.exit !== 0) {
    const code = report.firstBreach?.code ?? "unreadable";
    const before = seen.head === null ? "" : `; you last saw frame ${seen.head.frame}`;
    if (code === "head_behind" || code === "head_mismatch") {
      throw new Denied(
        "log_rolled_back",
        `The log is not the one that you saw (${code}${before}): it was cut back or replaced. Nothing was signed and no key was handed over. Look at it with: gw audit verify. If the newest log is lost, see gw restore.`,
      );
    }
    io.err(`WARNING: the log does not hold (${code}${before}). It was not attested. Look at it with: gw audit verify`);
    return;
  }
  // The first look at a log reads all that it says of vault and policy; from then on its marks and this memory do.
  const log = seen.head === null ? await highestInLog(folder, operator.readingKey) : undefined;
  const vault = await lookingAgain({ refresh }, () => {
    const now = session.home.readVault();
    if (log !== undefined) checkHighWater(log, now, policyInForce(session.home, now));
    return now;
  });
  const head = await signOffer(folder, report, session, client, { clock, refresh });
  await remember(stateFolder, home, vault, {
    head,
    checked: {
      cut: report.cut,
      wholeAtMs: report.begins.segment === from?.segment ? wholeAtMs : nowMs,
      sealed: report.sealed === null ? null : { frame: report.sealed.frame, link: report.sealed.link },
    },
    ...(log === undefined ? {} : { log }),
  });
}

/**
 * Signs for what the running gateway wrote since its start, and where the person was shown them (`earlier`), for the parts before it
 * that nobody attested.
 */
export async function signOffer(
  folder: string,
  looked: VerifyReport,
  { operator }: Pick<VaultSession, "operator">,
  client: Pick<OperatorClient, "offerAttestation" | "attest">,
  { clock, refresh }: Pick<VaultCliPorts, "clock" | "refresh">,
  earlier = false,
): Promise<Pick<Head, "frame" | "link">> {
  for (let tries = 1; ; tries++) {
    const { offer, head } = await readOffer(folder, looked, client, refresh, earlier);
    const seconds = Math.floor(clock.wallMs() / 1000);
    try {
      await client.attest(signAttestation(offer, operator.name, operator.approver.key, seconds, earlier));
      return head;
    } catch (error) {
      // It may have become too old on a slow way to the log: another one tells.
      if (!(error instanceof Denied && error.code === "log_attestation_refused") || tries === OFFERS) throw error;
    }
  }
}

const OFFERS = 3;

async function readOffer(
  folder: string,
  looked: VerifyReport,
  client: Pick<OperatorClient, "offerAttestation">,
  refresh: VaultCliPorts["refresh"],
  earlier: boolean,
): Promise<{ readonly offer: AttestationOffer; readonly head: Pick<Head, "frame" | "link"> }> {
  const offer = await client.offerAttestation();
  const head = { frame: offer.headFrame, link: offer.headLink.toString("hex") };
  // The offer made frames of its own.
  await refresh();
  // Whoever answers at the socket chose it: it is signed where the log that was just looked at leads to it, and nowhere else.
  if (looked.head === null || !leadsTo(folder, looked.head, head)) {
    throw new Denied(
      "log_attestation_refused",
      `The process at this socket offers another log for signature (frame ${head.frame}) than the one in ${folder}. Nothing was signed and no key was handed over. Find out who answers there: gw doctor, gw audit verify.`,
    );
  }
  // What was shown are the parts before the last one that was looked at. Behind another start there is one more.
  if (earlier && offer.openFrame !== looked.eras.at(-1)?.firstFrame) {
    throw new Denied(
      "log_attestation_refused",
      "The gateway was started anew meanwhile. Nothing was signed. Look again.",
    );
  }
  return { offer, head };
}

/** The newest vault and policy that any event of an intact log tells of. */
async function highestInLog(folder: string, readingKey: KeyObject): Promise<HighWater> {
  const reader = openReader(folder, readingKey);
  let vault: HighWater["vault"] = null;
  let policy: HighWater["policy"] = null;
  try {
    for await (const item of reader) {
      if (item.kind !== "record") continue;
      const { event } = item;
      if (event.event_type === "vault_changed" && event.vault_generation > (vault?.generation ?? 0)) {
        vault = { generation: event.vault_generation, manifestHash: event.vault_hash as Digest };
      }
      if (event.event_type === "policy_changed" && (event.generation ?? 0) > (policy?.version ?? 0)) {
        policy = { version: event.generation ?? 0, digest: event.policy_digest as Digest };
      }
    }
    return { vault, policy };
  } finally {
    reader.close();
  }
}
