import type { Posture } from "../../gateway/posture.ts";
import type { ModeFinder } from "./mode.ts";
import type { StewardState } from "./steward-parts.ts";
import { ceilingsIn, decisionsIn } from "./trust.ts";

/** The home is looked at, keys are read and signatures checked only for who asks, which an ordinary call does not. */
export function createPosture(modes: ModeFinder, state: StewardState): Posture {
  return {
    get mode() {
      return modes.mode();
    },
    mayDecide: modes.mayDecide,
    get ceilings() {
      return ceilingsIn(state.trust);
    },
    get decisions() {
      return decisionsIn(state.trust);
    },
  };
}
