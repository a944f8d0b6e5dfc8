import type { Random } from "../../../src/kernel/clock.ts";
import { type Check, type CheckedExchange, type Kit, Unmet } from "./check.ts";
import { checks as allChecks } from "./checks/checks.ts";
import { type Client, createClient, describeExchange } from "./client.ts";
import type { Profile } from "./profile.ts";

export interface CheckResult {
  readonly check: string;
  readonly rule: string;
  readonly verdict: "passed" | "failed" | "skipped";
  /** What was expected, or why it was skipped; empty when it passed. */
  readonly why: string;
  /** The last exchange of a check that failed. */
  readonly exchange: CheckedExchange | null;
}

export interface KitOptions {
  readonly origin: string;
  readonly profile: Profile;
  readonly token: string | null;
  readonly random: Random;
  /** Names or prefixes of names; absent runs all. */
  readonly only?: readonly string[];
}

/** Runs the checks one after the other: some of them change the provider, and each must know what it changed. */
export async function runChecks(
  options: KitOptions,
  onResult: (result: CheckResult) => void = () => {},
): Promise<readonly CheckResult[]> {
  const client = createClient(options.origin);
  const chosen = allChecks.filter(
    ({ name }) => options.only?.some((wanted) => name === wanted || name.startsWith(`${wanted}.`)) ?? true,
  );
  const results: CheckResult[] = [];
  for (const check of chosen) {
    const result = await runOne(check, options, client);
    results.push(result);
    onResult(result);
  }
  return results;
}

async function runOne(check: Check, options: KitOptions, client: Client): Promise<CheckResult> {
  const about = { check: check.name, rule: check.rule };
  if (options.profile[check.needs] === undefined) {
    return { ...about, verdict: "skipped", why: `the profile has no part ${check.needs}`, exchange: null };
  }
  let last: CheckedExchange | null = null;
  const send: Kit["send"] = async (probe) => {
    last = describeExchange(probe, null);
    const reply = await client.send(probe, probe.token === undefined ? options.token : probe.token);
    last = describeExchange(probe, reply);
    return reply;
  };
  const kit: Kit = {
    profile: options.profile,
    token: options.token,
    send,
    json: (method, target, body, headers = {}) =>
      send({ method, target, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }),
    key: () => `conformance-${options.random.bytes(18).toString("base64url")}`,
    expect(holds, expected) {
      if (!holds) throw new Unmet(expected);
    },
  };
  try {
    await check.run(kit);
    return { ...about, verdict: "passed", why: "", exchange: null };
  } catch (error) {
    const why =
      error instanceof Unmet
        ? error.message
        : `no usable answer: ${error instanceof Error ? error.message : String(error)}`;
    return { ...about, verdict: "failed", why, exchange: last };
  }
}
