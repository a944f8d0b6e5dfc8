import { homedir } from "node:os";
import { join } from "node:path";

/** Where this user's programs remember what they saw of a vault, outside every home. */
export function stateFolder(): string {
  return join(process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"), "gw");
}
