import type { SessionRecord } from "../../../operator/answers.ts";

export function sessionOf(session_id: string): SessionRecord {
  return {
    session_id,
    run_id: "run_1",
    state: "approved",
    caller: {
      process: { pid: 7, start_time: "1", uid: 1000, pidfd_inode: null },
      path_observed: "/usr/bin/agent",
      signing_identifier: null,
      designated_requirement: null,
      cdhash: "sha256:00",
      validity: "unsigned",
    },
    scope_granted: {
      ...{ actions: ["acme.a"], hosts: [], credentials: [], methods: [], ssh_destinations: [], paths: [] },
      request_bytes: 0,
    },
    ...{ budget_granted: null, budget_used: null, deadline_at: null, purpose: null, command: null, parents: [] },
    approval_id: null,
    approved_by: "ada",
    approved_at: "2026-01-01T00:00:00.000Z",
    ended_at: null,
    end_reason: null,
  };
}
