import { defaults } from "../../../../src/kernel/defaults.ts";
import type { Core } from "../core.ts";
import { exchangeFaults, laterFaults } from "../faults.ts";
import { CONTROL_SCOPE, type MakeRoute, type ReferenceRoute } from "../route.ts";

const faultNames = [...exchangeFaults, ...laterFaults] as const;
const armed = { 200: { description: "The faults that are armed" } };

/** Present only when the provider was started with faults on request. */
export function controlRoutes(core: Core, route: MakeRoute): readonly ReferenceRoute[] {
  if (!core.faults.enabled) return [];
  const list = () => ({ status: 200, body: { armed: core.faults.list() } });
  return [
    route(
      {
        method: "POST",
        path: "/control/faults",
        body: {
          kind: "json",
          schema: {
            type: "object",
            required: ["fault"],
            properties: {
              fault: { enum: faultNames },
              endpoint: { type: "string", minLength: 1, maxLength: 128 },
              times: { type: "integer", minimum: 1, maximum: 1_000 },
              delay_ms: { type: "integer", minimum: 0, maximum: 60_000 },
              retry_after_s: { type: "integer", minimum: 0, maximum: 3_600 },
            },
          },
        },
        recorded: ["/body/fault", "/body/endpoint"],
      },
      { summary: "Make the next requests go wrong", answers: armed, scope: CONTROL_SCOPE },
      ({ command: { body } }) => {
        core.faults.arm({
          fault: body.fault,
          endpoint: body.endpoint ?? null,
          times: body.times ?? 1,
          delay_ms: body.delay_ms ?? defaults.referenceLateMs,
          retry_after_s: body.retry_after_s ?? null,
        });
        return list();
      },
    ),
    route(
      { method: "GET", path: "/control/faults", body: { kind: "none" } },
      { summary: "Which faults are armed", answers: armed, scope: CONTROL_SCOPE },
      list,
    ),
    route(
      { method: "DELETE", path: "/control/faults", body: { kind: "none" } },
      { summary: "Disarm all faults", answers: armed, scope: CONTROL_SCOPE },
      () => {
        core.faults.clear();
        return list();
      },
    ),
  ];
}
