import assert from "node:assert/strict";
import { test } from "node:test";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { resultOf } from "../attempt/follow.ts";
import { tellRefusal, tellResult } from "./answer.ts";

type Answered = Extract<TransportObservation, { readonly kind: "answered" }>;

/** A call's result as the pipeline makes it of what a provider did. */
function resultWith(verdict: string, change: Partial<Answered> | null, keepsBytes = true): CallResult {
  const answered = {
    ...{ kind: "answered", status: 200, headers: { "content-type": "text/plain", "x-count": "7" } },
    ...{ body: Buffer.from("as it came", "utf8"), withheld: null, remoteRequestId: null, elapsedMs: 1, ...change },
  };
  const silent = { kind: "silent", reason: "timeout", detail: null, elapsedMs: 1 };
  const action = { unknown: { retryAllowed: false } };
  const sending = {
    ...{ outbound: { action: "acme.thing.get", sideEffect: false, definition: { action } }, run: { id: "run_1" } },
    ...{ callId: "call_1", claim: null, keepsBytes },
  };
  const attempted = {
    ...{ observation: change === null ? silent : answered, verdict: { kind: verdict } },
    cost: { reserved_cents: 0, charged_cents: 0 },
  };
  return resultOf(sending as never, attempted as never, null);
}

const told = (result: CallResult, plainText = false) => {
  const { status, code, outcome, headers, body, callId } = tellResult(result, plainText);
  return { status, code, outcome, headers: Object.fromEntries(headers), body: body.toString("utf8"), callId };
};

test("a provider's own answer is handed on as it came, whatever its status says", () => {
  for (const [verdict, status, outcome] of [
    ["success", 200, "success"],
    ["error", 404, "error"],
    ["error", 503, "error"],
  ] as const) {
    const headers = { "content-type": "text/plain", "x-count": "7" };
    assert.deepEqual(told(resultWith(verdict, { status })), {
      ...{ status, code: null, outcome, headers, body: "as it came", callId: "call_1" },
    });
  }
});

test("what nobody knows the end of is 403, but for what the provider says itself that it took on", () => {
  for (const [status, code] of [
    [200, null],
    [299, null],
    [199, "outcome_unknown"],
    [300, "outcome_unknown"],
    [503, "outcome_unknown"],
  ] as const) {
    const answer = told(resultWith("unknown", { status }));
    assert.deepEqual([answer.code, answer.status], [code, code === null ? status : 403], String(status));
  }
  const lost = told(resultWith("unknown", null));
  assert.deepEqual([lost.code, lost.status, lost.headers["x-gw-code"]], ["outcome_unknown", 403, "outcome_unknown"]);
});

test("no answer, and one that is withheld, are refusals that name the call and its action", () => {
  const none = told(resultWith("error", null));
  assert.deepEqual([none.code, none.status, none.callId], ["provider_not_answered", 403, "call_1"]);
  assert.match(none.body, /timeout/);
  for (const [verdict, words] of [
    ["success", /was carried out \(status 200\)/],
    ["error", /was answered \(status 200\)/],
  ] as const) {
    const withheld = told(resultWith(verdict, { withheld: "credential" as never }));
    assert.equal(withheld.code, "answer_withheld");
    assert.match(withheld.body, words);
    assert.ok(!withheld.body.includes("as it came"));
    assert.equal(JSON.parse(withheld.body).action, "acme.thing.get");
  }
  assert.equal(told(resultWith("success", {}, false)).code, "answer_withheld", "its bytes were not kept");
});

test("of an answer that was streamed nothing is left to hand on", () => {
  const streamed = told(resultWith("success", { streamed: { bytes: 10, digest: "sha256:00" } as never }, false));
  assert.deepEqual([streamed.code, streamed.status, streamed.body], [null, 200, ""]);
});

test("a refusal says what, the nearest action and where to read on, as JSON or as plain text", () => {
  const facts = { code: "request_not_in_packs", message: "no action says this", callId: null } as const;
  const nearest = { action: "acme.thing.get", why: "another path", depth: 1 };
  const refusal = (change: object) => {
    const { headers, body } = tellRefusal({
      ...facts,
      ...{ outcome: "refused", nearest, plainText: true, ...change },
    });
    return { headers: Object.fromEntries(headers), text: body.toString("utf8") };
  };
  const { headers, text } = refusal({});
  assert.equal(headers["content-type"], "text/plain; charset=utf-8");
  assert.match(
    text,
    /^gw: no action says this\. Nearest action: acme\.thing\.get \(another path\)\. .* gw actions acme\.thing\.get\n$/,
  );
  assert.match(refusal({ nearest: null, message: "Why?" }).text, /^gw: Why\? [^:]* More: gw actions\n$/);
  const json = refusal({ plainText: false, nearest: null });
  assert.equal(json.headers["content-type"], "application/json");
  assert.deepEqual([JSON.parse(json.text).code, JSON.parse(json.text).action], ["request_not_in_packs", null]);
});
