import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STATUS_ACTION } from "../../src/conventions/ssh/manifest.ts";
import type { SshTransport } from "../../src/gateway/ports.ts";

/** A host that outlives every life: it keeps a record of what it started, and answers for it. */
export function hostIn(folder: string): SshTransport {
  const recordOf = (id: string): string => join(folder, `host-${id}`);
  return {
    async send(_receipt, { action, fields, requestId }, _signer, { started }) {
      if (action === STATUS_ACTION) {
        const request_id = String(fields["of"]);
        const ended = { state: "finished", exit_status: 0, signal: null, timed_out: false };
        return answered({ request_id, ...(existsSync(recordOf(request_id)) ? ended : { state: "absent" }) });
      }
      writeFileSync(recordOf(requestId), "", { flag: "wx" });
      started?.();
      return answered({});
    },
  };
}

function answered(body: object): Awaited<ReturnType<SshTransport["send"]>> {
  return {
    ...{ kind: "answered", status: 0, headers: {}, body: Buffer.from(JSON.stringify(body)) },
    ...{ remoteRequestId: null, elapsedMs: 1, withheld: null },
  };
}
