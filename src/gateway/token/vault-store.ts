import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import type { VaultSource } from "../../vault/source/remote.ts";
import { requireUnlocked } from "../core.ts";
import { type Asked, type Asking, askStore, type Failed, failed, pick } from "./ask-store.ts";
import { askVault, isDone, loanOrNull, namedBack, secretIdLoan, tokenLoan } from "./ask-vault.ts";
import { sourceRequest, type TokenRequest } from "./request.ts";
import { createRenewals } from "./vault-renewals.ts";

/** What a login gave. Whatever was made with it ends with it. */
interface Login {
  readonly token: Secret;
  readonly version: SecretVersion;
  readonly renewable: boolean;
  /** From when on it is renewed before it is used; until when Vault takes it. */
  readonly renewBootMs: number;
  readonly endBootMs: number;
  readonly asking: Asking<VaultSource>;
}

/** A secret that Vault made for a while, and that is ended when nobody needs it any more. */
interface Lease {
  readonly id: string;
  readonly secret: Secret;
  readonly renewable: boolean;
  readonly firstMs: number;
  readonly endBootMs: number;
  /** Null where it was made with a token that is sealed. */
  readonly login: Login | null;
  readonly asking: Asking<VaultSource>;
}

/**
 * HashiCorp Vault and OpenBao: logins by AppRole, secrets that are kept, and secrets that are made under a lease. What is ended
 * beside the call that found it is given to `part`: nobody waits for it, and it has all that it needs to go out behind a lock.
 */
