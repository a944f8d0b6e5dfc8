/** The checks themselves, for a test suite of one's own. */
export { type Profile, readProfile, referenceProfile } from "./profile.ts";
export { reportLines, summaryLine } from "./report.ts";
export { type CheckResult, type KitOptions, runChecks } from "./run.ts";
