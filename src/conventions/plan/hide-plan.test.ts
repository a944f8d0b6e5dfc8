import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../../kernel/json.ts";
import { WrittenJson } from "../outcome/result.ts";
import { hideProvidersPlan } from "./hide-plan.ts";

const answerOf = (body: JsonValue | WrittenJson) => ({
  status: 200,
  headers: { location: "/v1/plans/p%2F1", etag: "7" },
  body,
  body_kind: "json" as const,
  provider_request_id: null,
});

test("the provider's name of a plan stands nowhere in what an agent gets: as a value, a member, in lists or in a URL", () => {
  const body = {
    plan_id: "p/1",
    plan_token: "tok-2",
    links: ["/v1/plans/p%2F1/execute", { "p/1": "use tok-2", count: 3, none: null, yes: true }],
  };
  const { headers, body: shown } = hideProvidersPlan(answerOf(body), "plan_ours");
  assert.deepEqual(headers, { location: "/v1/plans/plan_ours", etag: "7" });
  assert.deepEqual(shown, {
    plan_id: "plan_ours",
    plan_token: "plan_ours",
    links: ["/v1/plans/plan_ours/execute", { plan_ours: "use plan_ours", count: 3, none: null, yes: true }],
  });
});

test("it stands nowhere in a large answer either, which is held as text", () => {
  const body = new WrittenJson({ plan_id: "p/1", links: ["/v1/plans/p%2F1/execute"] });
  const { body: shown } = hideProvidersPlan(answerOf(body), "plan_ours");
  assert.deepEqual(shown, { plan_id: "plan_ours", links: ["/v1/plans/plan_ours/execute"] });
});

test("nor in JSON that its sender does not call so, as a host's output is", () => {
  const text = '{"plan_id":"p\\/1","use":"/v1/plans/p%2F1"}';
  const { body, body_kind } = hideProvidersPlan({ ...answerOf(text), body_kind: "text" }, "plan_ours");
  assert.deepEqual([body, body_kind], [{ plan_id: "plan_ours", use: "/v1/plans/plan_ours" }, "json"]);
  const words = { ...answerOf("plan_id: p/1"), body_kind: "text" as const };
  assert.equal(hideProvidersPlan(words, "plan_ours"), words);
});

test("a name of a few characters is hidden where it stands by itself, and changes nothing else", () => {
  const body = {
    plan_id: "7",
    at: "2027-01-17T17:07:07Z",
    use: "/v1/plans/7?p=7",
    seats: "17 of 77",
    plan_token: "pl",
  };
  const { body: shown } = hideProvidersPlan(answerOf(body), "plan_07pl");
  assert.deepEqual(shown, {
    ...{ plan_id: "plan_07pl", at: "2027-01-17T17:07:07Z", use: "/v1/plans/plan_07pl?p=plan_07pl" },
    ...{ seats: "17 of 77", plan_token: "plan_07pl" },
  });
});

test("a token of any length is hidden", () => {
  const token = "t0k".repeat(100_000);
  const { body } = hideProvidersPlan(
    answerOf({ plan_token: token, use: `/plans/${token}?again=${token}` }),
    "plan_ours",
  );
  assert.deepEqual(body, { plan_token: "plan_ours", use: "/plans/plan_ours?again=plan_ours" });
});

test("an answer that names no plan stays as it is", () => {
  for (const body of [{ plan_id: "" }, { plan_id: 7, text: "7" }, "plan_id", null, ["plan_id"]] as const) {
    const answer = answerOf(body);
    assert.equal(hideProvidersPlan(answer, "plan_ours"), answer);
  }
});
