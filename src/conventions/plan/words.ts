import { showIdentifier } from "../../kernel/display.ts";

/** Why a plan no longer stands, one reason each, for whoever has to make a new one. Names of resources are a provider's. */
export function sayChanged(changed: readonly string[]): readonly string[] {
  return changed.length === 0 ? ["what it was made from has changed"] : changed.map(sayOne);
}

function sayOne(name: string): string {
  switch (name) {
    case "expires_at":
      return "its time has run out";
    case "request_digest":
      return "the pack that would carry it out was changed since";
    case "expected_revision":
      return "the revision given is not the one that was previewed, or is no longer current";
    case "effects":
      return "its effects cannot be shown to be the same";
    case "plan":
      return "it was refused before, and a plan is used once";
    default:
      return `${showIdentifier(name)} has changed since the preview`;
  }
}
