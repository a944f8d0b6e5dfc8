import { writeOpenApi } from "../../../packages/request/src/openapi.ts";
import type { Principal } from "../../../packages/request/src/record.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { type PlaneRoute, planeRoute } from "./route.ts";

/** The routes of a plane, and one more that tells what they take. The document is written when it is first asked for. */
export function withDocument<Context extends Principal>(
  title: string,
  version: string,
  routes: readonly PlaneRoute<Context>[],
  authorize: (context: Context) => string,
): readonly PlaneRoute<Context>[] {
  let written: JsonObject | undefined;
  const document = (): JsonObject => {
    written ??= writeOpenApi(title, version, all);
    return written;
  };
  const all: PlaneRoute<Context>[] = [
    ...routes,
    planeRoute(
      { method: "GET", path: "/v1/openapi.json", body: { kind: "none" } },
      { summary: "This document", answers: { 200: { description: "OpenAPI 3.1" } } },
      () => ({ status: 200, body: document() }),
      authorize,
    ),
  ];
  return all;
}
