import assert from "node:assert/strict";
import { test } from "node:test";
import { type CallerEvidence, encodeCaller, encodeCallerContext } from "./evidence.ts";

const evidence: CallerEvidence = {
  process: { pid: 42, startTime: "1234", uid: 1000, pidfdInode: "77" },
  pathObserved: "/usr/bin/node",
  signingIdentifier: "nodejs 18.20",
  designatedRequirement: null,
  cdhash: `sha256:${"a".repeat(64)}`,
  validity: "package_record",
  authority: { kind: "package", vendor: "Debian", package: "nodejs", version: "18.20", record: "dpkg" },
  interpreter: { name: "node", script: "agent.js" },
  unownedMappings: ["/tmp/x.so"],
  ancestors: [{ pid: 1, startTime: "0", path: null }],
  namespaces: "own",
  binding: "process",
};

test("the evidence record has the fields of the specification and no others", () => {
  assert.deepEqual(encodeCaller(evidence), {
    process: { pid: 42, start_time: "1234", uid: 1000, pidfd_inode: "77" },
    path_observed: "/usr/bin/node",
    signing_identifier: "nodejs 18.20",
    designated_requirement: null,
    cdhash: `sha256:${"a".repeat(64)}`,
    validity: "package_record",
  });
});

test("what is context stays beside the record", () => {
  const context = encodeCallerContext(evidence);
  assert.deepEqual(context["ancestors"], [{ pid: 1, start_time: "0", path: null }]);
  assert.deepEqual(context["interpreter"], { name: "node", script: "agent.js" });
  assert.deepEqual(context["unowned_mappings"], ["/tmp/x.so"]);
  assert.ok(!("interpreter_unsure" in context));
  const unsure = encodeCallerContext({ ...evidence, interpreter: null, interpreterUnsure: true });
  assert.equal(unsure["interpreter_unsure"], true, "that nothing tells is told");
  assert.equal(unsure["interpreter"], null);
  for (const name of Object.keys(context)) assert.ok(!(name in encodeCaller(evidence)));
});
