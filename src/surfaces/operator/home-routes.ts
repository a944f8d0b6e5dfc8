import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import { defaults } from "../../kernel/defaults.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { homeAnswer, hostKeysAnswer, logBytesAnswer, logFilesAnswer, waitingKeyAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn, open } from "./permit.ts";
import type { Steward } from "./steward.ts";

/**
 * For operators of other users than the gateway's, who cannot read its home. What is read here is sealed or signed, as it
 * lies on the disk; what is taken carries the signature of the operator who is logged in, down to each pack's digest.
 */
export function homeRoutes({ custody, hostKeys, waitingKey }: Steward): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "GET", path: "/v1/home", body: { kind: "none" } },
      {
        summary: "The signed files of the home",
        answers: { 200: { description: "vault, policy and packs", schema: homeAnswer } },
      },
      () => ({ status: 200, body: custody.read() }),
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/home", body: { kind: "json", schema: changeSchema, maxBytes: CHANGE_BYTES } },
      { summary: "A change of them, signed by whoever is logged in", answers: { 204: { description: "In force" } } },
      async ({ body }, context) => {
        const packs = (body.packs ?? []).map(({ pack, bytes }) => ({ pack, bytes: Buffer.from(bytes, "base64") }));
        await custody.change({ vault: body.vault ?? null, policy: body.policy ?? null, packs }, context.login());
        return { status: 204 };
      },
      loggedIn,
      (_params, context) => {
        context.login();
        return CHANGE_BYTES;
      },
    ),
    planeRoute(
      { method: "POST", path: "/v1/home/keys", body: { kind: "none" } },
      {
        summary: "The public halves of this host's own keys, drawn when they are first asked for",
        answers: {
          200: { description: "identity_key signs on a hub, lending_key is sealed to", schema: hostKeysAnswer },
        },
      },
      async () => ({ status: 200, body: await hostKeys() }),
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/home/waiting-key", body: { kind: "none" } },
      {
        summary: "The public halves of what this gateway asks with on a hub while it is locked",
        answers: {
          200: {
            description: "signing_key signs that it waits, reading_key opens the way there",
            schema: waitingKeyAnswer,
          },
        },
      },
      async () => ({ status: 200, body: await waitingKey() }),
      loggedIn,
    ),
    planeRoute(
      { method: "GET", path: "/v1/log/files", body: { kind: "none" } },
      {
        summary: "The files of the sealed log",
        answers: { 200: { description: "name and size of each", schema: logFilesAnswer } },
      },
      () => ({ status: 200, body: custody.logFiles().map(({ name, size }) => ({ name, size })) }),
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/log/files/read", body: { kind: "json", schema: readSchema } },
      {
        summary: "Bytes of one of them",
        answers: { 200: { description: "base64 from there on, in parts", schema: logBytesAnswer } },
      },
      ({ body }) => ({ status: 200, body: { bytes: custody.readLog(body.name, body.from).toString("base64") } }),
      open,
    ),
  ];
}

const CHANGE_BYTES = 2 * (defaults.vaultFileBytes + defaults.policyFileBytes);

const changeSchema = {
  type: "object",
  properties: {
    vault: { type: "string", minLength: 1, maxLength: defaults.vaultFileBytes },
    policy: { type: "string", minLength: 1, maxLength: defaults.policyFileBytes },
    packs: {
      type: "array",
      maxItems: 64,
      items: {
        type: "object",
        properties: {
          pack: { type: "string", pattern: "^[a-z][a-z0-9-]{0,63}$" },
          bytes: { type: "string", maxLength: defaults.packBytes * 2 },
        },
        required: ["pack", "bytes"],
      },
    },
  },
  required: [],
} as const satisfies JsonSchema;

const readSchema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 200 },
    from: { type: "integer", minimum: 0 },
  },
  required: ["name", "from"],
} as const satisfies JsonSchema;
