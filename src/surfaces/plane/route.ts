import type { FileSink } from "../../../packages/request/src/multipart/part.ts";
import type { About } from "../../../packages/request/src/openapi.ts";
import type { KnownOfRequest, Principal, Steps } from "../../../packages/request/src/record.ts";
import { type CommandOf, defineRoute, type RouteDeclaration } from "../../../packages/request/src/route.ts";
import type { ValueSpelling } from "../../../packages/request/src/schema.ts";
import { type Answer, type BoundRoute, bindRoute } from "../../../packages/request/src/serve.ts";

/** One route of a plane: what it accepts, what it says, and what it does for whoever is behind the connection. */
export interface PlaneRoute<Context extends Principal> {
  readonly declaration: RouteDeclaration;
  readonly about: About;
  readonly bound: BoundRoute<Context>;
}

export function planeRoute<Context extends Principal, const Declaration extends RouteDeclaration>(
  declaration: Declaration,
  about: About,
  handle: (
    command: CommandOf<Declaration>,
    context: Context,
    /** The bytes of a body that is kept as it came, under `body`. */
    files: ReadonlyMap<string, Buffer>,
    known: KnownOfRequest,
    spelling: ValueSpelling,
  ) => Answer | Promise<Answer>,
  authorize: (context: Context) => string,
  /** Where a body is larger than anybody's may be: how large this sender's may. Denied where it may send none. */
  mostBytes?: (params: CommandOf<Declaration>["params"], context: Context) => number,
  openFile?: (context: Context) => FileSink,
  room?: Steps<CommandOf<Declaration>, Answer, Context>["room"],
): PlaneRoute<Context> {
  const route = defineRoute(declaration);
  const bound = bindRoute<CommandOf<Declaration>, Context>(route, {
    authorize: (_request, context) => authorize(context),
    execute: (request, context, known) => handle(request.command, context, request.files, known, request.spelling),
    ...(mostBytes === undefined ? {} : { mostBytes }),
    ...(openFile === undefined ? {} : { openFile }),
    ...(room === undefined ? {} : { room }),
  });
  return { declaration, about, bound };
}
