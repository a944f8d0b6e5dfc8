import type { ServerResponse } from "node:http";
import { answerJson, previewBody } from "./consequential.ts";
import type { Received, TestProvider } from "./provider.ts";

/** One job at the scripted provider: a test says how it stands. */
export interface ScriptedJob {
  readonly id: string;
  state: string;
  completed: number;
  /** What its status calls it, where the provider lies. */
  named: string;
  cancels: number;
  reads: number;
}

/** Jobs and previews behind the consequential pack, each as a test says. */
export interface JobScript {
  readonly jobs: ScriptedJob[];
  preview: Record<string, unknown>;
  /** Takes the creation and says nothing: the gateway cannot know. */
  silent: boolean;
}

export function scriptJobs(provider: TestProvider): JobScript {
  const script: JobScript = { jobs: [], preview: previewBody(), silent: false };
  provider.answer((request, response) => void answer(script, request, response));
  return script;
}

function answer(script: JobScript, { method, url }: Received, response: ServerResponse): unknown {
  if (method === "POST" && url.endsWith("/memberships/plan")) return answerJson(response, 200, script.preview);
  if (method === "POST" && url === "/v1/reports") {
    const id = `job-${script.jobs.length + 1}`;
    script.jobs.push({ id, state: "running", completed: 0, named: id, cancels: 0, reads: 0 });
    if (script.silent) return response.destroy();
    return answerJson(response, 202, { job_id: id, state: "queued", status_url: `/v1/jobs/${id}` });
  }
  if (method === "POST" && url === "/v1/posts") return response.destroy();
  const job = script.jobs.find(
    ({ id }) => url === `/v1/jobs/${id}` || url === `/jobs/${id}` || url.endsWith(`/${id}/result`),
  );
  if (job === undefined) return answerJson(response, 404, { code: "not_found" });
  if (method === "DELETE") {
    job.cancels++;
    return answerJson(response, 202, { state: job.state });
  }
  if (url.endsWith("/result")) return answerJson(response, 200, { rows: 42 });
  job.reads++;
  const progress = { completed: job.completed, total: 100 };
  return answerJson(response, 200, {
    job_id: job.named,
    state: job.state,
    updated_at: "2026-01-01T00:00:00Z",
    progress,
  });
}
