import { digestJson } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { CredentialReach } from "../meaning/credential-reach.ts";
import { type EffectVerdict, harmless } from "../meaning/effect.ts";
import type { Flow } from "../meaning/trace-flows.ts";

/** The four surfaces on which every upgrade is reviewed. */
export const surfaces = ["action_reach", "resource_reach", "credential_acceptance", "request_compatibility"] as const;
export type Surface = (typeof surfaces)[number];

export const surfaceTitles: Readonly<Record<Surface, string>> = {
  action_reach: "Action reach",
  resource_reach: "Resource reach",
  credential_acceptance: "Credential acceptance",
  request_compatibility: "Request compatibility",
};

/** Widens: more becomes possible. Narrows: something stops working. Shifts: the meaning moved, and a person must say how. */
export const changes = ["widens", "shifts", "narrows"] as const;
export type Change = (typeof changes)[number];

export interface Difference {
  /** Stable: the same change of the same thing has the same id in every later run. */
  readonly id: string;
  /** Differences that say the same about many things share a group, so that one sentence can decide them. */
  readonly group: string;
  readonly surface: Surface;
  readonly kind: string;
  readonly change: Change;
  /** An operation, `schema NAME`, `scheme NAME`, or `API`. */
  readonly subject: string;
  readonly at: string;
  readonly says: string;
  readonly before: string | null;
  readonly after: string | null;
  /** A digest of all that comes with `after` and is too long to show: decided on this content, not on its name. */
  readonly binding: string | null;
  readonly notes: readonly string[];
  readonly operations: readonly string[];
  /** Actions of the pack that this touches. */
  readonly scopes: readonly string[];
  readonly lines: { readonly before: number | null; readonly after: number | null };
  readonly effect: EffectVerdict | null;
  readonly credential: CredentialReach | null;
  readonly flows: readonly Flow[];
}

export type Draft = Pick<Difference, "surface" | "kind" | "change" | "subject" | "at" | "says" | "before" | "after"> &
  Partial<Pick<Difference, "binding" | "notes" | "operations" | "lines" | "effect" | "credential" | "flows">> & {
    /** What the group's members have in common; without it, the words of the change. */
    readonly together?: string;
  };

export interface Recorder {
  add(draft: Draft): void;
  readonly drafts: readonly Draft[];
}

export function createRecorder(limit: number = defaults.upgradeDifferences): Recorder {
  const drafts: Draft[] = [];
  return {
    drafts,
    add(draft) {
      if (drafts.length >= limit) {
        throw new Denied(
          "document_too_large",
          `The two documents differ in more than ${limit} places: they are not two versions of one API.`,
        );
      }
      drafts.push(draft);
    },
  };
}

/** The id covers what changed and into what, and nothing that moves when other parts of the document do. */
export function differenceId(draft: Pick<Draft, "kind" | "subject" | "at" | "before" | "after" | "binding">): string {
  const { kind, subject, at, before, after, binding } = draft;
  const into = binding === undefined || binding === null ? { after } : { binding };
  return `d-${digestJson({ kind, subject, at, before, ...into }).slice(7, 23)}`;
}

/** A draft that is about no operation of a document: a term of a pack, what a probe saw. */
export function asDifference({ together, ...fields }: Draft): Difference {
  return {
    ...fields,
    id: differenceId(fields),
    group: groupId(together === undefined ? fields : { ...fields, together }),
    binding: fields.binding ?? null,
    notes: fields.notes ?? [],
    operations: fields.operations ?? [],
    scopes: [],
    lines: fields.lines ?? { before: null, after: null },
    effect: fields.effect ?? null,
    credential: fields.credential ?? null,
    flows: fields.flows ?? [],
  };
}

export function groupId(draft: Draft): string {
  const together = draft.together ?? `${draft.before ?? ""} -> ${draft.after ?? ""}`;
  return `g-${digestJson({ kind: draft.kind, surface: draft.surface, together }).slice(7, 17)}`;
}

/** What an operation can newly do is action reach when it acts and resource reach when it only looks. */
export function reachOf(effect: EffectVerdict["effect"]): Surface {
  return harmless(effect) ? "resource_reach" : "action_reach";
}
