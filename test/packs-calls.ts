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
  /** A body that is no form and no JSON. */
  readonly bytes?: { readonly type: string; readonly text: string };
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
    query: { state: "all", base: "main", per_page: "30" },
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
  "label.list": {
    args: repo,
    method: "GET",
    path: "/repos/octo-org/app.js/labels",
    query: { per_page: "100" },
  },
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

const object = { bucket: "acme-reports", key: "2026/june é.csv" };
const instance = "i-0123456789abcdef0";
const ec2 = { Version: "2016-11-15" };
const page_id = "1f4a2c3d-0000-4000-8000-0123456789ab";
const meeting = {
  start: { dateTime: "2026-11-17T10:00:00Z" },
  end: { dateTime: "2026-11-17T11:00:00Z" },
};
const slot = {
  start: { dateTime: "2026-11-17T10:00:00", timeZone: "UTC" },
  end: { dateTime: "2026-11-17T11:00:00", timeZone: "UTC" },
};
const week = { from: "2026-11-16T00:00:00Z", to: "2026-11-23T00:00:00Z" };

/** Providers whose credentials are exchanged, or sign. */
export const exchangedCalls = {
  "aws-s3": {
    "bucket.list": { args: { max_buckets: 100 }, method: "GET", path: "/", query: { "max-buckets": "100" } },
    "object.list": {
      args: { bucket: "acme-reports", prefix: "2026/", max_keys: 100 },
      method: "GET",
      path: "/acme-reports",
      query: { "list-type": "2", prefix: "2026/", "max-keys": "100" },
    },
    "object.get": { args: object, method: "GET", path: "/acme-reports/2026%2Fjune%20%C3%A9.csv" },
    "object.version.get": {
      args: { ...object, version_id: "3sL4kqtJlcpXroDTDmJ" },
      method: "GET",
      path: "/acme-reports/2026%2Fjune%20%C3%A9.csv",
      query: { versionId: "3sL4kqtJlcpXroDTDmJ" },
    },
    "object.put": {
      args: { ...object, content: "aWQK" },
      method: "PUT",
      path: "/acme-reports/2026%2Fjune%20%C3%A9.csv",
      bytes: { type: "application/octet-stream", text: "id\n" },
    },
    "object.delete": { args: object, method: "DELETE", path: "/acme-reports/2026%2Fjune%20%C3%A9.csv" },
  },
  "aws-ec2": {
    "instance.list": {
      args: { state: "running", max_results: 50 },
      method: "GET",
      path: "/",
      query: {
        ...{ ...ec2, Action: "DescribeInstances", MaxResults: "50" },
        ...{ "Filter.1.Name": "instance-state-name", "Filter.1.Value.1": "running" },
      },
    },
    "instance.get": {
      args: { instance },
      method: "GET",
      path: "/",
      query: { ...ec2, Action: "DescribeInstances", "InstanceId.1": instance },
    },
    "instance.status": {
      args: { instance },
      method: "GET",
      path: "/",
      query: { ...ec2, Action: "DescribeInstanceStatus", "InstanceId.1": instance, IncludeAllInstances: "true" },
    },
    "group.get": {
      args: { group: "sg-0123456789abcdef0" },
      method: "GET",
      path: "/",
      query: { ...ec2, Action: "DescribeSecurityGroups", "GroupId.1": "sg-0123456789abcdef0" },
    },
    "instance.start": {
      args: { instance },
      method: "POST",
      path: "/",
      form: { ...ec2, Action: "StartInstances", "InstanceId.1": instance },
    },
    "instance.stop": {
      args: { instance },
      method: "POST",
      path: "/",
      form: { ...ec2, Action: "StopInstances", "InstanceId.1": instance },
    },
  },
  "aws-lambda": {
    "function.list": {
      args: { max_items: 50 },
      method: "GET",
      path: "/2015-03-31/functions/",
      query: { MaxItems: "50" },
    },
    "function.get": {
      args: { name: "orders" },
      method: "GET",
      path: "/2015-03-31/functions/orders/configuration",
    },
    "function.invoke": {
      args: { name: "orders", payload: { order: "A-17" } },
      method: "POST",
      path: "/2015-03-31/functions/orders/invocations",
      headers: { "x-amz-invocation-type": "RequestResponse" },
      json: { order: "A-17" },
    },
  },
  "google-calendar": {
    "calendar.list": {
      args: { max_results: 50 },
      method: "GET",
      path: "/calendar/v3/users/me/calendarList",
      query: { maxResults: "50" },
    },
    "event.list": {
      args: { calendar: "team@acme.example", ...week, q: "review" },
      method: "GET",
      path: "/calendar/v3/calendars/team%40acme.example/events",
      query: { timeMin: week.from, timeMax: week.to, q: "review", singleEvents: "true", orderBy: "startTime" },
    },
    "event.get": {
      args: { calendar: "primary", event: "abc123def456" },
      method: "GET",
      path: "/calendar/v3/calendars/primary/events/abc123def456",
    },
    "event.create": {
      args: { calendar: "primary", event: "meeting20261117", summary: "Review", details: "x", ...meeting },
      method: "POST",
      path: "/calendar/v3/calendars/primary/events",
      query: { sendUpdates: "none" },
      json: { id: "meeting20261117", summary: "Review", description: "x", ...meeting },
    },
    "event.delete": {
      args: { calendar: "primary", event: "meeting20261117" },
      method: "DELETE",
      path: "/calendar/v3/calendars/primary/events/meeting20261117",
      query: { sendUpdates: "none" },
    },
  },
  "microsoft-graph": {
    "message.list": {
      args: { top: 10 },
      method: "GET",
      path: "/v1.0/me/messages",
      query: {
        $select: "id,subject,from,toRecipients,receivedDateTime,bodyPreview,isRead",
        $orderby: "receivedDateTime desc",
        $top: "10",
      },
    },
    "message.get": {
      args: { message: "AAMkAGI2TG93AAA=" },
      method: "GET",
      path: "/v1.0/me/messages/AAMkAGI2TG93AAA%3D",
    },
    "mail.send": {
      args: {
        message: {
          subject: "The export",
          body: { contentType: "Text", content: "It is repaired." },
          toRecipients: [{ emailAddress: { address: "ada@acme.example" } }],
        },
      },
      method: "POST",
      path: "/v1.0/me/sendMail",
      json: {
        message: {
          subject: "The export",
          body: { contentType: "Text", content: "It is repaired." },
          toRecipients: [{ emailAddress: { address: "ada@acme.example" } }],
        },
        saveToSentItems: true,
      },
    },
    "event.list": {
      args: week,
      method: "GET",
      path: "/v1.0/me/calendarView",
      query: { startDateTime: week.from, endDateTime: week.to },
    },
    "event.create": {
      args: { subject: "Review", transaction: "review-2026-11-17", ...slot },
      method: "POST",
      path: "/v1.0/me/events",
      json: { subject: "Review", transactionId: "review-2026-11-17", ...slot },
    },
    "event.delete": {
      args: { event: "AAMkAGI2TG93AAA=" },
      method: "DELETE",
      path: "/v1.0/me/events/AAMkAGI2TG93AAA%3D",
    },
  },
  notion: {
    "page.search": {
      args: { query: "Release notes", filter: { property: "object", value: "page" }, page_size: 20 },
      method: "POST",
      path: "/v1/search",
      json: { query: "Release notes", filter: { property: "object", value: "page" }, page_size: 20 },
    },
    "page.get": { args: { page_id }, method: "GET", path: `/v1/pages/${page_id}` },
    "block.list": { args: { block_id: page_id }, method: "GET", path: `/v1/blocks/${page_id}/children` },
    "page.create": {
      args: { parent: { page_id }, properties: { title: { title: [{ text: { content: "Release 1.2" } }] } } },
      method: "POST",
      path: "/v1/pages",
      json: { parent: { page_id }, properties: { title: { title: [{ text: { content: "Release 1.2" } }] } } },
    },
    "page.trash": { args: { page_id }, method: "PATCH", path: `/v1/pages/${page_id}`, json: { in_trash: true } },
    "comment.create": {
      args: { parent: { page_id }, rich_text: [{ text: { content: "Done." } }] },
      method: "POST",
      path: "/v1/comments",
      json: { parent: { page_id }, rich_text: [{ text: { content: "Done." } }] },
    },
  },
  "github-app": {
    "issue.list": {
      args: { owner: "octo-org", repo: "app.js", state: "open" },
      method: "GET",
      path: "/repos/octo-org/app.js/issues",
      query: { state: "open" },
    },
    "issue.get": {
      args: { owner: "octo-org", repo: "app.js", issue_number: 42 },
      method: "GET",
      path: "/repos/octo-org/app.js/issues/42",
    },
    "issue.comment": {
      args: { owner: "octo-org", repo: "app.js", issue_number: 42, body: "Fixed." },
      method: "POST",
      path: "/repos/octo-org/app.js/issues/42/comments",
      json: { body: "Fixed." },
    },
    "issue.close": {
      args: { owner: "octo-org", repo: "app.js", issue_number: 42 },
      method: "PATCH",
      path: "/repos/octo-org/app.js/issues/42",
      json: { state: "closed" },
    },
    "file.get": {
      args: { owner: "octo-org", repo: "app.js", path: "docs/a b.md" },
      method: "GET",
      path: "/repos/octo-org/app.js/contents/docs%2Fa%20b.md",
    },
    "pull.get": {
      args: { owner: "octo-org", repo: "app.js", pull_number: 43 },
      method: "GET",
      path: "/repos/octo-org/app.js/pulls/43",
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExpectedCall>>>>;

export const expectedCalls = { github, gitlab, slack: slackCalls, stripe, jira, anthropic, openai, ...exchangedCalls };
