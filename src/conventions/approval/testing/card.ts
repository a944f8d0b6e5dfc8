import type { Card, CardCall } from "../card.ts";

/** A card as the gateway makes it, for tests of what shows, signs and queues cards. */
export const call: CardCall = {
  call_id: "call_1",
  action: "acme.a",
  effect: "write",
  channel: "http",
  method: "POST",
  target: "https://api.acme.example/v1/a",
  credential: "acme",
  arguments: { name: "x" },
  request_digest: "sha256:11",
  maximum_cents: 0,
  because: ["its definition asks on every use"],
};

export function cardOf(id: string, change: Partial<Card> = {}): Card {
  return {
    format: "gw.card/v1",
    approval_id: id,
    asks: "session_and_call",
    created_at: "2026-01-01T00:00:00.000Z",
    expires_at: "2026-01-01T00:05:00.000Z",
    authority: "Unsigned: nobody vouches for this image",
    mode: "guard-rail",
    caller: { process: { pid: 7, uid: 1000 }, path_observed: "/tmp/agent", cdhash: "sha256:00", validity: "unsigned" },
    context: { ancestors: [], unowned_mappings: [], namespaces: "own", binding: "process", interpreter: null },
    run: {
      run_id: "run_1",
      purpose_claimed: "tidy up",
      budget: { attempts: 40, side_effects: 5, duration_seconds: 600, spend_cents: 0 },
      deadline_at: "2026-01-01T00:10:00.000Z",
    },
    scope: {
      actions: ["acme.a", "acme.b"],
      hosts: ["https://api.acme.example"],
      credentials: ["acme"],
      methods: ["POST"],
      ssh_destinations: [],
      paths: ["POST /v1/a"],
      request_bytes: 1000,
    },
    call,
    notes: [],
    if_unanswered: "nothing is sent",
    ...change,
  };
}
