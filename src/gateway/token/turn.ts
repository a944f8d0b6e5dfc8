import { Denied } from "../../kernel/failure.ts";
import type { TokenExchange } from "../../vault/token/exchange.ts";
import type { KeptGrant } from "./grant-row.ts";
import type { TokenNeeds } from "./needs.ts";

/** The refresh token that an exchange goes with, and who has to know which one is the newest after it. */
export interface Holding {
  /** What is written down before it leaves. */
  readonly kept: KeptGrant;
  /** Null for the one that is sealed in the vault. */
  readonly refreshToken: string | null;
  readonly afterCut: boolean;
  /** The provider replaced it, and the new one is on this disk. Where other gateways use it too, they have it when this resolves. */
  replaced(refreshToken: string): Promise<void>;
  /** Whatever came of it: the turn of this gateway is over. Denied where the others could not be told of a new one, which then counts for nobody. */
  over(ended: boolean): Promise<void>;
}

/** Where several gateways lend the credential it is this one's turn from here on. */
export async function holdRefreshToken(
  core: Pick<TokenNeeds, "ports">,
  kept: KeptGrant,
  { grant }: Pick<TokenExchange, "grant">,
  begins: boolean,
): Promise<Holding> {
  const alone = kept.turn === null ? kept.refreshToken : null;
  const turn =
    grant === "refresh_token" ? ((await core.ports.turns?.take(kept.label, { begins, own: alone })) ?? null) : null;
  if (turn === null) {
    const { refreshToken, pending } = kept;
    const nobody = async (): Promise<void> => undefined;
    return { kept, refreshToken, afterCut: pending !== null, replaced: nobody, over: nobody };
  }
  const { generation, refreshToken, afterCut } = turn;
  let told: Promise<Denied | null> | null = null;
  return {
    kept: { ...kept, refreshToken: null, turn: generation },
    refreshToken,
    afterCut,
    async replaced(next) {
      told = turn.end(next).then(() => null, asDenied);
      await told;
    },
    async over(ended) {
      const trouble = await told;
      if (trouble !== null) throw trouble;
      // Nothing new: where the hub is away, this gateway says so the next time it looks there.
      if (told === null) await turn.end(refreshToken, ended ? "ended" : "free").catch(() => undefined);
    },
  };
}

function asDenied(error: unknown): Denied {
  if (error instanceof Denied) return error;
  throw error;
}
