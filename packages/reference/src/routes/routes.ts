import type { JsonObject } from "../../../../src/kernel/json.ts";
import { writeOpenApi } from "../../../request/src/openapi.ts";
import type { Core } from "../core.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";
import type { Version } from "../version.ts";
import { artifactRoutes } from "./artifacts.ts";
import { controlRoutes } from "./control.ts";
import { environmentRoutes } from "./environments.ts";
import { listRoutes } from "./lists.ts";
import { membershipRoutes } from "./memberships.ts";
import { operationRoutes } from "./operations.ts";
import { projectRoutes } from "./projects.ts";
import { reportRoutes } from "./reports.ts";
import { sessionRoutes } from "./sessions.ts";

export const DOCUMENT_PATH = "/openapi.json";

/** Everything that one version answers. The document is written from the very declarations that the routes run on. */
export function referenceRoutes(core: Core, route: MakeRoute, version: Version): readonly ReferenceRoute[] {
  const routes = [
    ...listRoutes(core, route, version),
    ...projectRoutes(core, route, version),
    ...membershipRoutes(core, route, version),
    ...environmentRoutes(core, route),
    ...operationRoutes(core, route, version),
    ...reportRoutes(core, route),
    ...artifactRoutes(core),
    ...sessionRoutes(core, route),
    ...controlRoutes(core, route),
  ];
  let written: JsonObject | undefined;
  const document = route(
    { method: "GET", path: DOCUMENT_PATH, body: { kind: "none" } },
    { summary: "This document", answers: { 200: { description: "OpenAPI 3.1" } }, scope: null },
    () => {
      written ??= writeOpenApi("gw reference provider", version, [...routes, document]);
      return { status: 200, body: written };
    },
  );
  return [...routes, document];
}
