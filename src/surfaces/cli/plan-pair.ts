import type { ActionView } from "../agent/answers.ts";

/** An action that is carried out by a plan, and the one that previews it. */
export interface PlanPair {
  readonly preview: ActionView;
  readonly executes: ActionView;
}

/** The pair that an action is one of; null where it is of none, or previews several. */
export function planPairOf(action: ActionView, all: readonly ActionView[]): PlanPair | null {
  const preview = all.find((one) => isPreviewOf(one, action));
  if (preview !== undefined) return { preview, executes: action };
  const [executes, ...more] = previewedBy(action, all);
  return executes === undefined || more.length > 0 ? null : { preview: action, executes };
}

export function previewedBy(preview: ActionView, all: readonly ActionView[]): readonly ActionView[] {
  return all.filter((one) => isPreviewOf(preview, one));
}

function isPreviewOf(preview: ActionView, { pack, needs: { plan } }: ActionView): boolean {
  return typeof plan === "string" && preview.action === `${pack}.${plan}`;
}
