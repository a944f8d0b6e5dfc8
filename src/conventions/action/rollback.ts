import type { InputField } from "./pack.ts";

/** Where a rollback goes unless the pack names another request. */
export const ROLLBACK_PATH = "/v1/environments/{environment}/rollbacks";

/** What the gateway takes from the stored provenance and the live target, never from the agent. */
export interface RollbackFill {
  readonly environment: string;
  readonly expectedCurrentReleaseId: string;
  readonly expectedTargetGeneration: number | string;
  readonly restoreReleaseId: string;
  readonly approvalId: string;
}

export const ROLLBACK_BODY: readonly (readonly [wireName: string, member: keyof RollbackFill])[] = [
  ["expected_current_release_id", "expectedCurrentReleaseId"],
  ["expected_target_generation", "expectedTargetGeneration"],
  ["restore_release_id", "restoreReleaseId"],
  ["approval_id", "approvalId"],
];

/** All that an agent says: which of its deployments, and why. */
export const ROLLBACK_INPUTS: readonly InputField[] = [
  bodyText("origin_deployment_id", 128, "The deployment to undo."),
  bodyText("reason", 1000, "Why, in words for a person."),
];

function bodyText(name: string, maxLength: number, description: string): InputField {
  return {
    name,
    place: "body",
    wireName: name,
    optional: false,
    constant: undefined,
    percent: "refuse",
    list: null,
    opaque: false,
    sensitive: false,
    part: "field",
    filename: name,
    mediaType: "text/plain",
    schema: { type: "string", minLength: 1, maxLength, description },
  };
}
