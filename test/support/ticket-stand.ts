/** What every test of tickets asks for: an action that needs one, by a gateway of the test's own or by the real program. */
const ROLE_APPLY = `  role.apply:
    effect: write
    needs: { ticket: true }
    request: { method: POST, path: "/v1/projects/{project_id}/roles", body: application/json }
    input:
      project_id: { in: path, type: string }
      role: { in: body, type: string }
`;

/** `acme.role.apply`, which may be sent again; `more` stands behind it: further inputs, then further actions. */
export function acmeTicketPack(origin: string, more = ""): string {
  return `format: gw.pack/v1
pack: acme
provider:
  origin: ${origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
  idempotency: { header: Idempotency-Key, window_s: 86400 }
actions:
${ROLE_APPLY.replace("effect: write", "effect: write\n    retry: idempotent_write")}${more}`;
}

/** `demo.role.apply`, for a home with the credential `demo-token`. */
export function demoTicketPack(origin: string): string {
  return `format: gw.pack/v1
pack: demo
provider: { origin: "${origin}", credential: demo-token, auth: { scheme: bearer }, network: private }
actions:
${ROLE_APPLY}`;
}
