import { endsUnused } from "../conventions/grant/grant.ts";
import { RULE_EFFECTS } from "../conventions/passkey/demand.ts";
import { type Clock, isoTime } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../kernel/json.ts";
import { authorityLine, listAuthorities } from "../surfaces/cli/caller/list.ts";
import { removeCaller } from "../surfaces/cli/caller/remove.ts";
import { grantLines, removeGrant } from "../surfaces/cli/grant/grant.ts";
import type { LastUses } from "../surfaces/cli/grant/last-use.ts";
import { readRule, ruleWords, signApprovers, signRule } from "../surfaces/cli/vault/passkeys.ts";
import {
  ceilingRows,
  readPolicyChoice,
  STANDARDS,
  settingRows,
  signPolicyChoice,
} from "../surfaces/cli/vault/policy.ts";
import type { SignChange } from "../surfaces/cli/vault/sign-change.ts";
import type { VaultHome } from "../vault/files/home.ts";
import { keyIdOf } from "../vault/keys.ts";
import type { Policy } from "../vault/policy/policy.ts";
import { textOf } from "./http.ts";

export interface SettingShown {
  readonly name: string;
  readonly value: string;
  readonly safe: string;
  readonly values: readonly string[];
}

export interface GrantShown {
  readonly name: string;
  readonly until: string;
  readonly lines: readonly string[];
}

/** Signed policy as a person reads it. */
export interface PolicyShown {
  readonly version: number;
  readonly signed_at: string;
  readonly settings: readonly SettingShown[];
  readonly ceilings: readonly { readonly name: string; readonly value: string; readonly standard: number }[];
  readonly passkey: { readonly all: boolean; readonly effects: readonly string[]; readonly words: string } | null;
  readonly effects: readonly string[];
  readonly two_people: readonly string[];
  readonly grants: readonly GrantShown[];
  readonly callers: readonly { readonly name: string; readonly line: string }[];
  readonly operators: readonly { readonly name: string; readonly key_id: string; readonly reading_key_id: string }[];
}

export interface PolicyPorts {
  readonly home: VaultHome;
  readonly clock: Pick<Clock, "wallMs">;
  /** The whole log is read for it, elsewhere. */
  lastUses(): Promise<LastUses>;
  readonly sign: SignChange;
}

/** How a grant stands, as far as its uses tell. */
export interface GrantUse {
  readonly last_used_at: string | null;
  /** When it ends although its date has not come, unless it is used before. */
  readonly ends_unused_at: string;
  /** Whether it lets nothing pass any more. */
  readonly over: boolean;
}

export function createPolicyRoom({ home, clock, lastUses, sign }: PolicyPorts) {
  return {
    show: (): PolicyShown => showPolicy(home),
    /** When each grant last let something pass, and whether it still does. */
    async grantUses(): Promise<Readonly<Record<string, GrantUse>>> {
      const { grants } = home.readPolicy(home.readVault());
      const uses = await lastUses();
      const nowMs = clock.wallMs();
      return Object.fromEntries(
        grants.map((grant) => {
          const last = uses.get(grant.name) ?? null;
          const unusedMs = endsUnused(grant, last === null ? null : last.slice(0, 10));
          const over = Math.min(unusedMs, Date.parse(grant.until)) <= nowMs;
          return [grant.name, { last_used_at: last, ends_unused_at: isoTime(unusedMs), over }];
        }),
      );
    },
    async removeGrant(name: string): Promise<JsonObject> {
      await removeGrant(name, sign);
      return { grant: name };
    },
    async removeCaller(body: JsonObject): Promise<JsonObject> {
      const name = textOf(body, "name", 300);
      await removeCaller(name, sign);
      return { removed: name };
    },
    async set(body: JsonObject): Promise<JsonObject> {
      const chosen = readPolicyChoice(textOf(body, "setting", 60), textOf(body, "value", 60));
      const { words, lowered } = await signPolicyChoice(chosen, sign);
      return { words, lowered };
    },
    async decideWith(body: JsonObject): Promise<JsonObject> {
      const effect = textsOf(body["effects"]);
      const all = body["all"] === true;
      // What was named in a terminal stays named.
      const { credentials = [], packs = [] } = home.readPolicy(home.readVault()).decide.passkey ?? {};
      const any = !all && effect.length + credentials.length + packs.length === 0;
      const rule = readRule(
        any ? "any" : "passkey",
        any ? {} : all ? { all } : { effect, credential: credentials, pack: packs },
      );
      return { words: `A yes needs ${await signRule(rule, sign)}.` };
    },
    async approvers(body: JsonObject): Promise<JsonObject> {
      const action = textOf(body, "action", 200).trim();
      const count = body["count"];
      if (count !== "1" && count !== "2") throw new Denied("value_not_allowed", "One approver or two.");
      return { words: `${action}: ${await signApprovers(action, count, sign)}.` };
    },
  };
}

function showPolicy(home: VaultHome): PolicyShown {
  const vault = home.readVault();
  const policy: Policy = home.readPolicy(vault);
  const { passkey, twoPeople } = policy.decide;
  return {
    version: policy.version,
    signed_at: policy.signedAt,
    settings: settingRows(policy.settings).map(({ setting, value, safe, values }) => ({
      ...{ name: setting, value, safe, values },
    })),
    ceilings: ceilingRows(policy.ceilings).map(({ ceiling, value }) => ({
      name: ceiling,
      value: String(value),
      standard: STANDARDS[ceiling],
    })),
    passkey: passkey === null ? null : { all: passkey.all, effects: passkey.effects, words: ruleWords(passkey) },
    effects: RULE_EFFECTS,
    two_people: twoPeople,
    grants: policy.grants.map((grant) => ({
      ...{ name: grant.name, until: grant.until, lines: grantLines(grant) },
    })),
    callers: listAuthorities(policy).map((row) => ({ name: row.authority, line: authorityLine(row) })),
    operators: vault.operators.map(({ name, keyId, readingKey }) => ({
      ...{ name, key_id: keyId, reading_key_id: keyIdOf(readingKey) },
    })),
  };
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string").slice(0, 20) : [];
}
