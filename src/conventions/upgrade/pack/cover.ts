import type { HttpAction, Pack } from "../../action/pack.ts";
import type { Draft } from "../compare/difference.ts";
import type { Api } from "../model/api.ts";
import { routeOf } from "../model/read-operation.ts";
import { basePathOf, originOf } from "../model/read-servers.ts";

/** Which actions of the packs the two documents speak about. Plain data: it comes out of the review's thread. */
export interface Coverage {
  readonly foundBefore: number;
  /** Actions of the new pack that the new document does not have. */
  readonly missing: readonly string[];
  /** The pack's origin, when the new document names servers and it is none of them. */
  readonly foreignOrigin: string | null;
}

export function coverPacks(before: Pack | null, after: Pack, old: Api, next: Api): Coverage {
  const origins = [...new Set(next.servers.map(originOf))].filter((origin) => origin !== "");
  const origin = after.provider?.origin ?? null;
  return {
    foundBefore: before === null ? 0 : httpActions(before).length - missingFrom(before, old).length,
    missing: missingFrom(after, next),
    foreignOrigin: origin !== null && origins.length > 0 && !origins.includes(origin) ? origin : null,
  };
}

/** What a document leaves out is decided like what it says. */
export function describeCoverage({ missing, foreignOrigin }: Coverage): readonly Draft[] {
  const undocumented = missing.map(
    (name): Draft => ({
      ...{ surface: "action_reach", kind: "action_undocumented", change: "widens", subject: `action ${name}`, at: "" },
      ...{
        says: "The new document has no such operation, so that nothing was reviewed for it.",
        before: null,
        after: name,
      },
    }),
  );
  if (foreignOrigin === null) return undocumented;
  return [
    ...undocumented,
    {
      ...{
        surface: "credential_acceptance",
        kind: "origin_undocumented",
        change: "widens",
        subject: "API",
        at: "servers",
      },
      ...{
        says: "The pack sends to an origin that the new document does not name.",
        before: null,
        after: foreignOrigin,
      },
    },
  ];
}

export function httpActions(pack: Pack): readonly HttpAction[] {
  return [...pack.actions.values()].filter((action) => action.kind === "http");
}

/** Whole paths, version and all: `/v1/x` is not an operation of a document that has `/v2/x`. */
function missingFrom(pack: Pack, api: Api): readonly string[] {
  const bases = ["", ...new Set(api.servers.map(basePathOf))];
  const known = new Set(
    api.operations.flatMap(({ method, path }) => bases.map((base) => routeOf(method, base + path))),
  );
  return httpActions(pack)
    .filter(({ method, template }) => !known.has(routeOf(method, template.text)))
    .map(({ qualifiedName }) => qualifiedName)
    .sort();
}
