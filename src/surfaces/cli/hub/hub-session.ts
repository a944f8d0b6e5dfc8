import { connectHub, type HubConnection, type HubLogin } from "../../../hub/connect.ts";
import {
  ENROLMENT_COLUMNS,
  type EnrolmentRow,
  eachGateway,
  hasLeft,
  LEAVE_COLUMNS,
  type LeaveRow,
  type Speaker,
  speakerOf,
} from "../../../hub/speaker.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { Exit } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { policyInForce, type ReaderSession, type VaultSession, withOperator, withReader } from "../vault/session.ts";
import { type HubLoginOptions, takeOperatorLogin } from "./login.ts";

export type OnHub = HubLoginOptions & { readonly hub: string };

interface OfHub {
  readonly connection: HubConnection & { readonly hubId: string };
  /** The gateways of this vault, whose keys an operator of it signed. */
  readonly speakers: readonly Speaker[];
}

export type HubSession = VaultSession & OfHub;
export type HubReading = ReaderSession & OfHub;
type Options = OperatorOptions & OnHub;

/** An operator's keys, and the gateways of the vault on a hub. */
export function onHub(options: Options, deps: CliDeps, work: (session: HubSession) => Promise<Exit>): Promise<Exit> {
  return inHub(options, deps, (inside) =>
    withOperator(options, deps.io, deps.vault, async (session) => work(await inside(session))),
  );
}

/** The same for what only reads: after `gw login` nothing is asked. */
export function readingHub(
  options: Options,
  deps: CliDeps,
  work: (session: HubReading) => Promise<Exit>,
): Promise<Exit> {
  return inHub(options, deps, (inside) =>
    withReader(options, deps.io, deps.vault, async (session) => work(await inside(session))),
  );
}

function inHub(
  options: Options,
  deps: CliDeps,
  open: (inside: <Session extends ReaderSession>(session: Session) => Promise<Session & OfHub>) => Promise<Exit>,
): Promise<Exit> {
  return answering(deps.io, async () => {
    const login = await takeOperatorLogin(options, deps);
    using _wiped = login.password;
    return await withConnection(login, (connection) =>
      open(async (session) => ({ ...session, connection, speakers: await findSpeakers(connection, session) })),
    );
  });
}

/** Whether the database is there and holds a hub is told before the passphrase is typed, which it never sees. */
export async function withConnection<Result>(
  login: HubLogin,
  work: (connection: HubConnection & { readonly hubId: string }) => Promise<Result>,
): Promise<Result> {
  const connection = await connectHub(login, null);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** The same for what makes its own connections, and more than one. */
export function requireHub(login: HubLogin): Promise<void> {
  return withConnection(login, async () => undefined);
}

export async function findSpeakers(
  connection: HubConnection & { readonly hubId: string },
  { home, operator }: ReaderSession,
): Promise<readonly Speaker[]> {
  const keys = home.readVault().operators.map(({ approverKey }) => approverKey);
  const rows = await connection.ask<EnrolmentRow & LeaveRow>(eachGateway(`${ENROLMENT_COLUMNS}, ${LEAVE_COLUMNS}`));
  return rows.flatMap((row) => {
    const speaker = speakerOf(row, connection.hubId, keys);
    // One that is merely said to have left is still asked: nobody takes a gateway out of reach with a row.
    return speaker?.vaultId === operator.vaultId && !hasLeft(row, speaker, keys) ? [speaker] : [];
  });
}

/** The newest signed files that this home has. */
export function knownTo({ home }: Pick<VaultSession, "home">) {
  const vault = home.readVault();
  return { vault: vault.generation, policy: policyInForce(home, vault)?.version ?? 0 };
}
