import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { readAssumedRole } from "./assumed-role.ts";

const ROLE = "arn:aws:iam::123456789012:role/path/deployer";
const members = {
  AccessKeyId: "ASIAEXAMPLEEXAMPLE12",
  SecretAccessKey: "secret/Secret+secret=",
  SessionToken: "session/Session+token==",
  Arn: "arn:aws:sts::123456789012:assumed-role/deployer/gw",
  Expiration: "2026-11-16T10:15:00Z",
};
const xml = (change: Readonly<Record<string, string>> = {}, more = ""): string =>
  Object.entries({ ...members, ...change })
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join("\n") + more;

function read(status: number, text: string) {
  const headers = { date: "Mon, 16 Nov 2026 10:00:00 GMT" };
  const about = { kind: "answered", status, headers, body: Buffer.from(text), remoteRequestId: null } as const;
  return readAssumedRole({ ...about, withheld: null, elapsedMs: 1 }, { scopes: ["s3:get"], repositories: [] }, ROLE);
}

test("a key of exactly the role that was asked for is taken, until its own end", () => {
  const { AccessKeyId, SecretAccessKey, SessionToken } = members;
  assert.deepEqual(read(200, xml()), {
    kind: "token",
    token: `${AccessKeyId}:${SecretAccessKey}:${SessionToken}`,
    refreshToken: null,
    lifeMs: 900_000,
    granted: { scopes: ["s3:get"], missing: [], beyond: [] },
  });
  const long = read(200, xml({ Expiration: "2027-11-16T10:00:00Z" }));
  assert.equal(long.kind === "token" && long.lifeMs, defaults.tokenLifeMaxMs);
});

test("a key of another role, account or partition, one that has ended, or one said twice is not used", () => {
  for (const change of [
    { Arn: "arn:aws:sts::123456789012:assumed-role/deployer-too/gw" },
    { Arn: "arn:aws:sts::210987654321:assumed-role/deployer/gw" },
    { Arn: "arn:aws-cn:sts::123456789012:assumed-role/deployer/gw" },
    { Arn: "arn:aws:iam::123456789012:assumed-role/deployer/gw" },
    { Expiration: "2026-11-16T10:00:00Z" },
    { Expiration: "some day" },
    { AccessKeyId: "short" },
    { SecretAccessKey: "short" },
    { SessionToken: "with a blank in the token" },
    { SessionToken: "x".repeat(defaults.accessTokenBytes + 1) },
  ])
    assert.equal(read(200, xml(change)).kind, "failed", JSON.stringify(change).slice(0, 90));
  for (const name of Object.keys(members))
    assert.equal(read(200, xml({}, `<${name}>again</${name}>`)).kind, "failed", name);
  assert.equal(read(200, "</AccessKeyId><AccessKeyId>").kind, "failed");
});

test("a refusal is told by its code alone, and what passes is tried again", () => {
  assert.deepEqual(read(403, "<Code>AccessDenied</Code>"), { kind: "refused", error: "AccessDenied" });
  assert.deepEqual(read(403, "<Code>words of theirs</Code>"), { kind: "refused", error: "status_403" });
  assert.deepEqual(read(400, ""), { kind: "refused", error: "status_400" });
  assert.equal(read(400, "<Code>Throttling</Code>").kind, "failed");
  for (const status of [408, 429, 500, 503]) assert.equal(read(status, "").kind, "failed", String(status));
});
