/** GitHub's REST answers as far as `gh` reads them, by method and path; from GitHub's description of its API. */
const sha = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
const at = "2026-11-01T10:00:00Z";
const web = "https://github.com/octo-org/app";
const api = "https://api.github.com/repos/octo-org/app";

const owner = { login: "octo-org", id: 2, type: "Organization" };
const repository = {
  id: 1,
  node_id: "R_1",
  name: "app",
  full_name: "octo-org/app",
  owner,
  private: false,
  html_url: web,
  clone_url: `${web}.git`,
  default_branch: "main",
  has_issues: true,
  permissions: { admin: true, push: true, pull: true },
};
const issue = {
  id: 42,
  node_id: "I_42",
  number: 42,
  title: "The export is empty",
  state: "open",
  repository_url: api,
  url: `${api}/issues/42`,
  html_url: `${web}/issues/42`,
  user: { login: "ada" },
  labels: [],
  body: "Steps",
  comments: 0,
  created_at: at,
  updated_at: at,
};
const pull = { ...issue, head: { ref: "feature", sha, repo: repository }, base: { ref: "main", repo: repository } };
const run = {
  id: 30433642,
  name: "ci",
  display_title: "ci",
  status: "completed",
  conclusion: "failure",
  head_branch: "main",
  head_sha: sha,
  event: "push",
  workflow_id: 5,
  run_number: 1,
  run_attempt: 1,
  created_at: at,
  updated_at: at,
  run_started_at: at,
  html_url: `${web}/actions/runs/30433642`,
  jobs_url: `${api}/actions/runs/30433642/jobs`,
  logs_url: `${api}/actions/runs/30433642/logs`,
  repository,
  head_repository: repository,
  head_commit: { message: "x" },
};
const workflow = { id: 5, name: "ci", path: ".github/workflows/ci.yml", state: "active" };
const release = {
  id: 1,
  tag_name: "v1",
  name: "1.0",
  body: "N",
  draft: true,
  prerelease: false,
  author: owner,
  assets: [],
  created_at: at,
  published_at: at,
  html_url: `${web}/releases/tag/v1`,
  url: `${api}/releases/1`,
  upload_url: "https://uploads.github.com/x",
};
const gist = {
  id: "abc123",
  description: "notes",
  public: false,
  html_url: "https://gist.github.com/abc123",
  files: { "a.txt": { filename: "a.txt", content: "x", type: "text/plain" } },
  owner,
  updated_at: at,
};
const label = { id: 1, name: "bug", color: "ffffff", description: "" };
const found = (items: readonly unknown[]) => ({ total_count: items.length, incomplete_results: false, items });

type Answer = readonly [status: number, body: unknown];
const ROUTES: readonly (readonly [method: string, path: RegExp, answer: Answer])[] = [
  ["GET", /^\/$/, [200, {}]],
  ["GET", /^\/user$/, [200, { login: "ada", id: 3 }]],
  ["GET", /^\/rate_limit$/, [200, { resources: {}, rate: { limit: 5000, remaining: 4999, reset: 1, used: 1 } }]],
  ["GET", /^\/search\/issues$/, [200, found([issue])]],
  ["GET", /^\/search\/repositories$/, [200, found([{ ...repository, updated_at: at, visibility: "public" }])]],
  ["POST", /^\/gists$/, [201, gist]],
  ["GET", /^\/gists\/abc123$/, [200, gist]],
  ["GET", /^\/repos\/octo-org\/app$/, [200, repository]],
  ["GET", /\/app\/readme$/, [200, { name: "README.md", encoding: "base64", content: "IyBhcHA=" }]],
  ["GET", /\/app\/contents\/.+$/, [200, { name: "a.txt", encoding: "base64", content: "eA==" }]],
  ["GET", /\/app\/issues$/, [200, [issue]]],
  ["POST", /\/app\/issues$/, [201, issue]],
  ["GET", /\/app\/issues\/42$/, [200, issue]],
  ["POST", /\/app\/issues\/42\/comments$/, [201, { id: 9, html_url: `${web}/issues/42#issuecomment-9`, body: "x" }]],
  ["GET", /\/app\/pulls\/42$/, [200, pull]],
  ["GET", /\/app\/labels$/, [200, [label]]],
  ["POST", /\/app\/labels$/, [201, label]],
  ["PATCH", /\/app\/labels\/bug$/, [200, label]],
  ["PATCH", /\/app\/releases\/1$/, [200, release]],
  ["DELETE", /\/app\/releases\/1$/, [204, null]],
  ["GET", /^\/search\/commits$/, [200, found([])]],
  ["GET", /\/workflows\/5\/runs$/, [200, { total_count: 1, workflow_runs: [run] }]],
  ["GET", /\/app\/releases$/, [200, [release]]],
  ["POST", /\/app\/releases$/, [201, release]],
  ["GET", /\/app\/releases\/(?:latest|tags\/v1)$/, [200, release]],
  ["GET", /\/app\/actions\/runs$/, [200, { total_count: 1, workflow_runs: [run] }]],
  ["GET", /\/actions\/runs\/30433642$/, [200, run]],
  ["GET", /\/actions\/runs\/30433642\/jobs$/, [200, { total_count: 0, jobs: [] }]],
  ["GET", /\/actions\/runs\/30433642\/artifacts$/, [200, { total_count: 0, artifacts: [] }]],
  ["POST", /\/actions\/runs\/30433642\/(?:rerun|rerun-failed-jobs|cancel)$/, [201, {}]],
  ["GET", /\/app\/actions\/workflows$/, [200, { total_count: 1, workflows: [workflow] }]],
  ["GET", /\/app\/actions\/workflows\/(?:5|ci)$/, [200, workflow]],
  ["POST", /\/app\/actions\/workflows\/5\/dispatches$/, [204, null]],
  ["GET", /\/app\/actions\/secrets$/, [200, { total_count: 1, secrets: [{ name: "S", updated_at: at }] }]],
];

export function answerRest(
  method: string,
  path: string,
  accept: string,
): { status: number; type: string; text: string } {
  if (accept.includes(".diff") && path.endsWith("/pulls/42"))
    return { status: 200, type: "text/plain", text: "diff --git\n" };
  const [, , [status, body]] = ROUTES.find(([verb, pattern]) => verb === method && pattern.test(path)) ?? NOT_FOUND;
  return { status, type: "application/json; charset=utf-8", text: body === null ? "" : JSON.stringify(body) };
}

const NOT_FOUND = ["", /./, [404, { message: "Not Found" }]] as const;
