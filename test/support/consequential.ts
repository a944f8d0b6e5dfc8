import type { ServerResponse } from "node:http";
import type { Received } from "./provider.ts";

/** A pack with every consequential convention in it, for the scripted provider of these tests. */
export function consequentialPack(origin: string): string {
  return `
format: gw.pack/v1
pack: acme
provider:
  origin: ${origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
  correlation_header: X-Correlation-ID
  idempotency: { header: Idempotency-Key, window_s: 86400 }
  limits: { timeout_s: 2 }
actions:
  membership.plan:
    effect: preview
    request: { method: POST, path: "/v1/projects/{project_id}/memberships/plan", body: application/json }
    input:
      project_id: { in: path, type: string, maxLength: 64 }
      subject_id: { in: body, type: string, maxLength: 64 }
      role: { in: body, enum: [viewer, editor, owner] }
      if_match: { in: body, type: string, maxLength: 64 }
  membership.apply:
    effect: write
    retry: idempotent_write
    needs: { plan: membership.plan, approval: each_use }
    request: { method: POST, path: /memberships, body: application/json }
    plan: { id: { in: body, as: plan_id }, revision: { in: body, as: expected_revision } }
    confirm: membership.get
  membership.get:
    effect: read
    request: { method: GET, path: "/v1/projects/{project_id}/memberships/{subject_id}" }
    input:
      project_id: { in: path, type: string, maxLength: 64 }
      subject_id: { in: path, type: string, maxLength: 64 }
  thing.change:
    effect: write
    retry: idempotent_write
    request: { method: POST, path: "/v1/things/{id}", body: application/json }
    input:
      id: { in: path, type: string, maxLength: 64 }
      name: { in: body, type: string, maxLength: 64 }
    confirm: thing.get
    unknown: { retry_allowed: true, reconcile: thing.get }
  thing.post:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: /v1/posts, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
  report.create:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/reports, body: application/json }
    input:
      account: { in: body, type: string, maxLength: 64 }
    job:
      id: job_id
      status: report.status
      cancel: report.cancel
      result: report.result
      succeeded: [succeeded]
      failed: [failed]
      cancelled: [cancelled]
      resume: report.resume
      create_deadline_s: 30
      result_deadline_s: 120
      poll: { first_s: 2, cap_s: 16, max_checks: 12 }
    unknown: { retry_allowed: true, reconcile: report.by_reference }
  report.status:
    effect: read
    request: { method: GET, path: "/v1/jobs/{job_id}" }
    input: { job_id: { in: path, type: string, maxLength: 128 } }
  report.result:
    effect: read
    request: { method: GET, path: "/v1/jobs/{job_id}/result" }
    input: { job_id: { in: path, type: string, maxLength: 128 } }
  report.cancel:
    effect: write
    request: { method: DELETE, path: "/jobs/{job_id}" }
    input: { job_id: { in: path, type: string, maxLength: 128 } }
  report.resume:
    effect: write
    retry: idempotent_write
    request: { method: POST, path: "/v1/jobs/{job_id}/resume" }
    input: { job_id: { in: path, type: string, maxLength: 128 } }
  report.by_reference:
    effect: read
    request: { method: GET, path: "/operations/by-id/{client_operation_id}" }
    input: { client_operation_id: { in: path, type: string, maxLength: 128 } }
  deployment.promote:
    effect: write
    retry: idempotent_write
    request: { method: POST, path: /v1/deployments/promote, body: application/json }
    input:
      environment: { in: body, enum: [staging, production] }
      release: { in: body, type: string, maxLength: 128 }
  deployment.rollback:
    effect: write
    retry: idempotent_write
    rollback: { of: deployment.promote }
`;
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

export function bodyOf(request: Received): Record<string, unknown> {
  return JSON.parse(request.body) as Record<string, unknown>;
}

/** A preview as the specification shapes it. */
export function previewBody(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    mode: "preview",
    executable: true,
    validation: [
      {
        severity: "warning",
        code: "member_count_change",
        path: "/subject_id",
        message: "one more",
        blocks_execution: false,
        repair: null,
      },
    ],
    plan_id: "pln-remote-1",
    expires_at: null,
    request_digest: "sha256:ab",
    read_revisions: [{ resource: "projects/p1", revision: "r7" }],
    effects: [
      {
        relation: "direct",
        total: 1,
        sample: [
          {
            resource: "projects/p1/memberships/u1",
            revision: "r3",
            previous: { role: "viewer" },
            proposed: { role: "editor" },
            cause: "request",
          },
        ],
        next_cursor: null,
      },
      {
        relation: "derived",
        total: 40,
        sample: [
          {
            resource: "projects/p1/access/u9",
            revision: null,
            previous: null,
            proposed: { role: "editor" },
            cause: "member of u1",
          },
        ],
        next_cursor: "c2",
      },
    ],
    assumptions: [],
    ...change,
  };
}
