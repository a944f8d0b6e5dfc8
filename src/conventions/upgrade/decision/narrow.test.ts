import assert from "node:assert/strict";
import { test } from "node:test";
import { digestText } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { ProbeStatement } from "../probe/attest.ts";
import { type KnownCredential, requireNarrower } from "./narrow.ts";

const origin = "https://api.acme.example";
const known: readonly KnownCredential[] = [
  { label: "wide", boundTo: [origin], usable: true },
  { label: "narrow", boundTo: [origin], usable: true },
  { label: "stray", boundTo: [origin, "https://elsewhere.example"], usable: true },
  { label: "stopped", boundTo: [origin], usable: false },
];

function seen(credential: string | null, statuses: readonly (number | null)[], more: Partial<ProbeStatement> = {}) {
  const statement: ProbeStatement = {
    ...({ format: "gw.upgrade-probe/v2", api: "Acme", corpus: digestText("corpus") } as const),
    before: { origin, header: "v: 1" },
    after: { origin, header: "v: 2" },
    credential,
    observed: statuses.map((after, index) => ({ case: `c${index}`, route: `GET /${index}`, before: 200, after })),
    ...{ report: digestText("d"), operator: "ada", operator_key_id: "k", observed_at: "" },
    ...more,
  };
  return statement;
}

function refused(
  label: string,
  wide: ProbeStatement | null,
  narrow: ProbeStatement | null,
  subject = "GET /x",
): string | null {
  try {
    requireNarrower(label, known, { wide, narrow }, [{ id: "d-1", subject }]);
    return null;
  } catch (error) {
    assert.ok(error instanceof Denied);
    return error.code;
  }
}

const wide = seen("wide", [200, 201, 403]);

test("an identity that is denied somewhere where the other is let in, and let in nowhere else, is narrower", () => {
  assert.equal(refused("narrow", wide, seen("narrow", [200, 403, 403])), null);
  assert.equal(refused("narrow", wide, seen("narrow", [200, 403, 403]), "probe c1"), null);
});

const bad: readonly (readonly [what: string, found: () => string | null])[] = [
  ["is not in the vault", () => refused("nobody", wide, seen("nobody", [403, 403, 403]))],
  ["is disabled", () => refused("stopped", wide, seen("stopped", [403, 403, 403]))],
  ["may be sent to more places", () => refused("stray", wide, seen("stray", [403, 403, 403]))],
  ["was not probed", () => refused("narrow", wide, null)],
  ["is compared with nothing", () => refused("narrow", null, seen("narrow", [403, 403, 403]))],
  ["is the one in use", () => refused("wide", wide, seen("wide", [403, 403, 403]))],
  ["was probed under another label", () => refused("narrow", wide, seen("wide", [403, 403, 403]))],
  ["is let in wherever the other is", () => refused("narrow", wide, seen("narrow", [200, 200, 403]))],
  ["is let in where the other is not", () => refused("narrow", wide, seen("narrow", [403, 403, 200]))],
  ["was not answered, which is no denial", () => refused("narrow", wide, seen("narrow", [200, null, 403]))],
  [
    "is let in at the very request that is narrowed",
    () => refused("narrow", wide, seen("narrow", [200, 403, 403]), "probe c0"),
  ],
  ["was asked other things", () => refused("narrow", wide, seen("narrow", [403], { corpus: digestText("other") }))],
  [
    "was asked at another version",
    () => refused("narrow", wide, seen("narrow", [200, 403, 403], { after: { origin, header: "v: 3" } })),
  ],
];
for (const [what, found] of bad) {
  test(`an identity is not narrower when it ${what}`, () => assert.equal(found(), "narrowing_unproven"));
}
