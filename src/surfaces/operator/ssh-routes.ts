import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import { Denied } from "../../kernel/failure.ts";
import { readSshPublicLine, writeSshPublicLine } from "../../kernel/ssh-key.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { hostCheckAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn } from "./permit.ts";
import type { Steward } from "./steward.ts";

/** Whether a host does no more than it should is for the gateway to find out: it alone has the key. */
export function sshRoutes(steward: Steward): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "POST", path: "/v1/ssh/check", body: { kind: "json", schema: checkSchema } },
      {
        summary: "Try what a host must refuse",
        answers: { 200: { description: "What each attempt showed", schema: hostCheckAnswer } },
      },
      async ({ body: { host, port, user, host_key, credential } }, context) => {
        const key = readSshPublicLine(host_key);
        if (key === undefined)
          throw new Denied("ssh_key_malformed", "host_key is not a line such as ssh-ed25519 AAAA….");
        const target = { host, port, user, hostKey: writeSshPublicLine(key), credential };
        const results = await steward.checkHost(target, context.login());
        return { status: 200, body: results.map(({ probe, verdict, detail }) => ({ probe, verdict, detail })) };
      },
      loggedIn,
    ),
  ];
}

const checkSchema = {
  type: "object",
  properties: {
    host: { type: "string", minLength: 1, maxLength: 253 },
    port: { type: "integer", minimum: 1, maximum: 65_535 },
    user: { type: "string", minLength: 1, maxLength: 64 },
    host_key: { type: "string", minLength: 1, maxLength: 2000 },
    credential: { type: "string", minLength: 1, maxLength: 200 },
  },
  required: ["host", "port", "user", "host_key", "credential"],
} as const satisfies JsonSchema;
