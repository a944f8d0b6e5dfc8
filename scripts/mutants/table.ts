import { attacks } from "./attacks.ts";
import { floods } from "./floods.ts";
import type { Mutant } from "./mutant.ts";
import { supplyChain } from "./supply-chain.ts";

const owners: readonly Mutant[] = [
  {
    rule: "owner check: a run is found by those who belong to it alone",
    file: "src/gateway/run/book.ts",
    text: "return run.ownerKey === callerKey || run.sessions.has(callerKey) || run.admission?.callerKey === callerKey;",
    becomes: "return run.ownerKey !== callerKey || run.sessions.has(callerKey) || true;",
    tests: ["test/gateway-pipeline.test.ts"],
  },
  {
    rule: "owner check: an operation is found by its party alone",
    file: "src/gateway/run/find.ts",
    text: "if (operation.party === partyIn(core, caller, operation.purse.id)) return operation;",
    becomes: "if (operation.party !== partyIn(core, caller, operation.purse.id) || true) return operation;",
    tests: ["test/gateway-operations.test.ts"],
  },
  {
    rule: "owner check: a plan is found by its caller alone",
    file: "src/gateway/plan/shelf.ts",
    text: "if (plan === undefined || !mayUse(plan)) {",
    becomes: "if (plan === undefined) {",
    tests: ["test/gateway-plans.test.ts"],
  },
  {
    rule: "owner check: another caller's plan does not exist",
    file: "src/conventions/plan/lifecycle.ts",
    text: 'if (plan.caller !== facts.caller) return { kind: "not_found" };',
    becomes: "",
    tests: ["src/conventions/plan/plan.test.ts", "packages/reference/test/rollback.test.ts"],
  },
  {
    rule: "owner check: a list goes on for the caller that got its handle",
    file: "src/gateway/discovery/start.ts",
    text: "const asked = { ...handleFor(definition, input), runId: run.id, callerKey: caller.key };",
    becomes: 'const asked = { ...handleFor(definition, input), runId: run.id, callerKey: "anybody" };',
    tests: ["test/gateway-discovery.test.ts"],
  },
];

const redirects: readonly Mutant[] = [
  {
    rule: "authorization of a redirect: it rests on the card that was signed for it",
    file: "src/gateway/attempt/redirect.ts",
    text: "    authorization,\n    credential,",
    becomes: "    credential,",
    tests: ["test/gateway-redirects.test.ts"],
  },
  {
    rule: "authorization of a redirect: without a yes it is not sent on",
    file: "src/gateway/attempt/redirect.ts",
    text: "authorization = because === null ? sending.authorization : await ask(core, sending, target, because);",
    becomes:
      "authorization = because === null ? sending.authorization : ((await ask(core, sending, target, because)) ?? sending.authorization);",
    tests: ["test/gateway-redirects.test.ts"],
  },
  {
    rule: "authorization of a redirect: a side effect is not sent on by itself",
    file: "src/conventions/url/redirect.ts",
    text: 'if (rules.sideEffect) return "side_effect";',
    becomes: "",
    tests: ["src/conventions/url/redirect.test.ts"],
  },
  {
    rule: "authorization of a redirect: the ticket is held against the new place",
    file: "src/gateway/attempt/attempt.ts",
    text: "return sending.custody === undefined ? requireTicketStill(core, sending) : null;",
    becomes: "return null;",
    tests: ["test/gateway-redirects.test.ts"],
  },
  {
    rule: "303: the answer is fetched with GET, without the body",
    file: "src/conventions/url/redirect.ts",
    text: 'if (status === 303) return { method: method === "HEAD" ? "HEAD" : "GET", body: "drop" };',
    becomes: 'if (status === 303) return { method, body: "keep" };',
    tests: ["src/conventions/url/redirect.test.ts"],
  },
  {
    rule: "303: what is fetched there is no receipt of the write",
    file: "src/gateway/attempt/claim.ts",
    text: "return before && describeSend(request).method !== outbound.method;",
    becomes: "return false && request.method !== outbound.method;",
    tests: ["test/gateway-redirects.test.ts"],
  },
];

const reservations: readonly Mutant[] = [
  {
    rule: "an intent that was not written gives its reservation back",
    file: "src/gateway/attempt/attempt.ts",
    text: "    giveBack(core, sending, reservation);\n    if (claim",
    becomes: "    if (claim",
    tests: ["test/gateway-spend.test.ts", "test/gateway-unknown.test.ts"],
  },
  {
    rule: "the reserve of an unknown outcome is held",
    file: "src/gateway/attempt/attempt.ts",
    text: '    case "unknown":\n      return null;\n    case "redirect":',
    becomes: '    case "unknown":\n      return { kind: "released" };\n    case "redirect":',
    tests: ["test/gateway-unknown.test.ts"],
  },
  {
    rule: "custody allowance: after its session the gateway reads a bounded number of times",
    file: "src/gateway/operation/read-operation.ts",
    text: "const reads = defaults.custodianReads + beside;",
    becomes: "const reads = 1_000_000 + beside;",
    tests: ["test/gateway-operations.test.ts", "test/gateway-callbacks.test.ts"],
  },
  {
    rule: "custody allowance: the gateway's own reads change nothing",
    file: "src/gateway/operation/operation.ts",
    text: "    sideEffects: 0,\n",
    becomes: "    sideEffects: 1,\n",
    tests: ["test/gateway-operations.test.ts"],
  },
  {
    rule: "custody allowance: a credential that asks on every use asks for the gateway's own reads",
    file: "src/gateway/operation/observe.ts",
    text: "if (!standing && asked === null && asksEachUse(core, operation) && holdsBack()) return;",
    becomes: "void holdsBack;",
    tests: ["test/gateway-custody.test.ts"],
  },
];

