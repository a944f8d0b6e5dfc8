import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { VaultSource } from "../src/vault/source/remote.ts";
import { scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/**
 * Logins and leases of a store that speaks like HashiCorp Vault, as its documentation describes it, on a clock that a test moves:
 * what is renewed, made anew and ended, and when. That each goes over the wire as it should is proven with the real programs.
 */
const SECRET_ID = "secret-id-0123456789";
const LABEL = "acme-made";

let api: TestProvider;
let store: TestProvider;
let bench: Bench;
/** What the store says; a status in place of an answer, by the end of its path. */
let says: {
  token: string | null;
  tokenS: unknown;
  tokenRenews: boolean;
  leaseId: unknown;
  leaseS: unknown;
  leaseRenews: unknown;
  renewedS: unknown;
  data: Record<string, unknown> | null;
};
let refuses: Map<string, number>;
let kept: { version: number; source: VaultSource; opener: string };
let logins: number;
let made: number;
/** What the store was asked since a test looked last, with which token. */
let asked: string[];
let during: Map<string, () => unknown>;
/** What a limit of the fleet takes its time with before each request. */
let counted: () => Promise<void>;

beforeEach(async () => {
  [api, store] = await Promise.all([startProvider(), startProvider()]);
  says = {
    token: null,
    tokenS: 1_000,
    tokenRenews: true,
    leaseId: null,
    leaseS: 300,
    leaseRenews: true,
    renewedS: 300,
    data: null,
  };
  refuses = new Map();
  during = new Map();
  counted = async () => undefined;
  logins = 0;
  made = 0;
  asked = [];
  store.answer(async ({ method, url, headers, body }, response) => {
    const token = headers["x-vault-token"] ?? null;
    const path = url.replace("/v1/", "");
    const step = path.split("/").at(-1) ?? "";
    const sent = body === "" ? {} : (JSON.parse(body) as Record<string, unknown>);
    asked.push([step, token ?? sent["secret_id"], sent["lease_id"]].filter((one) => one != null).join(" "));
    await during.get(step)?.();
    const answer = (status: number, value: object): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    const status = refuses.get(step);
    if (status !== undefined) return answer(status, { errors: [] });
    const granted = (name: unknown) => ({
      auth: { client_token: name, lease_duration: says.tokenS, renewable: says.tokenRenews },
    });
    switch (`${method} ${path}`) {
      case "POST auth/approle/login":
        logins += 1;
        return answer(200, granted(says.token ?? `hvs.login-${logins}`));
      case "POST auth/token/renew-self":
        return answer(200, granted(token));
      case "POST auth/token/revoke-self":
      case "POST sys/leases/revoke":
        return void response.writeHead(204).end();
      case "POST sys/leases/renew":
        return answer(200, { lease_duration: says.renewedS });
      case "GET secret/data/app":
        return answer(200, { data: { data: says.data ?? { key: "kept-at-the-store" } } });
      case "GET db/creds/app": {
        made += 1;
        const data = says.data ?? { user: `user-${made}`, password: "made-for-a-while" };
        const lease_id = says.leaseId ?? `lease-${made}`;
        return answer(200, { lease_id, lease_duration: says.leaseS, renewable: says.leaseRenews, data });
      }
      default:
        return answer(404, {});
    }
  });
});
afterEach(async () => {
  await bench.close();
  await api.close();
  await store.close();
});

const KEPT = { kind: "vault-kv", path: "secret/data/app", field: "key" } as const;
const MADE = { kind: "vault-dynamic", path: "db/creds/app", field: "user:password" } as const;

async function begin(of: typeof KEPT | typeof MADE, change: Partial<VaultSource> = {}): Promise<void> {
  const { path, ...rest } = of;
  const source: VaultSource = {
    ...rest,
    ...{ url: `${store.origin}/v1/${path}`, ca: null, network: "private", leaseS: 5 },
    ...{ roleId: "role-of-the-gateway", authMount: "approle", ...change },
  };
  kept = { version: 1, source, opener: SECRET_ID };
  bench = await startBench(
    `
format: gw.pack/v1
pack: acme
provider: { origin: "${api.origin}", credential: ${LABEL}, auth: { scheme: bearer }, network: private }
actions:
  thing.list: { effect: read, request: { method: GET, path: /v1/things } }
`,
    {
      credentials: [[LABEL, { eachUse: false, disabled: false, origin: api.origin }]],
      hub: {
        ...{ admit: () => undefined, beforeSend: async () => undefined },
        ...{ holdsAnswers: () => false, beforeAnswer: async () => undefined },
        async count() {
          await counted();
          return { settle: () => undefined, giveBack: () => undefined };
        },
      },
      kept: {
        get [LABEL]() {
          return kept;
        },
      },
    },
  );
}

async function read(): Promise<CallResult> {
  const who = scriptedCaller();
  const run = await bench.openApproved(who, ["acme.thing.list"]);
  return bench.gateway.startCall(who, run.id, { action: "acme.thing.list", input: {} }).done;
}

/** A call that goes out, and what the store was asked for it and beside it. */
async function reads(...expected: readonly string[]): Promise<void> {
  assert.equal((await read()).outcome, "success");
  await wasAsked(...expected);
}

async function wasAsked(...expected: readonly string[]): Promise<void> {
  await untilDone(bench.time, 0, () => asked.length >= expected.length);
  await bench.time.advance(0);
  assert.deepEqual(asked.splice(0).sort(), [...expected].sort());
}

const after = (s: number) => bench.time.advance(s * 1_000);
const sent = () => api.received.at(-1)?.headers.authorization;
const login = (secretId = SECRET_ID): string => `login ${secretId}`;
const once = (n: number): string => `hvs.login-${n}`;

test("a login is used until half of its time is over, renewed from then on, and made anew once it is nearly over", async () => {
  await begin(KEPT);
  await reads(login(), `app ${once(1)}`);
  assert.equal(sent(), "Bearer kept-at-the-store");
  await after(4.999);
  await reads();
  await after(0.001);
  await reads(`app ${once(1)}`);
  await after(494.999);
  await reads(`app ${once(1)}`);
  await after(5);
  await reads(`renew-self ${once(1)}`, `app ${once(1)}`);
  await after(499.999);
  await reads(`app ${once(1)}`);
  // Four fifths after it was renewed: Vault takes it for longer, and is told that nobody needs it.
  await after(300.001);
  await reads(`revoke-self ${once(1)}`, login(), `app ${once(2)}`);
});

test("a login just before its end is renewed still; one that Vault will not renew is replaced and ended", async () => {
  await begin(KEPT);
  await reads(login(), `app ${once(1)}`);
  await after(799.999);
  await reads(`renew-self ${once(1)}`, `app ${once(1)}`);
  await after(500);
  refuses.set("renew-self", 400);
  await reads(`renew-self ${once(1)}`, login(), `revoke-self ${once(1)}`, `app ${once(2)}`);
  refuses.clear();
  says.tokenRenews = false;
  await after(800);
  await reads(`revoke-self ${once(2)}`, login(), `app ${once(3)}`);
  await after(500);
  await reads(login(), `revoke-self ${once(3)}`, `app ${once(4)}`);
  // It is given back though no other one takes its place.
  refuses.set("login", 500);
  await after(800);
  await assert.rejects(read(), denies("source_unavailable"));
  await wasAsked(`revoke-self ${once(4)}`, login());
});

test("what a login is made with is never sent as its token, though the login ends before it can be used", async () => {
  says.tokenS = 100;
  await begin(KEPT);
  counted = async () => {
    if (asked.length > 0) await after(80);
  };
  await assert.rejects(read(), denies("source_unavailable"));
  await wasAsked(login(), `revoke-self ${once(1)}`);
});

for (const [words, tokenS, lastsMs] of [
  ["no time", undefined, 1_000],
  ["a time of nothing", 0, 1_000],
  ["a time that is over already", -5, 1_000],
  ["a second", 1, 1_000],
  ["a year", 31_536_000, 69_120_000],
] as const) {
  test(`a login for ${words} is used for at least a second, and for no more than most of a day`, async () => {
    says.tokenS = tokenS;
    says.tokenRenews = false;
    await begin(KEPT, { leaseS: 0.001 });
    await reads(login(), `app ${once(1)}`);
    await bench.time.advance(lastsMs / (lastsMs > 1_000 ? 1.6 : 2) - 1);
    await reads(`app ${once(1)}`);
    await bench.time.advance(1);
    await reads(login(), `revoke-self ${once(1)}`, `app ${once(2)}`);
  });
}

test("a login that gives no token which could be sent is none, and the store is not asked with it", async () => {
  await begin(KEPT);
  for (const token of ["seven-7", "two words of it", "x".repeat(4_097), "línea-larga"]) {
    says.token = token;
    await assert.rejects(read(), denies("source_unavailable"));
    await wasAsked(login());
    await after(600);
  }
  for (const token of ["eight-88", "x".repeat(4_096)]) {
    says.token = token;
    assert.equal((await read()).outcome, "success");
    asked.length = 0;
    await after(900);
  }
  assert.ok(!JSON.stringify(bench.events()).includes("eight-88"));
});

test("a token that Vault took back is worth one more login and no more, and a new one none", async () => {
  await begin(KEPT);
  refuses.set("app", 403);
  await assert.rejects(read(), denies("source_unavailable"));
  await wasAsked(login(), `app ${once(1)}`);
  refuses.clear();
  await after(600);
  await reads(`renew-self ${once(1)}`, `app ${once(1)}`);
  await after(5);
  refuses.set("app", 500);
  await assert.rejects(read(), denies("source_unavailable"));
  await wasAsked(`app ${once(1)}`);
  await after(60);
  refuses.set("app", 403);
  await assert.rejects(read(), denies("source_unavailable"));
  await wasAsked(`app ${once(1)}`, `revoke-self ${once(1)}`, login(), `app ${once(2)}`);
});

test("a field that is not there, or no text, is no secret", async () => {
  await begin(KEPT);
  for (const data of [{}, { key: 7 }, { key: null }]) {
    says.data = data;
    await assert.rejects(read(), denies("source_unavailable"));
    await after(400);
  }
  assert.equal(api.received.length, 0);
});

test("what an operator put in its place is asked with from then on, and what came of the one before is ended", async () => {
  await begin(MADE);
  await reads(login(), `app ${once(1)}`);
  kept = { ...kept, version: 2, opener: "another-secret-id" };
  await reads(`revoke-self ${once(1)}`, login("another-secret-id"), `app ${once(2)}`);
  kept = { ...kept, version: 3 };
  bench.gateway.tokens.endReplaced(() => "3 of old" as never);
  await wasAsked(`revoke-self ${once(2)}`);
  bench.gateway.tokens.endReplaced(() => "4 of old" as never);
  await wasAsked();
  await reads(login("another-secret-id"), `app ${once(3)}`);
  bench.gateway.tokens.endReplaced(() => "3 of old" as never);
  await wasAsked();
  bench.gateway.tokens.endReplaced(() => null);
  await wasAsked(`revoke-self ${once(3)}`);
});

for (const [words, step, more] of [
  ["a login", "login", []],
  ["what is made", "app", [`app ${once(1)}`]],
] as const) {
  test(`${words} that is answered after its secret was replaced is ended, and nothing goes out with it`, async () => {
    await begin(MADE);
    during.set(step, () => {
      during.clear();
      kept = { ...kept, version: 2 };
      bench.gateway.tokens.endReplaced(() => "2 of old" as never);
    });
    await assert.rejects(read(), denies("source_unavailable"));
    await wasAsked(login(), ...more, `revoke-self ${once(1)}`);
    assert.equal(api.received.length, 0);
  });

  test(`${words} that is answered behind the lock is ended there`, async () => {
    await begin(MADE);
    let locked: Promise<void> | null = null;
    during.set(step, async () => {
      during.clear();
      const shut = Promise.withResolvers<void>();
      locked = bench.gateway.lock("at night", "ada", shut.resolve);
      await shut.promise;
    });
    await assert.rejects(read(), denies("gateway_locked"));
    await (locked ?? assert.fail("it was not asked"));
    await wasAsked(login(), ...more, `revoke-self ${once(1)}`);
    assert.equal(api.received.length, 0);
  });
}

test("what is made with an operator's own token, and answered behind the lock or for another one, is ended by itself", async () => {
  for (const lock of [true, false]) {
    await begin(MADE, { roleId: null });
    let locked: Promise<void> | null = null;
    during.set("app", async () => {
      during.clear();
      const shut = Promise.withResolvers<void>();
      if (lock) locked = bench.gateway.lock("at night", "ada", shut.resolve);
      else kept = { ...kept, version: 2, opener: "another-token" };
      if (lock) await shut.promise;
    });
    await assert.rejects(read(), denies(lock ? "gateway_locked" : "source_unavailable"));
    await locked;
    await wasAsked(`renew-self ${SECRET_ID}`, `app ${SECRET_ID}`, `revoke ${SECRET_ID} lease-${made}`);
    assert.equal(api.received.length, 0);
    if (lock) await bench.close();
  }
});

test("what is made with a login that ended meanwhile is not lent", async () => {
  says.tokenS = 100;
  await begin(MADE);
  during.set("app", () => after(80));
  await assert.rejects(read(), denies("source_unavailable"));
  await wasAsked(login(), `app ${once(1)}`, `revoke-self ${once(1)}`);
});

test("what was made hangs on its login however often that is renewed", async () => {
  says.leaseS = 3_000;
  says.renewedS = 3_000;
  await begin(MADE, { leaseS: 100 });
  await reads(login(), `app ${once(1)}`);
  await after(500);
  await reads(`renew-self ${once(1)}`, `renew ${once(1)} lease-1`);
  await after(100);
  says.renewedS = 0;
  await reads(`renew ${once(1)} lease-1`, `app ${once(1)}`);
  await after(400);
  says.renewedS = 3_000;
  await reads(`renew-self ${once(1)}`, `renew ${once(1)} lease-2`);
  await after(100);
  says.renewedS = 0;
  await reads(`renew ${once(1)} lease-2`, `app ${once(1)}`, `revoke ${once(1)} lease-1`);
});

test("an operator who ends what a store gave is told whether it was done", async () => {
  await begin(MADE);
  const end = () => bench.gateway.tokens.revoke(LABEL, "ada");
  assert.equal(await end(), true, "there is nothing");
  await reads(login(), `app ${once(1)}`);
  assert.equal(await end(), true);
  await wasAsked(`revoke-self ${once(1)}`);
  await reads(login(), `app ${once(2)}`);
  refuses.set("revoke-self", 500);
  assert.equal(await end(), false);
  await wasAsked(`revoke-self ${once(2)}`);
  await reads(login(), `app ${once(3)}`);
});

test("the lock ends what was made with its login, and nothing of it is used behind the next unlock", async () => {
  await begin(MADE);
  await reads(login(), `app ${once(1)}`);
  await bench.gateway.lock("at night", "ada");
  await wasAsked(`revoke-self ${once(1)}`);
  await bench.unlock();
  await reads(login(), `app ${once(2)}`);
});

test("what Vault made is lent for two thirds of its time and then renewed, as long as that is worth it", async () => {
  says.tokenS = 86_400;
  await begin(MADE, { leaseS: 3_600 });
  await reads(login(), `app ${once(1)}`);
  assert.equal(sent(), "Bearer user-1:made-for-a-while");
  await after(199.999);
  await reads();
  await after(0.001);
  await reads(`renew ${once(1)} lease-1`);
  assert.equal(sent(), "Bearer user-1:made-for-a-while");
  // Half of what it was made for is still worth it, and less is not.
  await after(200);
  says.renewedS = 150;
  await reads(`renew ${once(1)} lease-1`);
  await after(99.999);
  await reads();
  await after(0.001);
  says.renewedS = 149;
  await reads(`renew ${once(1)} lease-1`, `app ${once(1)}`);
  assert.equal(sent(), "Bearer user-2:made-for-a-while");
  // The one before may be on its way still: it is ended when the next but one is made.
  await after(200);
  says.renewedS = "300";
  await reads(`renew ${once(1)} lease-2`, `app ${once(1)}`);
  await after(99.999);
  refuses.set("renew", 400);
  await bench.gateway.tokens.test(LABEL, "ada");
  await wasAsked(`renew ${once(1)} lease-3`, `app ${once(1)}`, `revoke ${once(1)} lease-2`);
  // One whose time is over by itself needs nobody to end it.
  await after(200.001);
  await reads(`renew ${once(1)} lease-4`, `app ${once(1)}`);
  await bench.gateway.lock("at night", "ada");
  await wasAsked(`revoke-self ${once(1)}`);
});

test("what Vault made is not renewed when its time is over, and what cannot be renewed is lent for all of its time", async () => {
  says.tokenS = 86_400;
  await begin(MADE, { leaseS: 3_600 });
  await reads(login(), `app ${once(1)}`);
  await after(299.999);
  await reads(`renew ${once(1)} lease-1`);
  await after(300);
  says.leaseRenews = "yes";
  await reads(`app ${once(1)}`);
  await after(299.999);
  await reads();
  await after(0.001);
  await reads(`app ${once(1)}`);
  assert.equal(sent(), "Bearer user-3:made-for-a-while");
});

test("what Vault made is lent for no longer than the login lasts that it was made with, nor than the operator said", async () => {
  says.tokenRenews = false;
  says.leaseS = 3_000;
  await begin(MADE, { leaseS: 3_600 });
  await reads(login(), `app ${once(1)}`);
  await after(799.999);
  await reads();
  await after(0.001);
  // It ends with its login, which may be used by a call on its way, so that the next but one ends it.
  await reads(login(), `app ${once(2)}`);
  await after(800);
  await reads(login(), `app ${once(3)}`, `revoke-self ${once(1)}`);
  await after(800);
  kept = { ...kept, source: { ...kept.source, leaseS: 10 } };
  await reads(login(), `app ${once(4)}`, `revoke-self ${once(2)}`);
  await after(9.999);
  await reads();
});

test("what names no lease is not lent; what names none that could be asked for is lent once and not renewed", async () => {
  await begin(MADE, { leaseS: 3_600 });
  for (const seconds of [undefined, 0, -1, "300"]) {
    says.leaseS = seconds;
    await assert.rejects(read(), denies("source_unavailable"));
    await after(400);
  }
  says.leaseS = 300;
  says.tokenS = 86_400;
  for (const id of ["x".repeat(1_025), "two words", 7]) {
    says.leaseId = id;
    assert.equal((await read()).outcome, "success");
    asked.length = 0;
    await after(200);
    says.leaseId = "l";
    await reads(`app ${once(logins)}`);
    await after(200);
    await reads(`renew ${once(logins)} l`);
    await bench.gateway.lock("at night", "ada");
    await bench.unlock();
    asked.length = 0;
  }
});

test("what was made and is refused is made anew, but not before a minute, and not renewed", async () => {
  says.tokenS = 86_400;
  await begin(MADE, { leaseS: 3_600 });
  await reads(login(), `app ${once(1)}`);
  api.answer(({ headers }, response) => {
    const old = headers.authorization?.includes("user-1:") === true;
    response.writeHead(old ? 401 : 200, { "content-type": "application/json" }).end("{}");
  });
  await after(59.999);
  assert.equal((await read()).outcome, "error");
  await wasAsked();
  await after(0.001);
  await reads(`app ${once(1)}`);
  assert.equal(sent(), "Bearer user-2:made-for-a-while");
});

test("an operator's own token is renewed from half of what Vault grants on, and ended by nobody; what it made is", async () => {
  await begin(MADE, { roleId: null, leaseS: 3_600 });
  await reads(`renew-self ${SECRET_ID}`, `app ${SECRET_ID}`);
  await after(299.999);
  await reads(`renew ${SECRET_ID} lease-1`);
  await after(200.001);
  await reads(`renew-self ${SECRET_ID}`, `renew ${SECRET_ID} lease-1`);
  refuses.set("renew", 400);
  for (const more of [[], [`revoke ${SECRET_ID} lease-1`]]) {
    await bench.gateway.tokens.test(LABEL, "ada");
    await wasAsked(`renew ${SECRET_ID} lease-${made - 1}`, `app ${SECRET_ID}`, ...more);
  }
  await bench.gateway.lock("at night", "ada");
  await wasAsked(`revoke ${SECRET_ID} lease-2`, `revoke ${SECRET_ID} lease-3`);
});

test("a token that Vault will not renew is not tried again; a store that is down is, after a minute", async () => {
  for (const [status, again] of [
    [400, false],
    [499, false],
    [500, true],
  ] as const) {
    refuses.set("renew-self", status);
    await begin(KEPT, { roleId: null });
    await reads(`renew-self ${SECRET_ID}`, `app ${SECRET_ID}`);
    await after(59.999);
    await reads(`app ${SECRET_ID}`);
    await after(5);
    await reads(...(again ? [`renew-self ${SECRET_ID}`] : []), `app ${SECRET_ID}`);
    await bench.close();
  }
  refuses.clear();
  for (const [renewable, seconds, waitS] of [
    [false, 100, null],
    [true, "100", null],
    [true, 0, null],
    [true, 1, 1],
    [true, 864_000, 43_200],
  ] as const) {
    Object.assign(says, { tokenRenews: renewable, tokenS: seconds });
    await begin(KEPT, { roleId: null, leaseS: 0.5 });
    await reads(`renew-self ${SECRET_ID}`, `app ${SECRET_ID}`);
    await after((waitS ?? 86_400) - 0.001);
    await reads(`app ${SECRET_ID}`);
    await after(0.5);
    await reads(...(waitS === null ? [] : [`renew-self ${SECRET_ID}`]), `app ${SECRET_ID}`);
    if (waitS !== 43_200) await bench.close();
  }
});
