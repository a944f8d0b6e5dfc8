import type { KeyObject } from "node:crypto";
import type { HubConnection } from "../../../hub/connect.ts";
import { createDocuments, type Generations } from "../../../hub/documents.ts";
import { DOCUMENTS_PURPOSE } from "../../../hub/policy-order.ts";
import type { TurnKeeper } from "../../../hub/turns.ts";
import type { Random } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { seal, unseal } from "../../../vault/box.ts";
import type { HomeDocuments } from "../home-documents.ts";
import type { OpenCompartment } from "../unlocked.ts";
import { takePolicyOrder } from "./policy.ts";
import type { Way } from "./way.ts";

/** Follows what others put on the hub for all: signed files, and the turns of refresh tokens. */
export interface Following {
  look(connection: HubConnection): Promise<void>;
  /** The next policy, signed elsewhere. */
  takePolicy(body: string): Promise<string>;
  /** The signed files that this gateway follows and saw on the hub: it names none before others can find it there. */
  shown(): Generations;
  trouble(): Denied | null;
}

interface FollowingParts {
  readonly home: HomeDocuments;
  readonly vaultId: string;
  readonly random: Random;
  /** The turns of all credentials that gateways share. */
  followTurns(): ReturnType<TurnKeeper["follow"]> | undefined;
  tell(trouble: Denied): void;
}

export function createFollowing(
  { membership: { hubId, gateway }, notes }: Way,
  compartment: OpenCompartment,
  { home, vaultId, random, followTurns, tell }: FollowingParts,
): Following {
  const sealing = sealingOf(compartment, random);
  let shown = notes.generations();
  /** What is wrong with the signed files there. */
  let untrue: Denied | null = null;
  /** What is wrong with the refresh tokens there. */
  let spent: Denied | null = null;
  const documents = createDocuments({
    ...home,
    ...{ vaultId, hubId, gateway },
    ...sealing,
    seen: () => shown,
    async remember(next) {
      shown = next;
      await notes.rememberGenerations(next);
    },
    tell(next) {
      if (next !== null && next.code !== untrue?.code) tell(next);
      untrue = next;
    },
  });
  return {
    async look(connection) {
      await documents.look(connection);
      const wrong = await followTurns()?.catch(refusedOf);
      if (wrong !== undefined && wrong.code !== spent?.code) tell(wrong);
      spent = wrong ?? null;
    },
    takePolicy: (body) => takePolicyOrder(body, { ...home, ...sealing, vaultId }),
    shown: () => shown,
    trouble: () => untrue ?? spent,
  };
}

/** What gateways and operators of the vault alone open. */
function sealingOf({ service }: OpenCompartment, random: Random) {
  const key: KeyObject = service.deriveStateKey(DOCUMENTS_PURPOSE);
  return {
    seal: (place: string, plain: Buffer): Buffer => seal(key, place, plain, random),
    open(place: string, sealed: Buffer): Buffer | undefined {
      using plain = unseal(key, place, sealed);
      return plain?.use((bytes) => Buffer.from(bytes));
    },
  };
}

function refusedOf(error: unknown): Denied {
  if (error instanceof Denied) return error;
  throw error;
}