const records: readonly Mutant[] = [
  {
    rule: "sessions: an ended one is never revived",
    file: "src/conventions/caller/session.ts",
    text: '{ from: "approved", trigger: "same_process_continues", to: "approved" },',
    becomes:
      '{ from: "approved", trigger: "same_process_continues", to: "approved" }, { from: "ended", trigger: "same_process_continues", to: "approved" },',
    tests: ["test/gateway-pipeline.test.ts"],
  },
  {
    rule: "evidence order: the caller's evidence stands before its session",
    file: "src/gateway/run/sessions.ts",
    text: "const events = sessionEvents(core, run, session);",
    becomes: "const events = sessionEvents(core, run, session).reverse();",
    tests: ["test/gateway-record.test.ts"],
  },
  {
    rule: "evidence order: evidence counts for its own session",
    file: "src/audit/journals/sessions.ts",
    text: "run.sessions.set(event.session_id, sessionOf(run, event, evidence.get(event.session_id), frame));",
    becomes: "run.sessions.set(event.session_id, sessionOf(run, event, [...evidence.values()][0], frame));",
    tests: ["test/gateway-record.test.ts", "test/audit-journals.test.ts"],
  },
  {
    rule: "version selector: it is sent with every request of the pack",
    file: "src/conventions/action/bind.ts",
    text: "headers[version.header.toLowerCase()] = version.value;",
    becomes: 'headers[version.header.toLowerCase()] = "";',
    tests: ["src/conventions/action/bind.test.ts", "test/gateway-record.test.ts"],
  },
  {
    rule: "version selector: every attempt says which one it was made under",
    file: "src/gateway/record/record.ts",
    text: "version_selector: outbound.versionSelector,",
    becomes: "version_selector: null,",
    tests: ["test/gateway-record.test.ts"],
  },
  {
    rule: "version selector: the journal shows it",
    file: "src/audit/journals/open-call.ts",
    text: "entry.version_selector = request.version_selector;",
    becomes: "",
    tests: ["test/audit-journals.test.ts", "src/audit/journals/activity.test.ts", "test/gateway-record.test.ts"],
  },
  {
    rule: "provider request id: it is read from the answer",
    file: "src/adapters/transport/http/response-headers.ts",
    text: 'if (value !== undefined && value !== "" && value.length <= REQUEST_ID_CHARS) return value;',
    becomes: "void value;",
    tests: ["test/gateway-record.test.ts"],
  },
  {
    rule: "provider request id: every answered attempt keeps it in the log",
    file: "src/gateway/attempt/events.ts",
    text: "provider_request_id: answered?.remoteRequestId ?? undefined,",
    becomes: "",
    tests: ["test/gateway-record.test.ts"],
  },
  {
    rule: "provider request id: the reservation names it as the provider's reference",
    file: "src/audit/read/expand.ts",
    text: "...reservationOf(record, provider_request_id),",
    becomes: "...reservationOf(record, null),",
    tests: ["test/gateway-spend.test.ts", "test/gateway-record.test.ts"],
  },
  {
    rule: "provider request id: the journal shows it",
    file: "src/audit/journals/activity.ts",
    text: "entry.provider_request_id = end.provider_request_id;",
    becomes: "",
    tests: ["test/audit-journals.test.ts", "src/audit/journals/activity.test.ts", "test/gateway-record.test.ts"],
  },
];

const claims: readonly Mutant[] = [
  {
    rule: "unknown: the same call is answered with what is open, and not sent",
    file: "src/gateway/attempt/claim.ts",
    text: "if (blocking !== undefined) throw unsettled(core, blocking);",
    becomes: "void blocking;",
    tests: ["test/gateway-claims.test.ts"],
  },
  {
    rule: "unknown: what was sent and could not be written down is not refused",
    file: "src/gateway/attempt/attempt.ts",
    text: "    if (claim !== null) claim.doubt = true;\n    throw error;",
    becomes: "    throw error;",
    tests: ["test/gateway-claims.test.ts"],
  },
  {
    rule: "unknown: what was on its way when we stopped holds its claim after a start",
    file: "src/gateway/operation/recover-claims.ts",
    text: "const open = own(row) ? kept.map((holder) => (holder.under_way ? linked(holder) : holder)) : kept;",
    becomes: "const open = own(row) ? kept.filter(({ under_way }) => !under_way) : kept.map(linked);",
    tests: ["test/gateway-claims.test.ts", "test/gateway-redirects.test.ts"],
  },
  {
    rule: "unknown: what a 0.1 home left open is not sent again either",
    file: "src/gateway/recover.ts",
    text: "rows.push(...claimOld(core, store, operations, rows));",
    becomes: "void claimOld;",
    tests: ["test/gateway-claims.test.ts"],
  },
  {
    rule: "unknown: a plan that may have been carried out is repeated under its token and by its own name alone",
    file: "src/gateway/operation/token-retry.ts",
    text: "if (plan === null) return bindDefinition(definition, input);",
    becomes: "if (plan === null || true) return bindDefinition(definition, input);",
    tests: ["test/fault-matrix.test.ts"],
  },
];

export const mutants: readonly Mutant[] = [
  ...owners,
  ...redirects,
  ...reservations,
  ...records,
  ...claims,
  ...attacks,
  ...floods,
  ...supplyChain,
];
