import { withDocument } from "../plane/document.ts";
import type { PlaneRoute } from "../plane/route.ts";
import { approvalRoutes } from "./approval-routes.ts";
import type { OperatorContext } from "./context.ts";
import { credentialRoutes } from "./credential-routes.ts";
import { doorRoutes } from "./door-routes.ts";
import { homeRoutes } from "./home-routes.ts";
import { logRoutes } from "./log-routes.ts";
import type { Logins } from "./logins.ts";
import { createOperationRecords } from "./operation-records.ts";
import { operationRoutes } from "./operation-routes.ts";
import { open } from "./permit.ts";
import { sessionRoutes } from "./session-routes.ts";
import { sshRoutes } from "./ssh-routes.ts";
import type { Steward } from "./steward.ts";
import { ticketRoutes } from "./ticket-routes.ts";
import { upgradeRoutes } from "./upgrade-routes.ts";

/**
 * The operator plane. A decision, a revocation and an attestation carry their own signature; everything else asks for a
 * login, but for the few open doors.
 */
export function operatorRoutes(
  steward: Steward,
  logins: Logins,
  version: string,
): readonly PlaneRoute<OperatorContext>[] {
  const { gateway, clock } = steward;
  const routes = [
    ...doorRoutes(steward, logins),
    ...approvalRoutes(steward),
    ...sessionRoutes(steward),
    ...ticketRoutes(gateway),
    ...operationRoutes(steward, createOperationRecords(gateway, clock)),
    ...logRoutes(steward),
    ...homeRoutes(steward),
    ...sshRoutes(steward),
    ...credentialRoutes(gateway),
    ...upgradeRoutes(steward),
  ];
  return withDocument("gw operator plane", version, routes, open);
}
