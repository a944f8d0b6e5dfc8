import type { Change } from "./change-code.ts";

/** A change that no test can notice, since the program behaves the same with it, and why. */
export interface Explained {
  readonly file: string;
  /** The line as it stands in the source, or what tells it from the others. */
  readonly code: string;
  /** The change, as the list of survivors has it. */
  readonly says: string;
  readonly why: string;
}

export const explained: readonly Explained[] = [
  {
    file: "src/adapters/transport/http/address.ts",
    code: "if (held !== undefined) return held;",
    says: "held !== undefined → false",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/adapters/transport/http/address.ts",
    code: "if (known.size >= KNOWN_ADDRESSES) known.clear();",
    says: "known.size >= KNOWN_ADDRESSES → true",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/adapters/transport/http/address.ts",
    code: "if (known.size >= KNOWN_ADDRESSES) known.clear();",
    says: "known.size >= KNOWN_ADDRESSES → false",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/adapters/transport/http/address.ts",
    code: "if (known.size >= KNOWN_ADDRESSES) known.clear();",
    says: ">= → >",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/adapters/transport/http/address.ts",
    code: "if (known.size >= KNOWN_ADDRESSES) known.clear();",
    says: "known.clear(); → ;",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/adapters/transport/http/address.ts",
    code: "known.set(address, kind);",
    says: "known.set(address, kind); → ;",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/adapters/transport/http/address.ts",
    code: "const KNOWN_ADDRESSES = 4096;",
    says: "4096 → 4097",
    why: "what is not remembered is judged anew: only the time differs",
  },
  {
    file: "src/audit/verify/scan-threads.ts",
    code: "return startThreads(segments, total < WORTH_BYTES ? 1 : Math.min(availableParallelism(), segments.length));",
    says: "total < WORTH_BYTES → false",
    why: "the report is the same with threads and without, as audit-attack tests; only the time differs",
  },
  {
    file: "src/audit/verify/scan-worker.ts",
    code: "parentPort?.postMessage([index, scan], scan === null ? [] : [scan.bytes.buffer as ArrayBuffer]);",
    says: "scan === null → true",
    why: "the bytes are copied then, and not handed over",
  },
  {
    file: "src/audit/verify/start.ts",
    code: "...{ first: 1, last: 0, places: new Map(), cut: null, signed: null, breach: null, notices: [] },",
    says: "0 → 1",
    why: "where segments are walked the last one is counted first",
  },
  {
    file: "src/audit/verify/segment.ts",
    code: "if (offset > turnAt) {",
    says: "> → >=",
    why: "how often others get a turn changes nothing of the report",
  },
  {
    file: "src/audit/verify/witnesses.ts",
    code: "if (head === undefined) return true;",
    says: "head === undefined → false",
    why: "nobody asks where no head is left; the compiler wants the case",
  },
  {
    file: "src/audit/verify/witnesses.ts",
    code: "if (head === undefined) return true;",
    says: "true → false",
    why: "nobody asks where no head is left; the compiler wants the case",
  },
  {
    file: "src/conventions/outcome/echo-stream.ts",
    code: "const ESCAPE_BYTES = 64;",
    says: "64 → 65",
    why: "any length that an escape fits into",
  },
  {
    file: "src/conventions/outcome/echo-stream.ts",
    code: "if (!escapable && view.through.length > 1) continue;",
    says: "1 → 2",
    why: "looked for in one view more, more is held back until it is known, and never less",
  },
  {
    file: "src/conventions/outcome/echo-stream.ts",
    code: "for (let at = Math.max(0, end - LONGEST_UNFINISHED); at < end; at++) {",
    says: "max → min",
    why: "what is longer than the longest is no unfinished escape: it is only looked at in vain",
  },
  {
    file: "src/conventions/passkey/enrol.ts",
    code: '_BYTES * 2), "base64url");',
    says: "2 → 3",
    why: "what is longer than it may be is refused when it is read, wherever it was cut before",
  },
  {
    file: "src/conventions/reverse/canonical.ts",
    code: "return a < b ? -1 : a > b ? 1 : 0;",
    says: "a > b → false",
    why: "the sort of this engine asks alone whether one stands before the other",
  },
  {
    file: "src/conventions/reverse/document.ts",
    code: "if (keys.size >= KEYS_KEPT) keys.clear();",
    says: "keys.clear(); → ;",
    why: "what is forgotten is worked out anew: only the memory differs",
  },
  {
    file: "src/conventions/reverse/reverse.ts",
    code: 'if (first?.kind !== "literal") others.push(action);',
    says: 'first?.kind !== "literal" → true',
    why: "held against every path it fits the same ones: only the time differs",
  },
  {
    file: "src/conventions/url/admit.ts",
    code: "throw error;",
    says: "throw error; → ;",
    why: "reading a path throws nothing but a refusal; a fault would stay one",
  },
  {
    file: "src/conventions/action/draft/choose-operations.ts",
    code: "return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));",
    says: "< → <=",
    why: "no two groups have the same name",
  },
  {
    file: "src/conventions/caller/session.ts",
    code: 'if (step.kind === "refused") throw new Fault(',
    says: 'step.kind === "refused" → false',
    why: "the table has both steps; the compiler wants the case",
  },
  {
    file: "src/conventions/grant/condition.ts",
    code: "return { kind, input, values: [...new Set(values as Scalar[])].sort((a, b) => (String(a) < String(b) ? -1 : 1)) };",
    says: "1 → 2",
    why: "a sort asks for the sign alone",
  },
  {
    file: "src/conventions/operation/summary.ts",
    code: "(one.operation_id < other.operation_id ? -1 : 1)",
    says: "< → <=",
    why: "no two operations have the same id",
  },
  {
    file: "src/conventions/token/assumed-role.ts",
    code: "const once = start !== -1 && end > start && text.lastIndexOf(open) === start && text.lastIndexOf(close) === end;",
    says: "> → >=",
    why: "an opening and a closing tag cannot begin at the same place",
  },
  {
    file: "src/gateway/approval/desk.ts",
    code: "const expiresAt = isoTime(wallMs + Math.max(0, approval.expiresBootMs - clock.bootMs()));",
    says: "0 → 1",
    why: "a card that is shown when its time is over decides nothing, whatever it says",
  },
  {
    file: "src/gateway/approval/events.ts",
    code: "if (assertion === undefined || passkey === null) return null;",
    says: "|| → &&",
    why: "who answered is known exactly where there is an answer; the compiler wants both",
  },
  {
    file: "src/gateway/operation/due-loop.ts",
    code: "let minute = { startMs: Number.NEGATIVE_INFINITY, count: 0 };",
    says: "0 → 1",
    why: "the first look begins a minute of its own",
  },
  {
    file: "src/gateway/operation/observe.ts",
    code: 'if (events.length > 0) await core.ledger.record("deadline.passed", events, [operationRow(core, operation)]);',
    says: "events.length > 0 → true",
    why: "its row is kept once more, as it stands",
  },
  {
    file: "src/gateway/operation/observe.ts",
    code: 'if (hint.kind === "read_scheduled") schedule(operation);',
    says: 'hint.kind === "read_scheduled" → true',
    why: "an entry more in the queue is found to be an old one",
  },
  {
    file: "src/gateway/outbound/grants.ts",
    code: "if (grant.name === own.name) continue;",
    says: "grant.name === own.name → false",
    why: "what it did not cover it does not cover when it is asked once more",
  },
  {
    file: "src/gateway/outbound/plain.ts",
    code: "const requestBytes = wire.body?.byteLength ?? 0;",
    says: "0 → 1",
    why: "no scope bounds such a request",
  },
  {
    file: "src/gateway/run/book.ts",
    code: "callsOf.delete(id);",
    says: "callsOf.delete(id); → ;",
    why: "its calls are forgotten one by one just before: only memory differs",
  },
  {
    file: "src/gateway/run/book.ts",
    code: "if (gone !== undefined) gone.done = resultGone(gone);",
    says: "gone !== undefined → true",
    why: "a result is held only of a call that is known; the compiler wants the case",
  },
  {
    file: "src/gateway/run/book.ts",
    code: "const run = id === undefined ? undefined : (open.get(id) ?? ended.get(id));",
    says: "id === undefined → false",
    why: "nothing is kept under undefined; the compiler wants the case",
  },
  {
    file: "src/gateway/run/book.ts",
    code: "const call = id === undefined ? undefined : calls.get(id);",
    says: "id === undefined → false",
    why: "nothing is kept under undefined; the compiler wants the case",
  },
  {
    file: "src/gateway/outbound/outbound.ts",
    code: "return key === undefined ? hostKey : sshFingerprint(key.blob);",
    says: "key === undefined → false",
    why: "a pack whose host key does not read is refused as it is read; the compiler wants the case",
  },
  {
    file: "src/gateway/record/day-counts.ts",
    code: 'return found === "unreadable" ? null : (found?.day ?? null);',
    says: 'found === "unreadable" → false',
    why: "what cannot be read has no day either; the compiler wants the case",
  },
  {
    file: "src/gateway/record/ledger.ts",
    code: "order.end(moment);",
    says: "order.end(moment); → ;",
    why: "only how long a row's moment is remembered differs, which row-order's own test bounds",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "let last = 0;",
    says: "0 → 1",
    why: "moments are compared with each other alone",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "const [oldest = last + 1] = underWay;",
    says: "1 → 2",
    why: "no moment is later than the last one",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "for (const [key, moment] of kept) if (moment < oldest) kept.delete(key);",
    says: "< → <=",
    why: "the oldest moment under way may keep its own row again, remembered or not",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "if ((kept.get(key) ?? 0) > moment) return false;",
    says: "0 → 1",
    why: "the first moment is 1, which is not later than any",
  },
  {
    file: "src/gateway/run/descendants.ts",
    code: 'if (owner === undefined) throw new Denied("not_found", "There is no such run for this caller.");',
    says: "owner === undefined → false",
    why: "whoever is a descendant has an owner that was just looked at; the compiler wants the case",
  },
  {
    file: "src/gateway/run/descendants.ts",
    code: 'if (owner === undefined) throw new Denied("not_found", "There is no such run for this caller.");',
    says: 'throw new Denied("not_found", "There is no such run for t... → ;',
    why: "whoever is a descendant has an owner that was just looked at; the compiler wants the case",
  },
  {
    file: "packages/request/src/json/parse.ts",
    code: 'const text = buffer.toString(isAscii(buffer) ? "latin1" : "utf8");',
    says: "isAscii(buffer) → false",
    why: "ASCII is the same text in both: only the time differs",
  },
  {
    file: "packages/request/src/json/tokens.ts",
    code: "for (let at = start; at - start <= NAME_LENGTH; at++) {",
    says: "<= → <",
    why: "a name that is not remembered is read like any text: only the time differs",
  },
  {
    file: "src/vault/high-water.ts",
    code: "vault: (one.vault?.generation ?? 0) > (other.vault?.generation ?? 0) ? one.vault : (other.vault ?? one.vault),",
    says: "0 → 1",
    why: "the first generation is 1: against none it counts either way",
  },
  {
    file: "src/vault/high-water.ts",
    code: "policy: (one.policy?.version ?? 0) > (other.policy?.version ?? 0) ? one.policy : (other.policy ?? one.policy),",
    says: "0 → 1",
    why: "the first version is 1: against none it counts either way",
  },
  {
    file: "src/vault/high-water.ts",
    code: "policy: (one.policy?.version ?? 0) > (other.policy?.version ?? 0) ? one.policy : (other.policy ?? one.policy),",
    says: "> → >=",
    why: "of one version only one policy is ever obeyed",
  },
  {
    file: "src/conventions/git/push.ts",
    code: 'if (length <= 4 || at + length > body.byteLength) throw malformed("a line is cut off");',
    says: "> → >=",
    why: "a line that ends the body lacks its flush, and is refused for that",
  },
  {
    file: "src/gateway/recover.ts",
    code: 'const unknown = rows.filter(({ table, state }) => table === "attempts" && state === "tracked").length;',
    says: "&& → ||",
    why: "of attempts a start writes nothing but that they are tracked, and of nothing else",
  },
  {
    file: "src/gateway/callback/verify.ts",
    code: "pretend(received);",
    says: "pretend(received); → ;",
    why: "only the time differs, which no test asserts",
  },
  {
    file: "src/gateway/callback/verify.ts",
    code: "const DECOY_KEY = Buffer.alloc(32);",
    says: "32 → 33",
    why: "what is made with the decoy is thrown away",
  },
  {
    file: "src/gateway/operation/reconcile.ts",
    code: "const method = isStatusReader(reader)",
    says: "isStatusReader(reader) → true",
    why: "a step has to name a method, and whichever it is changes nothing",
  },
  {
    file: "src/gateway/operation/reconcile.ts",
    code: "const method = isStatusReader(reader)",
    says: "isStatusReader(reader) → false",
    why: "a step has to name a method, and whichever it is changes nothing",
  },
  {
    file: "src/gateway/operation/recover-claims.ts",
    code: "if (found === null) return holder;",
    says: "found === null → false",
    why: "a claim is of an effect, and one whose operation is known is not looked for; the compiler wants the case",
  },
  {
    file: "src/gateway/operation/recover-claims.ts",
    code: "if (under_way || operation_id === null) return false;",
    says: "|| → &&",
    why: "what was on its way for an operation that has ended stands in nobody's way, forgotten or not",
  },
  {
    file: "src/gateway/operation/reconcile.ts",
    code: '? { kind: "unclear", why: "reason" in verdict ? verdict.reason : "no_answer" }',
    says: '"reason" in verdict → true',
    why: "a host neither accepts nor redirects; the compiler wants the case",
  },
  {
    file: "src/gateway/operation/resume.ts",
    code: 'if (record !== undefined) learn(operation, { kind: "resume_noted", record: { ...record, outcome } });',
    says: "record !== undefined → true",
    why: "each try was noted before it left; the compiler wants the case",
  },
  {
    file: "src/gateway/operation/resume.ts",
    code: 'return remoteJobId === null ? [] : step(core, operation, { kind: "job_named", remoteJobId }, actor);',
    says: "remoteJobId === null → false",
    why: "no step of the table leads from failed by a job's name; the compiler wants the case",
  },
  {
    file: "src/gateway/token/failures.ts",
    code: "return Math.min(defaults.tokenRetryMs * 2 ** Math.min(times, 20), defaults.tokenRetryMaxMs);",
    says: "20 → 21",
    why: "both are far beyond the longest wait",
  },
  {
    file: "src/gateway/token/failures.ts",
    code: "if (oldest !== undefined) found.delete(oldest);",
    says: "oldest !== undefined → true",
    why: "there is nothing under no key",
  },
  {
    file: "src/gateway/token/heard.ts",
    code: "if (oldest !== undefined) kept.delete(oldest);",
    says: "oldest !== undefined → true",
    why: "there is nothing under no key",
  },
  {
    file: "src/gateway/token/heard.ts",
    code: "if (text !== lastDate) {",
    says: "text !== lastDate → true",
    why: "the same text is the same date: only the time differs",
  },
  {
    file: "src/gateway/token/heard.ts",
    code: "lastDate = text;",
    says: "lastDate = text; → ;",
    why: "the same text is the same date: only the time differs",
  },
  {
    file: "src/gateway/plan/plan.ts",
    code: 'throw new Denied("not_found", "There is no such plan for this caller.");',
    says: 'throw new Denied("not_found", "There is no such plan for ... → ;',
    why: "whose plan it is not does not find it in the first place",
  },
  {
    file: "src/gateway/plan/preview.ts",
    code: "if (preview === null) throw notPermitted();",
    says: "preview === null → false",
    why: "a pack that names a preview which it does not have is refused as it is read; the compiler wants the case",
  },
  {
    file: "src/gateway/plan/preview.ts",
    code: "if (preview === null) throw notPermitted();",
    says: "throw notPermitted(); → ;",
    why: "a pack that names a preview which it does not have is refused as it is read; the compiler wants the case",
  },
  {
    file: "src/gateway/plan/preview.ts",
    code: "if (response === null) return { ...result, plan };",
    says: "response === null → false",
    why: "what a plan was made of was answered; the compiler wants the case",
  },
  {
    file: "src/gateway/plan/preview.ts",
    code: 'if (provider === null || request.kind !== "http") return null;',
    says: 'provider === null || request.kind !== "http" → false',
    why: "only a provider over HTTP says 202; the compiler wants the case",
  },
  {
    file: "src/gateway/plan/preview.ts",
    code: 'if (provider === null || request.kind !== "http") return null;',
    says: "|| → &&",
    why: "only a provider over HTTP says 202; the compiler wants the case",
  },
  {
    file: "src/gateway/plan/preview.ts",
    code: "const here = { own: origin, isOwnPath: (path: string) => isOpenToRead(pack, path), sideEffect: false, max: 1 };",
    says: "1 → 2",
    why: "none was followed before it: any number lets it pass",
  },
  {
    file: "src/gateway/plan/shelf.ts",
    code: "const plan = id === undefined ? undefined : plans.get(id);",
    says: "id === undefined → false",
    why: "nothing is kept under undefined; the compiler wants the case",
  },
  {
    file: "src/gateway/rollback/promotion.ts",
    code: "undoable.set(pack, known);",
    says: "undoable.set(pack, known); → ;",
    why: "what is not remembered is worked out anew: only the time differs",
  },
  {
    file: "src/gateway/operation/recover-operations.ts",
    code: "if (events === null) return null;",
    says: "events === null → false",
    why: "for an operation that failed nothing is on its way but its resume; the compiler wants the case",
  },
  {
    file: "src/gateway/operation/recover-operations.ts",
    code: 'if (row === null || "tampered" in row || row.state !== "failed") return null;',
    says: "|| → &&",
    why: "what is edited has no state, and a resume is on its way for what failed alone; of one that is gone gateway-recover-claims holds it",
  },
  {
    file: "src/gateway/rollback/rollback.ts",
    code: 'return observation.kind === "answered" ? readStaleRollback(observation.status, readJson(observation)) : null;',
    says: 'observation.kind === "answered" → true',
    why: "what was not answered has no status either; the compiler wants the case",
  },
];

export function findExplained(change: Change & { readonly file: string }): Explained | undefined {
  const { file, code, says } = change;
  return explained.find((row) => row.file === file && code.includes(row.code) && row.says === says);
}
