import { defaults } from "../../kernel/defaults.ts";
import type { Findings } from "./findings.ts";
import type { Job, Pages } from "./pack.ts";
import type { ActionWire } from "./schema/pack.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const POINTER = /^(?:\/(?:[^/~]|~[01])+)+$/;

const SEGMENT = /^(?:\{[a-z_]{1,32}\}|[A-Za-z0-9._~-]{1,64})$/;

/** A member of an answer: a plain name stands for the top level, anything deeper is written as a JSON Pointer. */
export function readPointer(text: string, path: string, findings: Findings): string {
  if (NAME.test(text)) return `/${text}`;
  if (!POINTER.test(text))
    findings.error("value_not_allowed", path, "expected a member's name or a JSON Pointer such as /data/id");
  return text;
}

/** The inputs that take the job's identifier are found once all actions are read. */
export function readJob(wire: NonNullable<ActionWire["job"]>, path: string, findings: Findings): Job {
  const states = [...wire.succeeded, ...wire.failed, ...(wire.cancelled ?? [])];
  for (const state of new Set(states)) {
    if (states.indexOf(state) !== states.lastIndexOf(state))
      findings.error("value_not_allowed", path, `the state "${state}" stands for two ends, or twice`);
  }
  const first = (wire.poll?.first_s ?? defaults.pollFirstMs / 1000) * 1000;
  const cap = (wire.poll?.cap_s ?? Math.max(defaults.pollCapMs, first) / 1000) * 1000;
  if (first > cap) findings.error("value_not_allowed", `${path}/poll/first_s`, "the first wait is longer than the cap");
  const reference = (action: string | undefined) => (action === undefined ? null : { action, idInput: "" });
  return {
    id: readPointer(wire.id, `${path}/id`, findings),
    state: readPointer(wire.state ?? "state", `${path}/state`, findings),
    status: { action: wire.status, idInput: "" },
    cancel: reference(wire.cancel),
    result: reference(wire.result),
    succeeded: wire.succeeded,
    failed: wire.failed,
    cancelled: wire.cancelled ?? [],
    resume: reference(wire.resume === "none" ? undefined : wire.resume),
    createDeadlineMs: (wire.create_deadline_s ?? defaults.jobCreateDeadlineMs / 1000) * 1000,
    resultDeadlineMs: (wire.result_deadline_s ?? defaults.jobResultDeadlineMs / 1000) * 1000,
    pollFirstMs: first,
    pollCapMs: cap,
    maxChecks: wire.poll?.max_checks ?? defaults.jobChecks,
  };
}

export function readPages(wire: NonNullable<ActionWire["pages"]>, path: string, findings: Findings): Pages {
  if ((wire.cursor === undefined) === (wire.link === undefined)) {
    findings.error("pack_member_unfit", path, "expected either cursor, a member of the answer, or link: next");
  }
  if (wire.page_size !== undefined && wire.size_param === undefined) {
    findings.error(
      "pack_member_unfit",
      `${path}/page_size`,
      "page_size needs size_param, the parameter that carries it",
    );
  }
  if (wire.items === "" && wire.cursor !== undefined)
    findings.error("pack_member_unfit", `${path}/cursor`, "a bare list holds no cursor; its way on is link: next");
  if (wire.items === "" && wire.empty_if !== undefined)
    findings.error("pack_member_unfit", `${path}/empty_if`, "a bare list is there when it is empty");
  if (wire.link_path !== undefined && wire.link === undefined)
    findings.error("pack_member_unfit", `${path}/link_path`, "link_path needs link: next");
  if (
    wire.link_path
      ?.slice(1)
      .split("/")
      .every((segment) => SEGMENT.test(segment)) === false
  )
    findings.error("value_not_allowed", `${path}/link_path`, "expected a path such as /repositories/{id}/pulls");
  return {
    items: wire.items === "" ? "" : readPointer(wire.items, `${path}/items`, findings),
    emptyIf: wire.empty_if === undefined ? null : readPointer(wire.empty_if, `${path}/empty_if`, findings),
    continuation:
      wire.cursor === undefined
        ? { kind: "link", path: wire.link_path ?? null }
        : { kind: "cursor", pointer: readPointer(wire.cursor, `${path}/cursor`, findings) },
    cursorParam: wire.cursor_param,
    sizeParam: wire.size_param ?? null,
    // The smallest page that serves: never more than the walk may take.
    pageSize: Math.min(wire.page_size ?? defaults.pageSize, wire.max_records ?? defaults.discoveryRecords),
    maxPages: wire.max_pages ?? defaults.discoveryPages,
    maxRecords: wire.max_records ?? defaults.discoveryRecords,
  };
}
