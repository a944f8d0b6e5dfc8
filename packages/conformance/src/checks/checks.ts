import type { Check } from "../check.ts";
import { jobChecks } from "./jobs.ts";
import { listChecks } from "./lists.ts";
import { planChecks } from "./plans.ts";
import { noBodyChecks, requestChecks } from "./requests.ts";
import { rollbackChecks } from "./rollbacks.ts";
import { uploadChecks } from "./uploads.ts";

/** In the order in which they run. */
export const checks: readonly Check[] = [
  ...requestChecks,
  ...uploadChecks,
  ...listChecks,
  ...planChecks,
  ...jobChecks,
  ...rollbackChecks,
  ...noBodyChecks,
];
