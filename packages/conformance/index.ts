/** The checks themselves, for a test suite of one's own. */
export { type Profile, readProfile, referenceProfile } from "../../src/conformance/profile.ts";
export { reportLines, summaryLine } from "../../src/conformance/report.ts";
export { type CheckResult, type KitOptions, runChecks } from "../../src/conformance/run.ts";
