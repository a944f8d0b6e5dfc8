import { join } from "node:path";
import type { PackFinding } from "../conventions/action/pack.ts";
import type { Difference } from "../conventions/upgrade/compare/difference.ts";
import type { GroupState } from "../conventions/upgrade/report/report.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import type { OperatorOptions } from "../surfaces/cli/options.ts";
import { lintPack } from "../surfaces/cli/pack-lint.ts";
import { packChanges, packRecord } from "../surfaces/cli/pack-show.ts";
import { listPackTrust, packState, readHomePack, removeHomePack, trustHomePack } from "../surfaces/cli/packs.ts";
import { decideUpgrade, type UpgradeStanding } from "../surfaces/cli/upgrade/decide.ts";
import { changeOf } from "../surfaces/cli/upgrade/load-change.ts";
import { decidePorts } from "../surfaces/cli/upgrade/through-gateway.ts";
import type { VaultSession } from "../surfaces/cli/vault/session.ts";
import type { OperatorClient } from "../surfaces/client/operator.ts";
import { makeFolder } from "../vault/files/make-folder.ts";
import { summariesOf } from "../vault/summary.ts";
import { textOf } from "./http.ts";

export type PackRow = ReturnType<typeof listPackTrust>[number] & { readonly state: string };

export interface PackShown extends ReturnType<typeof packRecord> {
  readonly state: string;
  readonly trusted: boolean;
  readonly description: string | null;
  readonly findings: readonly PackFinding[];
  /** Against the version that is trusted; null where nothing was, or nothing differs. */
  readonly changes: readonly string[] | null;
}

export interface ReviewShown {
  readonly verdict: string;
  /** Where the signed decisions are kept: the commands take this file too. */
  readonly file: string;
  readonly differences: readonly (Pick<Difference, "id" | "surface" | "kind" | "change" | "subject" | "at" | "says"> &
    Pick<Difference, "before" | "after" | "notes"> & { readonly state: GroupState; readonly reason: string | null })[];
}

export interface PackPorts {
  readonly session: VaultSession;
  readonly options: OperatorOptions;
  readonly deps: CliDeps;
  client(): OperatorClient;
}

export function createPacks({ session, options, deps, client }: PackPorts) {
  const { home } = options;
  const keys = () => deps.operatorKeys(home);
  const reviewsOf = (name: string): string => {
    const folder = join(deps.vault.stateFolder, "reviews");
    makeFolder(folder);
    return join(folder, `${name}.yaml`);
  };
  /** Documents and probes are files of the person's: whoever has them reviews with `gw upgrade`. */
  const settle = (name: string, asked: Partial<Parameters<typeof decideUpgrade>[0]>) =>
    decideUpgrade(
      {
        of: { change: changeOf(home, name, deps.random), withoutEvidence: true },
        ...{ reviews: reviewsOf(name), ids: [], verdict: "accepted", reason: "", narrowing: null, ...asked },
      },
      decidePorts(session, client, deps.clock, keys),
    );
  const showReview = (name: string, { differences, settlement }: UpgradeStanding): ReviewShown => ({
    verdict: settlement.verdict,
    file: reviewsOf(name),
    differences: differences.map((one) => {
      const { id, surface, kind, change, subject, at, says, before, after, notes } = one;
      const state = settlement.states.get(id) ?? { kind: "open" };
      const reason = "decision" in state ? state.decision.reason : null;
      return { id, surface, kind, change, subject, at, says, before, after, notes, state: state.kind, reason };
    }),
  });
  return {
    list(): readonly PackRow[] {
      const policy = session.home.readPolicy(session.home.readVault());
      return listPackTrust(home, policy).map((row) => ({
        ...row,
        state: packState(policy, { name: row.pack, digest: row.digest }),
      }));
    },
    show(name: string): PackShown {
      const vault = session.home.readVault();
      const policy = session.home.readPolicy(vault);
      const { pack, bytes } = readHomePack(home, name);
      const state = packState(policy, pack);
      return {
        ...packRecord(pack, vault, policy),
        ...{ state, trusted: state === "trusted", description: pack.description },
        findings: lintPack(bytes, `${name}.yaml`, () => summariesOf(vault)).findings,
        changes: packChanges(home, pack, bytes, policy)?.rows ?? null,
      };
    },
    async trust(name: string, body: JsonObject): Promise<JsonObject> {
      const found = readHomePack(home, name);
      if (found.pack.digest !== textOf(body, "digest", 100)) {
        throw new Denied("review_mismatch", "The file has changed since it was shown. Read it again, then trust it.");
      }
      const reviewed = { home, documents: [], reviews: reviewsOf(name), withoutEvidence: true };
      await trustHomePack(found, session, reviewed, deps.vault, keys);
      return { pack: name, digest: found.pack.digest };
    },
    async remove(name: string): Promise<JsonObject> {
      await removeHomePack(name, home, session, deps.vault);
      return { pack: name };
    },
    review: async (name: string): Promise<ReviewShown> => showReview(name, await settle(name, {})),
    async decide(name: string, body: JsonObject): Promise<ReviewShown> {
      const id = textOf(body, "id", 100);
      const reason = textOf(body, "reason");
      const verdict = body["verdict"] === "rejected" ? "rejected" : "accepted";
      return showReview(name, await settle(name, { ids: [id], verdict, reason, finish: body["finish"] === true }));
    },
  };
}
