import type { Callbacks } from "../../gateway/callback/receive.ts";
import { defaults } from "../../kernel/defaults.ts";
import { withDocument } from "../plane/document.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";

/** Whoever is at the other end: nobody in particular, until the signature says otherwise. */
export interface CallbackContext {
  readonly name: string;
  readonly peer: string;
  readonly rawHeaders: readonly string[];
  readonly correlationId: string;
}

const anybody = (): string => "the pack's signature, checked over the raw body";

/**
 * The callbacks plane: one route for providers. Its answers tell nothing: an unknown pack, a wrong signature and a locked
 * gateway are one refusal, and a callback that was taken is a 202 whatever came of it.
 */
export function callbackRoutes(callbacks: Callbacks): readonly PlaneRoute<CallbackContext>[] {
  const routes: PlaneRoute<CallbackContext>[] = [
    planeRoute(
      {
        method: "POST",
        path: "/callbacks/{pack}",
        params: { type: "object", required: ["pack"], properties: { pack: { type: "string", maxLength: 200 } } },
        body: { kind: "bytes", mediaType: "application/json", maxBytes: defaults.callbackBodyBytes },
      },
      {
        summary: "A provider tells that something about a job changed",
        answers: { 202: { description: "Verified and recorded; the state is read from the provider itself" } },
      },
      async ({ params }, { peer, rawHeaders, correlationId }, files) => {
        const body = files.get("body") ?? Buffer.alloc(0);
        await callbacks.receive({ pack: params.pack, peer, rawHeaders, body, correlationId });
        return { status: 202 };
      },
      anybody,
    ),
  ];
  // Strangers read its document: it says what the plane takes, and not which version of what is behind it.
  return withDocument("Callbacks", "1", routes, anybody);
}
