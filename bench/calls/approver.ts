import { execFile } from "node:child_process";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { BenchHome } from "./home.ts";

const gw = join(import.meta.dirname, "../../bin/gw");
const run = promisify(execFile);
const LOOK_MS = 200;

/** Says yes to every question, as the operator with the real commands, until it is stopped. */
export function startApprover(
  { folder, passphraseFile }: BenchHome,
  someone: { readonly uid?: number; readonly gid?: number } = {},
): { stop(): Promise<void> } {
  const operator = ["--home", folder, "--passphrase-file", passphraseFile];
  // What it remembers of this home goes with the home.
  const options = { ...someone, env: { ...process.env, XDG_STATE_HOME: join(folder, "../state") } };
  let stopped = false;
  const working = (async () => {
    while (!stopped) {
      if ((await pending(join(folder, "operator.sock"))) > 0) {
        const { stdout } = await run(gw, ["approvals", "--json", ...operator], options);
        for (const { approval_id } of JSON.parse(stdout) as readonly { approval_id: string }[]) {
          await run(gw, ["approve", approval_id, ...operator], options);
        }
      }
      await pause(LOOK_MS);
    }
  })();
  // It is the load that fails where nobody answers; what went wrong here is said then.
  working.catch((error: unknown) => console.error("nobody approves any more:", error));
  return {
    async stop() {
      stopped = true;
      await working.catch(() => undefined);
    },
  };
}

function pending(socketPath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: "/v1/status" }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve((JSON.parse(text) as { approvals_pending: number }).approvals_pending));
    });
    asked.on("error", reject);
    asked.end();
  });
}
