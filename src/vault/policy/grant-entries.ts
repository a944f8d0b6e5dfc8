import type { Effect } from "../../conventions/action/pack.ts";
import type { Condition, Scalar } from "../../conventions/grant/condition.ts";
import { type Grant, type GrantCaller, type GrantInclusion, readInclusion } from "../../conventions/grant/grant.ts";
import type { Hours } from "../../conventions/grant/hours.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { NAME, readDigest, shape, TIME } from "./entries.ts";

export const GRANT_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
export const GRANT_ACTION = /^[a-z][a-z0-9-]{0,63}(\.[a-z0-9_-]{1,64}){0,8}\.([a-z0-9_-]{1,64}|\*)$/;
const INPUT = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
const EFFECTS = ["preview", "read", "write", "send", "create", "purchase"] as const satisfies readonly Effect[];
const LISTED = 64;
const VALUES = 256;
const UIDS = 0xffff_fffe;

const MEMBERS = [
  "name",
  "caller",
  "actions",
  "effects",
  "conditions",
  "includes",
  "limits",
  "calls_per_day",
  "created_at",
  "until",
  "hours",
] as const;

/** Reads what `grantRecord` writes, strictly. */
export function readGrant(value: JsonValue, where: string): Grant {
  const grant = shape.members(value, where, MEMBERS, ["idle_days"]);
  const limits = shape.members(grant.limits, `${where}/limits`, [
    "attempts",
    "side_effects",
    "duration_seconds",
    "spend_cents",
  ]);
  const count = (given: JsonValue, name: string): number =>
    shape.integer(given, `${where}/${name}`, 0, Number.MAX_SAFE_INTEGER);
  return {
    name: shape.text(grant.name, `${where}/name`, 64, GRANT_NAME),
    caller: readGrantCaller(grant.caller, `${where}/caller`),
    actions: filled(grant.actions, `${where}/actions`, (item, at) => shape.text(item, at, 200, GRANT_ACTION)),
    effects: filled(grant.effects, `${where}/effects`, (item, at) => shape.oneOf(item, at, EFFECTS)),
    conditions: shape.list(grant.conditions, `${where}/conditions`, LISTED, readStoredCondition),
    includes: shape.list(grant.includes, `${where}/includes`, LISTED, readStoredInclusion),
    limits: {
      attempts: count(limits.attempts, "limits/attempts"),
      sideEffects: count(limits.side_effects, "limits/side_effects"),
      durationMs: count(limits.duration_seconds, "limits/duration_seconds") * 1000,
      spendCents: count(limits.spend_cents, "limits/spend_cents"),
    },
    callsPerDay: shape.integer(grant.calls_per_day, `${where}/calls_per_day`, 1, 1_000_000),
    createdAt: shape.text(grant.created_at, `${where}/created_at`, 24, TIME),
    until: shape.text(grant.until, `${where}/until`, 24, TIME),
    hours: grant.hours === null ? null : readStoredHours(grant.hours, `${where}/hours`),
    idleDays: grant.idle_days === undefined ? null : shape.integer(grant.idle_days, `${where}/idle_days`, 1, 366),
  };
}

function readGrantCaller(value: JsonValue, where: string): GrantCaller {
  const { authority, image, uid, command } = shape.members(value, where, ["authority", "image", "uid"], ["command"]);
  if (authority === null && image === null && uid === null && command === undefined) shape.refuse(where, "somebody");
  return {
    authority: authority === null ? null : shape.text(authority, `${where}/authority`, 200, NAME),
    image: image === null ? null : readDigest(image, `${where}/image`),
    command: command === undefined ? null : readDigest(command, `${where}/command`),
    uid: uid === null ? null : shape.integer(uid, `${where}/uid`, 1, UIDS),
  };
}

function readStoredCondition(value: JsonValue, where: string): Condition {
  const kinds = ["one_of", "prefix", "at_most"] as const;
  const { kind, input } = shape.members(value, where, ["kind", "input"], ["values", "prefix", "maximum"]);
  const name = shape.text(input, `${where}/input`, 128, INPUT);
  switch (shape.oneOf(kind, `${where}/kind`, kinds)) {
    case "one_of": {
      const { values } = shape.members(value, where, ["kind", "input", "values"]);
      return { kind: "one_of", input: name, values: filled(values, `${where}/values`, readScalar, VALUES) };
    }
    case "prefix": {
      const { prefix } = shape.members(value, where, ["kind", "input", "prefix"]);
      return { kind: "prefix", input: name, prefix: shape.text(prefix, `${where}/prefix`, 1_000) };
    }
    case "at_most": {
      const { maximum } = shape.members(value, where, ["kind", "input", "maximum"]);
      return { kind: "at_most", input: name, maximum: shape.integer(maximum, where, 0, Number.MAX_SAFE_INTEGER) };
    }
  }
}

function readScalar(value: JsonValue, where: string): Scalar {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return shape.integer(value, where, 0, Number.MAX_SAFE_INTEGER);
  return shape.text(value, where, 1_000);
}

function readStoredInclusion(value: JsonValue, where: string): GrantInclusion {
  return readInclusion(shape.text(value, where, 80)) ?? shape.refuse(where, "something that a grant can include");
}

function readStoredHours(value: JsonValue, where: string): Hours {
  const { days, from_hour, to_hour } = shape.members(value, where, ["days", "from_hour", "to_hour"]);
  return {
    days: filled(days, `${where}/days`, (day, at) => shape.integer(day, at, 0, 6), 7),
    fromHour: shape.integer(from_hour, `${where}/from_hour`, 0, 23),
    toHour: shape.integer(to_hour, `${where}/to_hour`, 1, 24),
  };
}

function filled<Item>(
  value: JsonValue,
  where: string,
  read: (item: JsonValue, where: string) => Item,
  most = LISTED,
): readonly Item[] {
  const items = shape.list(value, where, most, read);
  return items.length === 0 ? shape.refuse(where, "a list with something in it") : items;
}
