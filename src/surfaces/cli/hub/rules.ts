import {
  describeFleetLimit,
  FLEET_COUNTS,
  FLEET_SCOPES,
  type FleetLimit,
} from "../../../conventions/budget/fleet-limit.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import {
  HUB_LOG,
  HUB_OPERATIONS,
  LIMIT_NAME,
  limitPage,
  MAX_A_DAY,
  MAX_GRACE_S,
  MAX_LIMITS,
} from "../../../vault/policy/hub-entries.ts";
import { type HubRules, NO_HUB_RULES } from "../../../vault/policy/policy.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { Exit } from "../io.ts";
import { Misused } from "../misused.ts";
import type { OperatorOptions } from "../options.ts";
import { say } from "../vault/session.ts";
import { type SignChange, signTried } from "../vault/sign-change.ts";

export interface HubSetOptions extends OperatorOptions {
  readonly log?: string;
  readonly graceS?: string;
  readonly operations?: string;
}

/** `gw hub set`: an operator signs what this gateway does not do without its hub. What is not named stays. */
export function runHubSet(options: HubSetOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    const asked = { ...readLog(options.log), ...readGrace(options.graceS), ...readOperations(options.operations) };
    if (Object.keys(asked).length === 0)
      throw new Denied(
        "value_not_allowed",
        "Say what to set: --log before_answer, --log behind, --grace-s SECONDS, --operations shared, --operations own",
      );
    return signRules(options, deps, (rules) => ({ ...rules, ...asked }), sayRules);
  });
}

export interface HubLimitOptions extends OperatorOptions {
  readonly counts?: string;
  readonly aDay?: string;
  readonly pack?: string;
  readonly credential?: string;
  readonly grant?: string;
  readonly remove?: boolean;
}

/** `gw hub limit NAME`: one limit, anew or another one under its name; or none any more. */
export function runHubLimit(name: string, options: HubLimitOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    const limit = options.remove === true ? null : readFleetLimit(name, options);
    const change = (rules: HubRules): HubRules => {
      const others = rules.limits.filter((one) => one.name !== name);
      if (limit === null && others.length === rules.limits.length)
        throw new Denied("not_found", `There is no limit ${showIdentifier(name)}.`);
      if (others.length >= MAX_LIMITS)
        throw new Denied("value_not_allowed", `There are ${MAX_LIMITS} limits, which is all a policy holds.`);
      return { ...rules, limits: limit === null ? others : [...others, limit] };
    };
    return signRules(options, deps, change, () => [
      limit === null ? { name, removed: true } : limitPage(limit),
      limit === null
        ? `${name} limits nothing any more.`
        : `${name}: ${describeFleetLimit(limit)}, all gateways together.`,
    ]);
  });
}

function readFleetLimit(name: string, options: HubLimitOptions): FleetLimit {
  const wrong = (why: string): Denied => new Misused(`The limit was not signed: ${why}.`);
  if (!LIMIT_NAME.test(name)) throw wrong("its name is 1 to 51 of a-z, 0-9 and dashes");
  const counts = FLEET_COUNTS.find((word) => word === options.counts);
  if (counts === undefined) throw wrong(`--counts is one of ${FLEET_COUNTS.join(", ")}`);
  const given = FLEET_SCOPES.flatMap((kind) => {
    const subject = options[kind];
    return subject === undefined ? [] : [{ kind, name: subject }];
  });
  const [of] = given;
  if (of === undefined || given.length > 1 || !/^[!-~]{1,128}$/.test(of.name))
    throw wrong("it is about one of --pack, --credential and --grant");
  const aDay = /^\d{1,10}$/.test(options.aDay ?? "") ? Number(options.aDay) : -1;
  if (aDay < 0 || aDay > MAX_A_DAY) throw wrong(`--a-day is a number from 0 to ${MAX_A_DAY}`);
  return { name, counts, of, aDay };
}

function sayRules({ log, graceS, operations }: HubRules): readonly [JsonObject, string] {
  const shared =
    operations === "shared"
      ? " What is under way is on the hub too, before it leaves: another gateway can take it over with gw operation adopt NAME."
      : "";
  const waits =
    log === "before_answer"
      ? `Answers wait for the hub. While it is away no side effect is sent, and reads of sessions that stand go on for ${graceS} s.`
      : "Answers do not wait for the hub.";
  return [{ log, grace_s: graceS, operations }, `${waits}${shared}`];
}

async function signRules(
  options: OperatorOptions,
  { io, vault }: CliDeps,
  change: (rules: HubRules) => HubRules,
  tell: (rules: HubRules) => readonly [JsonObject, string],
): Promise<Exit> {
  const signing = (sign: SignChange): Promise<void> =>
    sign({ what: "hub_set", subject: "hub" }, (policy) => {
      if (policy.hub === null)
        throw new Denied("hub_not_joined", "This gateway belongs to no hub. First: gw hub join URL");
      return { ...policy, hub: { ...policy.hub, rules: change(policy.hub.rules) } };
    });
  return await signTried(options, io, vault, signing, (_made, { home }) => {
    const { hub } = home.readPolicy(home.readVault());
    say(io, options.json, ...tell(hub?.rules ?? NO_HUB_RULES));
  });
}

function readLog(given: string | undefined): Partial<HubRules> {
  if (given === undefined) return {};
  const log = HUB_LOG.find((word) => word === given);
  if (log === undefined) throw new Misused(`--log is one of: ${HUB_LOG.join(", ")}`);
  return { log };
}

function readOperations(given: string | undefined): Partial<HubRules> {
  if (given === undefined) return {};
  const operations = HUB_OPERATIONS.find((word) => word === given);
  if (operations === undefined) throw new Misused(`--operations is one of: ${HUB_OPERATIONS.join(", ")}`);
  return { operations };
}

function readGrace(given: string | undefined): Partial<HubRules> {
  if (given === undefined) return {};
  const graceS = /^\d{1,6}$/.test(given) ? Number(given) : -1;
  if (graceS < 0 || graceS > MAX_GRACE_S)
    throw new Misused(`--grace-s is a number of seconds from 0 to ${MAX_GRACE_S}.`);
  return { graceS };
}
