import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { reviewUpgrade } from "../src/conventions/upgrade/compare/review.ts";
import { emptyReviewFile } from "../src/conventions/upgrade/decision/review-file.ts";
import { settleReview } from "../src/conventions/upgrade/decision/settle.ts";
import { readDocument } from "../src/conventions/upgrade/document/read-document.ts";
import { buildApi } from "../src/conventions/upgrade/model/build-api.ts";
import { reportPage } from "../src/conventions/upgrade/report/page.ts";
import { buildReport } from "../src/conventions/upgrade/report/report.ts";
import { type Bench, median } from "./bench.ts";

const OPERATIONS = 1_000;
const ROUNDS = 3;

type Job = "review" | "parse";

/** 1,000 operations over 500 components; the newer has a tenth more operations and a changed tenth. */
function document(newer: boolean): string {
  const schemas: Record<string, object> = {};
  const paths: Record<string, object> = {};
  for (let n = 0; n < OPERATIONS / 2; n++) {
    const fields = Object.fromEntries(
      Array.from({ length: 12 }, (_, f) => [
        `field_${f}`,
        { type: f % 3 === 0 ? "integer" : "string", description: "A field of the thing, described in a sentence." },
      ]),
    );
    const changed =
      newer && n % 10 === 0
        ? { owner_id: { type: "string" }, role: { type: "string", enum: ["viewer", "owner"] } }
        : {};
    schemas[`Thing${n}`] = {
      type: "object",
      required: ["id"],
      properties: {
        id: { type: "string" },
        ...fields,
        ...changed,
        parent: { $ref: `#/components/schemas/Thing${(n * 7) % 500}` },
      },
    };
  }
  const count = newer ? OPERATIONS : OPERATIONS * 0.9;
  for (let n = 0; n < count; n++) {
    const reference = { $ref: `#/components/schemas/Thing${n % 500}` };
    const json = { "application/json": { schema: reference } };
    const parameters = [
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      { name: "state", in: "query", schema: { type: "string", default: newer && n % 25 === 0 ? "all" : "active" } },
    ];
    paths[`/area${n % 40}/things${n}/{id}`] = {
      [n % 3 === 0 ? "post" : "get"]: {
        operationId: `${n % 3 === 0 ? "update" : "get"}Thing${n}`,
        description: "Does something with one thing. ".repeat(8),
        security: [{ oauth: newer && n % 50 === 0 ? [] : ["things:read"] }],
        parameters,
        ...(n % 3 === 0 ? { requestBody: { content: json } } : {}),
        responses: { "200": { description: "ok", content: json }, "403": { description: "no" } },
      },
    };
  }
  const securitySchemes = {
    oauth: {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: "https://login.example/token", scopes: { "things:read": "" } } },
    },
  };
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Bench", version: newer ? "2" : "1" },
    paths,
    components: { schemas, securitySchemes },
  });
}

function work(job: Job): number {
  const [before, after] = [Buffer.from(document(false)), Buffer.from(document(true))];
  const start = performance.now();
  switch (job) {
    case "review": {
      const review = reviewUpgrade(buildApi(readDocument("a.json", before)), buildApi(readDocument("b.json", after)));
      reportPage(buildReport(review, settleReview(review.differences, emptyReviewFile("Bench"), [])));
      break;
    }
    case "parse":
      JSON.parse(before.toString("utf8"));
      JSON.parse(after.toString("utf8"));
      break;
  }
  return (performance.now() - start) / 1_000;
}

/** A process of its own, so that the memory is that of this work and not of what was measured before. */
async function measure(job: Job): Promise<{ readonly seconds: number; readonly megabytes: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, job]);
  return JSON.parse(stdout) as { seconds: number; megabytes: number };
}

export const bench: Bench = {
  name: "upgrade",
  async run(emit) {
    const rounds: Record<Job, { readonly seconds: number; readonly megabytes: number }[]> = {
      review: [],
      parse: [],
    };
    for (let round = 0; round < ROUNDS; round++)
      for (const job of ["parse", "review"] as const) rounds[job].push(await measure(job));
    const of = (job: Job, what: "seconds" | "megabytes"): number => median(rounds[job].map((one) => one[what]));
    const seconds = of("review", "seconds");
    emit({
      case: `review of a ${OPERATIONS}-operation pair, page included`,
      value: seconds,
      unit: "s",
      beside: "JSON.parse of the same two documents",
      ratio: seconds / of("parse", "seconds"),
    });
    emit({
      case: `peak memory of the process, ${OPERATIONS}-operation pair`,
      value: of("review", "megabytes"),
      unit: "MB",
      beside: "a process that only parses the two documents",
      ratio: of("review", "megabytes") / of("parse", "megabytes"),
    });
  },
};

if (import.meta.main) {
  const seconds = work((process.argv[2] ?? "review") as Job);
  console.log(JSON.stringify({ seconds, megabytes: process.resourceUsage().maxRSS / 1_024 }));
}