export function createVaultStore(part: (end: Promise<boolean>) => void) {
  const logins = new Map<string, Login>();
  const leases = new Map<string, Lease>();
  /** The one before, which calls on their way may still go with: it is ended when the next but one is made. */
  const earlier = new Map<string, Lease>();
  const renewals = createRenewals();

  function findLogin({ core, label, version }: Asking<VaultSource>): Login | null {
    const one = logins.get(label);
    if (one === undefined) return null;
    // An operator gave another secret since: what came of the one before has no use any more.
    if (one.version !== version) part(end(label, true));
    else if (core.ports.clock.bootMs() < one.endBootMs) return one;
    else forgetLogin(label);
    return null;
  }

  /** Vault takes it for longer than it is used here, or it may have been refused for what it asked: so it is ended there. */
  function forgetLogin(label: string): void {
    const login = logins.get(label);
    logins.delete(label);
    if (login !== undefined && !hangsOn(label, login)) part(endLogin(login, true));
  }

  /** Whether something was made with it that a call may still go with: it ends with that. */
  function hangsOn(label: string, login: Login): boolean {
    return leases.get(label)?.login === login || earlier.get(label)?.login === login;
  }

  /** The login's token, or the one that is sealed. */
  function loanFor(asking: Asking<VaultSource>): HttpLoan {
    const { core, label, source } = asking;
    const login = findLogin(asking);
    if (login === null && source.roleId !== null)
      throw new Denied("source_unavailable", `The login of ${label} ended before it could be used.`);
    return tokenLoan(label, login?.token.copy() ?? requireUnlocked(core).lendOpener(label));
  }

  async function read(asking: Asking<VaultSource>): Promise<Asked> {
    const held = findLogin(asking) !== null;
    const first = await readOnce(asking);
    // A token that was taken back since is worth one more login.
    if (first.kind !== "failed" || !held || first.status !== 403) return first;
    forgetLogin(asking.label);
    return readOnce(asking);
  }

  async function readOnce(asking: Asking<VaultSource>): Promise<Asked> {
    const { source, label } = asking;
    const trouble = await enter(asking);
    if (trouble !== null) return trouble;
    if (source.kind === "vault-dynamic") {
      const kept = await renewLease(asking);
      if (kept !== null) return kept;
    }
    const request = sourceRequest(`source.${label}`, label, source, { method: "GET", url: source.url, body: null });
    if (source.kind === "vault-dynamic") return makeOne(asking, request);
    const answer = await askStore(asking, request, () => loanFor(asking));
    if (answer.kind === "failed") return answer;
    const { data } = answer.body;
    return pick(isJsonObject(data) ? data["data"] : null, [source.field]);
  }

  async function makeOne(asking: Asking<VaultSource>, request: TokenRequest): Promise<Asked> {
    // Lent twice: a lock may come before the answer, and what was made has to be ended all the same.
    const spare = loanFor(asking);
    try {
      const answer = await askStore(asking, request, () => loanFor(asking));
      return answer.kind === "failed" ? answer : await takeMade(asking, answer.body, spare);
    } finally {
      spare.release();
    }
  }

  /** Makes sure that a login is at hand, where one is needed: the same for as long as Vault renews it. */
  async function enter(asking: Asking<VaultSource>): Promise<Failed | null> {
    const { core, source } = asking;
    if (source.roleId === null) {
      await renewals.renew(asking, () =>
        askVault(asking, "exchange", "auth/token/renew-self", {}, () => namedBack(loanFor(asking))),
      );
      return null;
    }
    const login = findLogin(asking);
    if (login !== null && core.ports.clock.bootMs() < login.renewBootMs) return null;
    if (login?.renewable === true) {
      const lend = () => namedBack(loanFor(asking));
      const renewed = await askVault(asking, "exchange", "auth/token/renew-self", {}, lend);
      if (renewed.kind === "answered" && (await keepLogin(asking, renewed.body))) return null;
    }
    const { roleId: role_id, authMount } = source;
    const answer = await askVault(asking, "exchange", `auth/${authMount}/login`, { role_id }, () =>
      secretIdLoan(asking),
    );
    if (answer.kind === "failed") return answer;
    return (await keepLogin(asking, answer.body)) ? null : failed("its login gave no token that could be sent");
  }

  /** False where nothing could be made of the answer. */
  async function keepLogin(asking: Asking<VaultSource>, { auth }: JsonObject): Promise<boolean> {
    const { core, label, version } = asking;
    const { client_token: token, lease_duration: seconds, renewable } = isJsonObject(auth) ? auth : {};
    if (typeof token !== "string" || !TOKEN.test(token)) return false;
    const lifeMs = typeof seconds === "number" && seconds > 0 ? Math.min(seconds, DAY_S) * 1_000 : LIFE_MIN_MS;
    const own = Secret.fromText(token);
    // It may have been locked meanwhile, or replaced or removed: then nobody needs it, and nobody else would end it.
    if (!isCurrent(asking)) {
      await endLogin({ token: own, asking }, true);
      requireUnlocked(core);
      throw replaced(label);
    }
    const before = logins.get(label) ?? null;
    const same = before?.token.equals(own) ?? false;
    const atBootMs = core.ports.clock.bootMs();
    const next: Login = {
      ...{ token: own, version, renewable: renewable === true, asking },
      renewBootMs: atBootMs + Math.floor(lifeMs / 2),
      endBootMs: atBootMs + Math.max(Math.floor(lifeMs * 0.8), LIFE_MIN_MS),
    };
    if (same) {
      before?.token.wipe();
      for (const kept of [leases, earlier]) {
        const lease = kept.get(label);
        if (lease !== undefined && lease.login === before) kept.set(label, { ...lease, login: next });
      }
    } else forgetLogin(label);
    logins.set(label, next);
    return true;
  }

  /** The same secret for longer, where Vault says so: null where another one has to be made. */
  async function renewLease(asking: Asking<VaultSource>): Promise<Asked | null> {
    const { core, label, version } = asking;
    const lease = leases.get(label);
    if (lease === undefined) return null;
    const { clock } = core.ports;
    const ours = lease.asking.version === version && lease.login === findLogin(asking);
    if (!ours || !lease.renewable || clock.bootMs() >= lease.endBootMs) return null;
    const body = { lease_id: lease.id };
    const answer = await askVault(asking, "source", "sys/leases/renew", body, () => loanFor(asking));
    const seconds = answer.kind === "answered" ? answer.body["lease_duration"] : null;
    const lifeMs = typeof seconds === "number" ? seconds * 1_000 : 0;
    // Near the most that it may live Vault grants less and less: then it is time for another.
    if (lifeMs * 2 < lease.firstMs || leases.get(label) !== lease) return null;
    leases.set(label, { ...lease, endBootMs: clock.bootMs() + lifeMs });
    return { kind: "secret", secret: lease.secret.copy(), lifeMs: lentForMs(asking, lifeMs, true) };
  }

  /** What was made for a while is gone after that, whatever the operator would lend it for. */
  async function takeMade(asking: Asking<VaultSource>, body: JsonObject, spare: HttpLoan): Promise<Asked> {
    const { core, label, source } = asking;
    const { data, lease_id: id, lease_duration: seconds } = body;
    if (typeof seconds !== "number" || !(seconds > 0)) return failed("it names no lease");
    const made = pick(data, source.field.split(":"));
    if (made.kind === "failed") return made;
    const firstMs = seconds * 1_000;
    const renewable = body["renewable"] === true;
    const named = typeof id === "string" && LEASE_ID.test(id) ? id : null;
    const endBootMs = core.ports.clock.bootMs() + firstMs;
    if (!isCurrent(asking)) {
      const lease = { id: named ?? "", secret: made.secret, asking, endBootMs };
      if (named !== null && source.roleId === null) await endLease(lease, () => spare, true);
      made.secret.wipe();
      requireUnlocked(core);
      throw replaced(label);
    }
    const login = findLogin(asking);
    if (login === null && source.roleId !== null) {
      made.secret.wipe();
      return failed("the login that it was made with ended before it came");
    }
    const [before, oldest] = [leases.get(label), earlier.get(label)];
    if (before === undefined) earlier.delete(label);
    else earlier.set(label, before);
    leases.delete(label);
    if (named !== null)
      leases.set(label, { id: named, secret: made.secret.copy(), renewable, firstMs, endBootMs, login, asking });
    if (oldest !== undefined) await letGo(oldest, asking);
    return { ...made, lifeMs: lentForMs(asking, firstMs, renewable) };
  }

  /** With the login that it was made with, where that is not used any more. */
  function letGo(lease: Lease, asking: Asking<VaultSource>): Promise<boolean> {
    const { label } = asking;
    const { login } = lease;
    if (login === null || login === logins.get(label) || hangsOn(label, login))
      return endLease(lease, () => loanFor(asking), false);
    lease.secret.wipe();
    return endLogin(login, true);
  }

  /** Given up while it can still be renewed; and never lent for longer than the login that it hangs on. */
  function lentForMs(asking: Asking<VaultSource>, lifeMs: number, renewable: boolean): number {
    const login = findLogin(asking);
    const leftMs = login === null ? lifeMs : login.endBootMs - asking.core.ports.clock.bootMs();
    return Math.min(renewable ? Math.ceil((lifeMs * 2) / 3) : lifeMs, leftMs);
  }

  /**
   * Has Vault end what was made, and forgets it: logins, and all that was made with them; a lease alone where the token is
   * sealed. What is needed for it is taken at once, so that it can go out behind a lock. False where Vault did not do it.
   */
  async function end(label: string, behindLock: boolean): Promise<boolean> {
    const made = [leases.get(label), earlier.get(label)].filter((one) => one !== undefined);
    const ours = [logins.get(label), ...made.map(({ login }) => login)].filter((one) => one != null);
    for (const kept of [leases, earlier, logins]) kept.delete(label);
    renewals.forget(label);
    for (const { secret } of made) secret.wipe();
    const alone = made.filter(({ login }) => login === null);
    const ended = [...[...new Set(ours)].map((login) => endLogin(login, behindLock)), ...alone.map(endAlone)];
    return (await Promise.all(ended)).every((done) => done);

    function endAlone(lease: Lease): Promise<boolean> {
      const loan = loanOrNull(() => loanFor(lease.asking));
      if (loan === null) return Promise.resolve(false);
      return endLease(lease, () => loan, behindLock).finally(() => loan.release());
    }
  }

  function labels(): readonly string[] {
    return [...new Set([...logins.keys(), ...leases.keys(), ...earlier.keys(), ...renewals.labels()])];
  }

  /** Comes before the vault is another one, which may not open any more what opens Vault. */
  function endReplaced(versionOf: (label: string) => SecretVersion | null): void {
    for (const label of labels()) {
      const made = [logins.get(label), leases.get(label)?.asking, earlier.get(label)?.asking];
      const version = versionOf(label);
      if (made.some((one) => one !== undefined && one.version !== version)) part(end(label, true));
    }
  }

  return {
    read,
    end,
    endReplaced,
    /** Somebody refused what was made: it is not asked for again. */
    spend(label: string): void {
      const lease = leases.get(label);
      if (lease !== undefined) leases.set(label, { ...lease, renewable: false });
    },
    labels,
  };
}

