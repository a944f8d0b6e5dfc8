import { rmSync } from "node:fs";
import { checkFleet, type GatewayReport } from "../../../hub/check-fleet.ts";
import { connectHub, type HubLogin } from "../../../hub/connect.ts";
import { fleetFindings } from "../../../hub/findings.ts";
import { counted, printable } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Vault } from "../../../vault/vault.ts";
import { checkLog, cuttersOf } from "../audit/check-log.ts";
import { readOperatorKey } from "../audit/verify.ts";
import type { CliIo } from "../io.ts";
import { makeLogFolder } from "./log-folder.ts";
import { type HubLoginOptions, takeHubLogin } from "./login.ts";
import { recallFleet, rememberFleet } from "./memory.ts";

export interface HubVerifyOptions extends HubLoginOptions {
  readonly hub: string;
  /** Keys of operators, as hex, base64 or PEM, or files that hold one; without them, those of the home. */
  readonly operator?: readonly string[];
  readonly allowUnattested?: boolean;
  readonly json?: boolean;
  readonly vault: Vault | null;
  readonly stateFolder: string;
}

/** `gw audit verify --hub URL`: 0 every log is whole and intact, 1 something is wrong, 2 could not be read. */
export async function runHubVerify(options: HubVerifyOptions, io: CliIo): Promise<0 | 1 | 2> {
  try {
    const reports = await look(options, io);
    if (options.json === true) io.out(JSON.stringify({ gateways: reports }));
    else for (const line of linesOf(reports, pinsOf(options) !== null)) io.out(line);
    return reports.every(({ findings }) => findings.length === 0) ? 0 : 1;
  } catch (error) {
    const detail = error instanceof Denied ? `${error.code}: ${error.message}` : String(error);
    if (options.json === true) io.out(JSON.stringify({ gateways: null, trouble: detail }));
    else io.err(`The hub could not be checked: ${printable(detail)}`);
    return 2;
  }
}

async function look(options: HubVerifyOptions, io: CliIo): Promise<readonly GatewayReport[]> {
  const login = await takeHubLogin(options.hub, options, io);
  using _wiped = login.password;
  return await lookAtLogs(login, options);
}

type LookedFor = Pick<HubVerifyOptions, "operator" | "allowUnattested" | "vault" | "stateFolder">;

/** Checks the logs of all gateways on a hub, and remembers what was in order. */
export async function lookAtLogs(login: HubLogin, options: LookedFor): Promise<readonly GatewayReport[]> {
  const connection = await connectHub(login, null);
  try {
    const { hubId } = connection;
    const pins = pinsOf(options);
    const reports = await checkFleet(connection, {
      hubId,
      operators: pins?.enrolling ?? null,
      remembered: recallFleet(options.stateFolder, hubId),
      inFolder,
      verify: (folder, heads) =>
        checkLog(folder, options.vault, {
          heads,
          ...(pins === null ? {} : { operators: pins.attesting }),
          allowUnattested: options.allowUnattested === true,
        }),
    });
    const seen = reports.flatMap(({ gateway, seen }) => (seen === null ? [] : [[gateway, seen] as const]));
    await rememberFleet(options.stateFolder, hubId, Object.fromEntries(seen));
    return reports;
  } finally {
    await connection.close();
  }
}

/** Who may name gateways: operators of today. Who may have attested a log: also those who were operators then. */
function pinsOf({ operator, vault }: Pick<HubVerifyOptions, "operator" | "vault">) {
  if (operator !== undefined) {
    const keys = operator.map(readOperatorKey);
    return { enrolling: keys, attesting: keys };
  }
  if (vault === null) return null;
  const enrolling = vault.operators.map(({ approverKey }) => approverKey);
  return { enrolling, attesting: cuttersOf(vault).map(({ key }) => key) };
}

/** A folder of our own, gone afterwards. */
export async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = makeLogFolder();
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function linesOf(reports: readonly GatewayReport[], pinned: boolean): readonly string[] {
  const wrong = reports.filter(({ findings }) => findings.length > 0);
  return [
    wrong.length === 0
      ? `Every log is whole and intact: ${counted(reports.length, "gateway")}.`
      : `NOT IN ORDER: ${wrong.length} of ${counted(reports.length, "gateway")}.`,
    ...reports.flatMap(gatewayLines),
    ...(pinned
      ? []
      : ["No operator was pinned with --operator: whoever can write the database could have made all of this."]),
    "What you saw is remembered here: a hub that is put back behind it is found by the next look from this machine.",
  ].map((line) => printable(line));
}

export function gatewayLines({ gateway, left, head, log, findings }: GatewayReport): readonly string[] {
  const signed =
    head === null ? "" : `, tick ${head.tick}, signed to frame ${head.next_frame - 1} at ${head.written_at}`;
  const sealed = log?.sealed == null ? "" : `, sealed to frame ${log.sealed.frame}`;
  return [
    `${findings.length === 0 ? "intact" : "WRONG "}  ${gateway}${signed}${sealed}${left ? ", has left" : ""}`,
    ...findings.map(
      ({ code, detail }) => `        ${fleetFindings[code]} [${code}${detail === "" ? "" : `: ${detail}`}]`,
    ),
  ];
}
