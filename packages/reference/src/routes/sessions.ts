import { type Core, nowIso } from "../core.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";

/** Ends the token that asks. Zero bytes in: there is nothing to say about which one. */
export function sessionRoutes(core: Core, route: MakeRoute): readonly ReferenceRoute[] {
  return [
    route(
      { method: "POST", path: "/v1/sessions/revoke", body: { kind: "none" } },
      {
        summary: "Revoke the token of this request",
        answers: { 200: { description: "Revoked" } },
        scope: "sessions:revoke",
      },
      ({ who }) => {
        const { store } = core;
        const revoked_at = nowIso(core);
        store.run(
          store.db
            .insertInto("revoked_tokens")
            .values({ token_id: who.tokenId, revoked_at })
            .onConflict((conflict) => conflict.doNothing()),
        );
        return { status: 200, body: { token_id: who.tokenId, revoked_at } };
      },
    ),
  ];
}
