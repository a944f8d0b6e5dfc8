import type { Clock, Random } from "../../kernel/clock.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { openHome } from "../../vault/files/home.ts";
import { summariesOf } from "../../vault/summary.ts";
import type { Vault } from "../../vault/vault.ts";
import { Unreachable } from "../client/connection.ts";
import { mayPass, readStatus } from "../client/read-status.ts";
import type { Door } from "../place/place.ts";
import type { Finding } from "./doctor.ts";
import { examineCare } from "./examine-care.ts";
import { examineCredentials } from "./examine-credentials.ts";
import { misfitsOf } from "./pack-credential.ts";
import { labelsOf, listPackTrust, readTrustedPacks } from "./packs.ts";
import { readMade } from "./vault/made.ts";

/** How the gateway of a home fares, and what still has to be done before an agent's call works. Asks for no passphrase. */
export async function examineGateway(
  door: Door,
  home: string | null,
  clock: Clock,
  random: Random,
  stateFolder: string,
): Promise<readonly Finding[]> {
  const gateway = await examineRunning(door);
  if (home === null) return [gateway];
  try {
    const opened = openHome(home, random);
    if (!opened.exists()) return [gateway];
    const vault = opened.readVault();
    const policy = opened.readPolicy(vault);
    const packs = listPackTrust(home, policy);
    const labels = new Set(summariesOf(vault).flatMap(({ label, state }) => (state === "enabled" ? [label] : [])));
    const trusted = readTrustedPacks(home, policy);
    const wanted = new Set(trusted.flatMap(labelsOf));
    return [
      gateway,
      packsRow(packs),
      credentialsRow(
        [...wanted].filter((label) => !labels.has(label)),
        vault,
      ),
      ...misfitsOf(trusted, summariesOf(vault)).map(
        ({ detail, mend }) => ({ name: "credential", state: "warning", detail, mend }) as const,
      ),
      ...examineCredentials(vault, clock.wallMs()),
      ...examineCare(vault, policy, trusted, readMade(stateFolder, vault.vaultId), clock.wallMs()),
    ];
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return [gateway, { name: "signed files", state: "missing", detail: `${error.code}: ${error.message}`, mend: null }];
  }
}

const ROOM = "free disk space where the home is; nothing has to be started again";

/** Nothing tells here whether it was ever unlocked since it started. */
const UNLOCK = "gw unlock, or gw unlock --first where it has just been started";

async function examineRunning(door: Door): Promise<Finding> {
  const name = "gateway";
  try {
    const status = await readStatus(door);
    const { locked, stopped, trouble, disk_low: low } = status;
    if (stopped !== null) {
      const mend = mayPass(status) ? "gw resume" : "gw status";
      return { name, state: "missing", detail: "it has stopped sending", mend };
    }
    if (trouble !== null)
      return { name, state: "missing", detail: "it stays locked: it found trouble", mend: "gw status" };
    if (locked === true) return { name, state: "warning", detail: "it runs, LOCKED: no call works", mend: UNLOCK };
    if (low === true) return { name, state: "missing", detail: "it runs, DISK LOW: nothing new is begun", mend: ROOM };
    return { name, state: "ok", detail: "it runs, unlocked", mend: null };
  } catch (error) {
    if (error instanceof Unreachable)
      return error.closed
        ? { name, state: "warning", detail: `operators alone see whether it runs. ${error.message}`, mend: null }
        : { name, state: "warning", detail: "it does not run", mend: "gw up, or on a server: systemctl start gw" };
    if (!(error instanceof Denied)) throw error;
    return { name, state: "missing", detail: `${error.code}: ${error.message}`, mend: "gw status" };
  }
}

function packsRow(packs: readonly { readonly pack: string; readonly trusted: boolean }[]): Finding {
  const waiting = packs.filter(({ trusted }) => !trusted).map(({ pack }) => showIdentifier(pack));
  const trusted = packs.length - waiting.length;
  if (waiting.length > 0) {
    const detail = `${trusted} trusted; not trusted as they stand: ${waiting.join(", ")}`;
    return { name: "packs", state: "warning", detail, mend: `gw pack trust ${waiting[0]}` };
  }
  return trusted === 0
    ? { name: "packs", state: "warning", detail: "none: there is nothing to call", mend: "gw pack add FILE" }
    : { name: "packs", state: "ok", detail: `${trusted} trusted`, mend: null };
}

function credentialsRow(absent: readonly string[], vault: Vault): Finding {
  const name = "credentials";
  if (absent.length === 0)
    return { name, state: "ok", detail: "every one that a trusted pack names is there", mend: null };
  const detail = `trusted packs name what is not there or not enabled: ${absent.map(showIdentifier).join(", ")}`;
  return { name, state: "warning", detail, mend: mendOf(absent[0] ?? "", vault) };
}

/** What is there is not added once more. */
function mendOf(label: string, vault: Vault): string {
  const held = summariesOf(vault).find((one) => one.label === label);
  if (held === undefined) return `gw credential add ${label}, or gw credential list`;
  return held.state === "disabled" ? `gw credential enable ${label}` : "gw credential list";
}
