import type { JsonObject } from "../src/kernel/json.ts";

/** What a provider must see for one call. */
export interface ExpectedCall {
  readonly args: JsonObject;
  readonly method: string;
  /** As it stands on the wire. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: JsonObject;
  readonly form?: Readonly<Record<string, string>>;
}

const repo = { owner: "octo-org", repo: "app.js" };
const project = { project: "acme/tools/app" };
const at = "/api/v4/projects/acme%2Ftools%2Fapp";
const sha = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
const slack = { channel: "C0123456789" };
const ts = "1700000000.000100";
const intent = "pi_3MtwBwLkdIwHu7ix28a3tqPa";

const github: Readonly<Record<string, ExpectedCall>> = {
  "issue.search": {
    args: { q: "repo:octo-org/app is:issue 100%25", sort: "updated", order: "desc" },
    method: "GET",
    path: "/search/issues",
    query: { q: "repo:octo-org/app is:issue 100%25", sort: "updated", order: "desc", per_page: "50" },
  },
  "issue.get": { args: { ...repo, number: 42 }, method: "GET", path: "/repos/octo-org/app.js/issues/42" },
  "issue.create": {
    args: { ...repo, title: "Empty", body: "a\nb", label_names: ["bug", "p 1"] },
    method: "POST",
    path: "/repos/octo-org/app.js/issues",
    json: { title: "Empty", body: "a\nb", labels: ["bug", "p 1"] },
  },
  "issue.comment": {
    args: { ...repo, number: 42, body: "Fixed." },
    method: "POST",
    path: "/repos/octo-org/app.js/issues/42/comments",
    json: { body: "Fixed." },
  },
  "pull.get": { args: { ...repo, number: 43 }, method: "GET", path: "/repos/octo-org/app.js/pulls/43" },
  "pull.create": {
    args: { ...repo, title: "Fill", head_branch: "fork:fix/x", base_branch: "main", draft: true },
    method: "POST",
    path: "/repos/octo-org/app.js/pulls",
    json: { title: "Fill", head: "fork:fix/x", base: "main", draft: true },
  },
  "pull.merge": {
    args: { ...repo, number: 43, sha, merge_method: "squash" },
    method: "PUT",
    path: "/repos/octo-org/app.js/pulls/43/merge",
    json: { sha, merge_method: "squash" },
  },
  "release.list": {
    args: { ...repo, per_page: 10, page: 2 },
    method: "GET",
    path: "/repos/octo-org/app.js/releases",
    query: { per_page: "10", page: "2" },
  },
  "release.draft": {
    args: { ...repo, tag_name: "v1.4.0", name: "1.4", prerelease: false },
    method: "POST",
    path: "/repos/octo-org/app.js/releases",
    json: { tag_name: "v1.4.0", name: "1.4", prerelease: false, draft: true },
  },
  "run.list": {
    args: { ...repo, branch: "fix/x y", status: "failure", head_sha: sha },
    method: "GET",
    path: "/repos/octo-org/app.js/actions/runs",
    query: { branch: "fix/x y", status: "failure", head_sha: sha },
  },
  "run.get": {
    args: { ...repo, run_id: 30433642 },
    method: "GET",
    path: "/repos/octo-org/app.js/actions/runs/30433642",
  },
  "run.rerun_failed": {
    args: { ...repo, run_id: 30433642 },
    method: "POST",
    path: "/repos/octo-org/app.js/actions/runs/30433642/rerun-failed-jobs",
  },
  "issue.list": {
    args: { ...repo, state: "open", label_names: "bug,p 1", per_page: 20 },
    method: "GET",
    path: "/repos/octo-org/app.js/issues",
    query: { state: "open", labels: "bug,p 1", per_page: "20" },
  },
  "pull.list": {
    args: { ...repo, state: "all", base_branch: "main" },
    method: "GET",
    path: "/repos/octo-org/app.js/pulls",
    query: { state: "all", base: "main" },
  },
  "pull.diff": { args: { ...repo, number: 43 }, method: "GET", path: "/repos/octo-org/app.js/pulls/43" },
  "repo.get": { args: repo, method: "GET", path: "/repos/octo-org/app.js" },
  "repo.search": { args: { q: "a b" }, method: "GET", path: "/search/repositories", query: { q: "a b" } },
  "commit.search": { args: { q: "a b" }, method: "GET", path: "/search/commits", query: { q: "a b" } },
  "readme.get": { args: repo, method: "GET", path: "/repos/octo-org/app.js/readme" },
  "contents.get": {
    args: { ...repo, path: "docs/a b.md", ref: "main" },
    method: "GET",
    path: "/repos/octo-org/app.js/contents/docs/a%20b.md",
    query: { ref: "main" },
  },
  "label.list": { args: repo, method: "GET", path: "/repos/octo-org/app.js/labels" },
  "label.create": {
    args: { ...repo, name: "p 1", color: "00ff00" },
    method: "POST",
    path: "/repos/octo-org/app.js/labels",
    json: { name: "p 1", color: "00ff00" },
  },
  "label.update": {
    args: { ...repo, name: "p 1", new_name: "p 2" },
    method: "PATCH",
    path: "/repos/octo-org/app.js/labels/p%201",
    json: { new_name: "p 2" },
  },
  "release.latest": { args: repo, method: "GET", path: "/repos/octo-org/app.js/releases/latest" },
  "release.by_tag": { args: { ...repo, tag: "v1" }, method: "GET", path: "/repos/octo-org/app.js/releases/tags/v1" },
  "release.publish": {
    args: { ...repo, tag_name: "v1", name: "1" },
    method: "POST",
    path: "/repos/octo-org/app.js/releases",
    json: { tag_name: "v1", name: "1", draft: false },
  },
  "run.jobs": { args: { ...repo, run_id: 7 }, method: "GET", path: "/repos/octo-org/app.js/actions/runs/7/jobs" },
  "run.artifacts": {
    args: { ...repo, run_id: 7 },
    method: "GET",
    path: "/repos/octo-org/app.js/actions/runs/7/artifacts",
  },
  "run.rerun": {
    args: { ...repo, run_id: 7, enable_debug_logging: true },
    method: "POST",
    path: "/repos/octo-org/app.js/actions/runs/7/rerun",
    json: { enable_debug_logging: true },
  },
  "run.cancel": { args: { ...repo, run_id: 7 }, method: "POST", path: "/repos/octo-org/app.js/actions/runs/7/cancel" },
  "workflow.list": { args: repo, method: "GET", path: "/repos/octo-org/app.js/actions/workflows" },
  "workflow.get": {
    args: { ...repo, workflow_id: "ci.yml" },
    method: "GET",
    path: "/repos/octo-org/app.js/actions/workflows/ci.yml",
  },
  "workflow.runs": {
    args: { ...repo, workflow_id: "5", branch: "main" },
    method: "GET",
    path: "/repos/octo-org/app.js/actions/workflows/5/runs",
    query: { branch: "main" },
  },
  "workflow.dispatch": {
    args: { ...repo, workflow_id: "ci.yml", ref: "main", inputs: { level: "1" } },
    method: "POST",
    path: "/repos/octo-org/app.js/actions/workflows/ci.yml/dispatches",
    json: { ref: "main", inputs: { level: "1" } },
  },
  "secret.list": { args: repo, method: "GET", path: "/repos/octo-org/app.js/actions/secrets" },
  "gist.get": { args: { gist_id: "aa5a" }, method: "GET", path: "/gists/aa5a" },
  "user.get": { args: {}, method: "GET", path: "/user" },
  "rate_limit.get": { args: {}, method: "GET", path: "/rate_limit" },
  "root.get": { args: {}, method: "GET", path: "/" },
};

const gitlab: Readonly<Record<string, ExpectedCall>> = {
  "issue.list": {
    args: { ...project, state: "opened", label_names: ["bug", "p 1"], search: "50%25", page: 3 },
    method: "GET",
    path: `${at}/issues`,
    query: { state: "opened", labels: "bug,p 1", search: "50%25", page: "3" },
  },
  "issue.get": { args: { ...project, iid: 7 }, method: "GET", path: `${at}/issues/7` },
  "issue.create": {
    args: { ...project, title: "Empty", confidential: true, label_names: "bug,p1" },
    method: "POST",
    path: `${at}/issues`,
    json: { title: "Empty", confidential: true, labels: "bug,p1" },
  },
  "issue.comment": {
    args: { ...project, iid: 7, body: "Fixed." },
    method: "POST",
    path: `${at}/issues/7/notes`,
    json: { body: "Fixed." },
  },
  "merge_request.list": {
    args: { project: "278964", state: "opened", target_branch: "main", per_page: 20 },
    method: "GET",
    path: "/api/v4/projects/278964/merge_requests",
    query: { state: "opened", target_branch: "main", per_page: "20" },
  },
  "merge_request.get": { args: { ...project, iid: 12 }, method: "GET", path: `${at}/merge_requests/12` },
  "merge_request.create": {
    args: { ...project, source_branch: "fix/x", target_branch: "main", title: "Fill", description: "Why" },
    method: "POST",
    path: `${at}/merge_requests`,
    json: { source_branch: "fix/x", target_branch: "main", title: "Fill", description: "Why" },
  },
  "merge_request.merge": {
    args: { ...project, iid: 12, sha, squash: true },
    method: "PUT",
    path: `${at}/merge_requests/12/merge`,
    json: { sha, squash: true },
  },
  "pipeline.list": {
    args: { ...project, ref: "main", status: "failed" },
    method: "GET",
    path: `${at}/pipelines`,
    query: { ref: "main", status: "failed" },
  },
  "pipeline.get": { args: { ...project, pipeline_id: 46 }, method: "GET", path: `${at}/pipelines/46` },
  "pipeline.retry": { args: { ...project, pipeline_id: 46 }, method: "POST", path: `${at}/pipelines/46/retry` },
};

const silent = { unfurl_links: false, unfurl_media: false };
const slackCalls: Readonly<Record<string, ExpectedCall>> = {
  "channel.list": {
    args: { limit: 100, cursor: "dGVhbTpDMUY%3D", exclude_archived: true },
    method: "GET",
    path: "/api/conversations.list",
    query: { types: "public_channel", limit: "100", cursor: "dGVhbTpDMUY%3D", exclude_archived: "true" },
  },
  "channel.history": {
    args: { ...slack, oldest: ts, limit: 20 },
    method: "GET",
    path: "/api/conversations.history",
    query: { ...slack, oldest: ts, limit: "20" },
  },
  "thread.read": { args: { ...slack, ts }, method: "GET", path: "/api/conversations.replies", query: { ...slack, ts } },
  "message.permalink": {
    args: { ...slack, message_ts: ts },
    method: "GET",
    path: "/api/chat.getPermalink",
    query: { ...slack, message_ts: ts },
  },
  "user.get": {
    args: { user: "U0123456789" },
    method: "GET",
    path: "/api/users.info",
    query: { user: "U0123456789" },
  },
  "message.post": {
    args: { ...slack, text: "Done & <b>" },
    method: "POST",
    path: "/api/chat.postMessage",
    json: { ...slack, text: "Done & <b>", ...silent },
  },
  "message.reply": {
    args: { ...slack, thread_ts: ts, text: "Done." },
    method: "POST",
    path: "/api/chat.postMessage",
    json: { ...slack, thread_ts: ts, text: "Done.", reply_broadcast: false, ...silent },
  },
  "message.update": {
    args: { ...slack, ts, text: "Done." },
    method: "POST",
    path: "/api/chat.update",
    json: { ...slack, ts, text: "Done." },
  },
  "message.delete": { args: { ...slack, ts }, method: "POST", path: "/api/chat.delete", json: { ...slack, ts } },
  "reaction.add": {
    args: { ...slack, timestamp: ts, name: "+1" },
    method: "POST",
    path: "/api/reactions.add",
    json: { ...slack, timestamp: ts, name: "+1" },
  },
};

const stripe: Readonly<Record<string, ExpectedCall>> = {
  "balance.get": { args: {}, method: "GET", path: "/v1/balance" },
  "customer.get": {
    args: { id: "cus_NffrFeUfNV2Hib" },
    method: "GET",
    path: "/v1/customers/cus_NffrFeUfNV2Hib",
  },
  "customer.search": {
    args: { query: "email:'ada@example.com'" },
    method: "GET",
    path: "/v1/customers/search",
    query: { query: "email:'ada@example.com'", limit: "20" },
  },
  "charge.get": {
    args: { id: "ch_3MmlLrLkdIwHu7ix0snN0B15" },
    method: "GET",
    path: "/v1/charges/ch_3MmlLrLkdIwHu7ix0snN0B15",
  },
  "charge.list": {
    args: { customer: "cus_NffrFeUfNV2Hib", limit: 10, starting_after: "ch_3MmlLrLkdIwHu7ix0snN0B15" },
    method: "GET",
    path: "/v1/charges",
    query: { customer: "cus_NffrFeUfNV2Hib", limit: "10", starting_after: "ch_3MmlLrLkdIwHu7ix0snN0B15" },
  },
  "invoice.get": {
    args: { id: "in_1MtHbELkdIwHu7ixl4OzzPMv" },
    method: "GET",
    path: "/v1/invoices/in_1MtHbELkdIwHu7ixl4OzzPMv",
  },
  "refund.list": {
    args: { payment_intent: intent },
    method: "GET",
    path: "/v1/refunds",
    query: { payment_intent: intent },
  },
  "refund.get": {
    args: { id: "re_1Nispe2eZvKYlo2Cd31jOCgZ" },
    method: "GET",
    path: "/v1/refunds/re_1Nispe2eZvKYlo2Cd31jOCgZ",
  },
  "refund.create": {
    args: { payment_intent: intent, amount: 1250, reason: "requested_by_customer" },
    method: "POST",
    path: "/v1/refunds",
    form: { payment_intent: intent, amount: "1250", reason: "requested_by_customer" },
  },
};

const task = { project: { key: "OPS" }, issuetype: { name: "Task" }, summary: "Rotate the key" };
const jira: Readonly<Record<string, ExpectedCall>> = {
  "issue.get": {
    args: { key: "OPS-17", fields: ["summary", "status"] },
    method: "GET",
    path: "/rest/api/2/issue/OPS-17",
    query: { fields: "summary,status" },
  },
  "issue.search": {
    args: { jql: "project = OPS AND text ~ '50%25'" },
    method: "GET",
    path: "/rest/api/2/search/jql",
    query: { jql: "project = OPS AND text ~ '50%25'", maxResults: "50" },
  },
  "issue.create": { args: { fields: task }, method: "POST", path: "/rest/api/2/issue", json: { fields: task } },
  "comment.list": {
    args: { key: "OPS-17", orderBy: "+created", maxResults: 10 },
    method: "GET",
    path: "/rest/api/2/issue/OPS-17/comment",
    query: { orderBy: "+created", maxResults: "10" },
  },
  "comment.add": {
    args: { key: "OPS-17", body: "Promoted." },
    method: "POST",
    path: "/rest/api/2/issue/OPS-17/comment",
    json: { body: "Promoted." },
  },
  "transition.list": { args: { key: "OPS-17" }, method: "GET", path: "/rest/api/2/issue/OPS-17/transitions" },
  "transition.do": {
    args: { key: "OPS-17", transition: { id: "31" } },
    method: "POST",
    path: "/rest/api/2/issue/OPS-17/transitions",
    json: { transition: { id: "31" } },
  },
  "account.self": { args: {}, method: "GET", path: "/rest/api/2/myself" },
};

const said = [{ role: "user", content: "Hello" }];
const anthropic: Readonly<Record<string, ExpectedCall>> = {
  "message.create": {
    args: { beta: "a-1,b-2", model: "claude-x", max_tokens: 64, messages: said, stream: true },
    method: "POST",
    path: "/v1/messages",
    headers: { "anthropic-beta": "a-1,b-2" },
    json: { model: "claude-x", max_tokens: 64, messages: said, stream: true },
  },
  "message.count": {
    args: { model: "claude-x", messages: said },
    method: "POST",
    path: "/v1/messages/count_tokens",
    json: { model: "claude-x", messages: said },
  },
  "model.list": { args: { limit: 5 }, method: "GET", path: "/v1/models", query: { limit: "5" } },
};
const openai: Readonly<Record<string, ExpectedCall>> = {
  "chat.create": {
    args: { model: "gpt-x", messages: said, stream: true, stream_options: { include_usage: true } },
    method: "POST",
    path: "/v1/chat/completions",
    json: { model: "gpt-x", messages: said, stream: true, stream_options: { include_usage: true } },
  },
  "model.list": { args: {}, method: "GET", path: "/v1/models" },
};

export const expectedCalls = { github, gitlab, slack: slackCalls, stripe, jira, anthropic, openai };
