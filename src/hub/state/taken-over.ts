import { rawPublicOf } from "../../audit/keys/raw.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import type { TermName } from "../statement.ts";
import { type Adopted, adoptTerm, type CameHome, readHolders, readTakings, readTerm } from "./adopt.ts";
import type { StateParts } from "./parts.ts";

/** What this gateway took over from others, and what others have that was its own. */
export interface TakenOver {
  /** Over a connection that was made anew. */
  begin(connection: HubConnection): Promise<void>;
  /** Once a beat, as long as there is something to look for. */
  look(connection: HubConnection): Promise<void>;
  /** Of what somebody says to have taken along, what was this gateway's to bring home. */
  ownOf(connection: HubConnection, along: readonly TermName[]): Promise<readonly TermName[]>;
  adopt(connection: HubConnection, from: string, operator: string | null): Promise<CameHome>;
  /** What is wrong with it. */
  trouble(): Denied | null;
}

const NOTHING: CameHome = { operations: 0, deployments: 0, minted: 0 };

export function followTakenOver(parts: StateParts): TakenOver {
  const { gateway, clock } = parts;
  /** The last words of others that were looked at for how something ended. */
  const asked = new Map<string, string>();
  let lookAgainMs = 0;
  let trouble: Denied | null = null;

  const ownTakings = (connection: HubConnection) =>
    readTakings(connection, parts, gateway, rawPublicOf("ed25519", parts.identity));

  /** What this process, or one before it, took over and had not yet brought home. */
  async function bringHome(connection: HubConnection): Promise<Denied | null> {
    let wrong: Denied | null = null;
    for (const taking of await ownTakings(connection)) {
      if (parts.has(taking.gateway, taking.term)) continue;
      try {
        const adopted = await readTerm(connection, parts, taking);
        if (adopted !== null) await home(adopted, null);
      } catch (error) {
        wrong = besideWork(error);
      }
    }
    return wrong;
  }

  /** How that ended which another gateway took over. */
  async function learnEndings(connection: HubConnection): Promise<Denied | null> {
    let wrong: Denied | null = null;
    for (const name of parts.awaited()) {
      try {
        for await (const { gateway: by, rows } of readHolders(connection, parts, name, asked))
          await parts.onTold(name, by, rows);
      } catch (error) {
        wrong = besideWork(error);
      }
    }
    return wrong;
  }

  /** What this gateway had taken over already, with a word whose answer was lost, and does not have. */
  async function ownWord(connection: HubConnection, from: string, error: unknown): Promise<Adopted | null> {
    const isTaken = error instanceof Denied && error.code === "operation_taken_over";
    const own = isTaken ? await ownTakings(connection) : [];
    const taking = own.find((one) => one.gateway === from && !parts.has(from, one.term));
    if (taking === undefined) throw error;
    return await readTerm(connection, parts, taking);
  }

  /** What went along comes first: what was taken over itself says that all of it has arrived. */
  async function home({ along, ...adopted }: Adopted, operator: string | null): Promise<CameHome> {
    let [operations, deployments, minted] = [0, 0, 0];
    for (const one of [...along, adopted]) {
      const came = await parts.onAdopted({ ...one, along: [] }, operator);
      operations += came.operations;
      deployments += came.deployments;
      minted += came.minted;
    }
    return { operations, deployments, minted };
  }

  function tell(wrong: Denied | null): void {
    if (wrong !== null && wrong.message !== trouble?.message) parts.onTrouble(wrong);
    trouble = wrong;
  }

  return {
    async begin(connection) {
      tell(await bringHome(connection));
      lookAgainMs = 0;
      asked.clear();
    },
    async look(connection) {
      if (clock.bootMs() < lookAgainMs) return;
      lookAgainMs = clock.bootMs() + defaults.hubBeatMs;
      const wrong = trouble === null ? null : await bringHome(connection);
      tell((await learnEndings(connection)) ?? wrong);
    },
    async ownOf(connection, along) {
      const own = await ownTakings(connection);
      return own.filter((one) => along.some(({ gateway: from, term }) => from === one.gateway && term === one.term));
    },
    async adopt(connection, from, operator) {
      const adopted = await adoptTerm(connection, parts, from).catch((error) => ownWord(connection, from, error));
      return adopted === null ? NOTHING : await home(adopted, operator);
    },
    trouble: () => trouble,
  };
}

/** What is wrong with what others had waits for a person; this gateway's own work does not. */
function besideWork(error: unknown): Denied {
  if (error instanceof Denied && error.code === "hub_unreachable") throw error;
  return error instanceof Denied ? error : new Denied("hub_state_tampered", String(error).slice(0, 300));
}