/** Whether it is lent from here, and asked for with the secret that an operator gave last. */
function isCurrent({ core, label, version }: Asking<VaultSource>): boolean {
  return core.credentials()?.sourceOf(label)?.version === version;
}

function replaced(label: string): Denied {
  const words = `${label} was replaced or removed while its source was asked. Nothing was sent. Try again.`;
  return new Denied("source_unavailable", words);
}

const LIFE_MIN_MS = 1_000;
const DAY_S = 86_400;
const TOKEN = /^[\x21-\x7e]{8,4096}$/;
const LEASE_ID = /^[\x21-\x7e]{1,1024}$/;

/** That one is not ended stops nothing: it ends by itself, and the log has the attempt. */
async function endLease(
  { id, secret, asking, endBootMs }: Pick<Lease, "id" | "secret" | "asking" | "endBootMs">,
  lend: () => HttpLoan,
  behindLock: boolean,
) {
  secret.wipe();
  if (asking.core.ports.clock.bootMs() >= endBootMs) return true;
  return isDone(askVault(asking, "revoke", "sys/leases/revoke", { lease_id: id }, lend, behindLock));
}

async function endLogin({ token, asking }: Pick<Login, "token" | "asking">, behindLock: boolean): Promise<boolean> {
  const lend = () => tokenLoan(asking.label, token.copy());
  const asked = askVault(asking, "revoke", "auth/token/revoke-self", {}, lend, behindLock);
  return isDone(asked).finally(() => token.wipe());
}
