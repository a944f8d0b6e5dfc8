import type { Digest } from "../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import type { About } from "../../request/src/openapi.ts";
import { type CommandOf, defineRoute, type RouteDeclaration, type SemanticCheck } from "../../request/src/route.ts";
import { type Answer, type BoundRoute, bindRoute } from "../../request/src/serve.ts";
import type { Who } from "./context.ts";
import type { Core } from "./core.ts";
import { exchangeFaults } from "./faults.ts";
import type { InFlight } from "./idempotency.ts";
import { sufferFault } from "./suffer.ts";

/** One route: what it accepts, what the document says, and what it does. */
export interface ReferenceRoute {
  readonly declaration: RouteDeclaration;
  readonly about: About;
  readonly bound: BoundRoute<Who>;
}

export interface Handled<C> {
  readonly command: C;
  readonly digest: Digest;
  readonly who: Who;
}

export type MakeRoute = <const Declaration extends RouteDeclaration>(
  declaration: Declaration,
  about: Omit<About, "scopes"> & { readonly scope: string | null },
  handle: (request: Handled<CommandOf<Declaration>>) => Answer | Promise<Answer>,
  semantic?: SemanticCheck<CommandOf<Declaration>>,
) => ReferenceRoute;

export const CONTROL_SCOPE = "control";

/** Scope is checked after the request became a command; whose resource it is, inside the transaction that acts on it. */
export function createRouteMaker(core: Core, inFlight: InFlight): MakeRoute {
  return (declaration, about, handle, semantic) => {
    const { scope, ...rest } = about;
    const route = defineRoute(declaration, semantic);
    const { endpoint } = route;
    const bound = bindRoute<CommandOf<typeof declaration>, Who>(route, {
      authorize: (_request, who) => {
        who.checkBody();
        return requireScope(who, scope);
      },
      execute: ({ command, digest }, who) =>
        inFlight.during(who, endpoint, digest, async () => {
          const work = () => handle({ command, digest, who });
          // The control route itself always works, or nobody could disarm anything.
          const fault = scope === CONTROL_SCOPE ? undefined : core.faults.take(exchangeFaults, endpoint);
          return fault === undefined ? work() : sufferFault(fault, who, core.sleep, work);
        }),
    });
    return { declaration, about: { ...rest, ...(scope === null ? {} : { scopes: [scope] }) }, bound };
  };
}

export function requireScope(who: Who, scope: string | null): string {
  if (scope === null) return "public";
  if (who.scopes.has(scope)) return `scope ${scope}`;
  who.reply["www-authenticate"] = `Bearer realm="reference", error="insufficient_scope", scope="${scope}"`;
  throw new Denied("insufficient_scope", `this operation needs the scope ${scope}`, {
    extra: { error: "insufficient_scope", required_scope: scope },
  });
}
