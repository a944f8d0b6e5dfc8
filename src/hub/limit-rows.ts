import { canonicalJson } from "../kernel/canonical-json.ts";
import { showIdentifier } from "../kernel/display.ts";
import { Denied } from "../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";

/** Seals under a key that all gateways of one vault have, and the database does not. */
export interface LimitSeal {
  /** Another name for the limit, that tells the database nothing. */
  hide(name: string): string;
  seal(about: string, plain: Buffer): Buffer;
  /** Undefined for what was not sealed for exactly this. */
  open(about: string, sealed: Buffer): Buffer | undefined;
}

export interface LimitPlace {
  readonly hubId: string;
  readonly vaultId: string;
  readonly name: string;
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
}

/** A row of the join of a limit's head with the shares of its gateways. */
export interface LimitRow {
  readonly now_ms: number;
  readonly version: string | null;
  /** Who wrote the head last, as the database knows them. */
  readonly login: string | null;
  readonly head: Buffer | null;
  readonly gateway: string | null;
  readonly serial: string | null;
  readonly share: Buffer | null;
}

/** What all gateways took of a limit on a day, at one version of its head. */
export interface LimitState {
  readonly version: number;
  /** Of each gateway that took something: how often its share was written. */
  readonly serials: Readonly<Record<string, number>>;
  /** What the other gateways took. */
  readonly others: number;
  readonly own: { readonly serial: number; readonly used: number };
}

/**
 * The head names the serial of every share, and each is sealed for its place and number: a share that is edited, put back, moved
 * or left out does not fit, and a head that is put back is older than what its gateways remember.
 */
export function readLimit(rows: readonly LimitRow[], place: LimitPlace, own: string, seal: LimitSeal): LimitState {
  const shares = rows.flatMap(({ gateway, serial, share }) =>
    gateway === null || share === null ? [] : [{ gateway, serial: Number(serial), share }],
  );
  const [first] = rows;
  const version = Number(first?.version ?? 0);
  const serials = first?.head == null ? {} : readSerials(opened(seal, headAbout(place, version), first.head));
  const named = Object.keys(serials).sort();
  const shown = shares.map(({ gateway }) => gateway).sort();
  if (canonicalJson(named) !== canonicalJson(shown))
    throw tampered(
      place.name,
      rows[0]?.login ?? null,
      shown.find((one) => !named.includes(one)),
    );
  const used = shares.map(({ gateway, serial, share }) => {
    if (serials[gateway] !== serial) throw tampered(place.name, rows[0]?.login ?? null);
    const { used } = opened(seal, shareAbout(place, gateway, serial), share);
    // An owned gateway can lie about what it took itself; it gives the others nothing by that.
    if (typeof used !== "number" || !Number.isSafeInteger(used) || used < 0)
      throw tampered(place.name, rows[0]?.login ?? null);
    return { gateway, serial, used };
  });
  const mine = used.find(({ gateway }) => gateway === own);
  return {
    version,
    serials,
    others: used.reduce((sum, one) => sum + (one === mine ? 0 : one.used), 0),
    own: { serial: mine?.serial ?? 0, used: mine?.used ?? 0 },
  };

  function readSerials({ serials }: JsonObject): Readonly<Record<string, number>> {
    if (!isJsonObject(serials) || Object.values(serials).some((one) => typeof one !== "number"))
      throw tampered(place.name, rows[0]?.login ?? null);
    return serials as Record<string, number>;
  }

  function opened(by: LimitSeal, about: string, sealed: Buffer): JsonObject {
    const plain = by.open(about, sealed);
    try {
      const body = JSON.parse(plain?.toString("utf8") ?? "null") as JsonValue;
      if (isJsonObject(body)) return body;
    } catch {
      // Somebody who has the key sealed what no gateway writes.
    }
    throw tampered(place.name, rows[0]?.login ?? null);
  }
}

/** The next head and the next share of this gateway, sealed, and what they say. */
export function writeLimit(
  before: LimitState,
  used: number,
  place: LimitPlace,
  own: string,
  seal: LimitSeal,
): { readonly next: LimitState; readonly head: Buffer; readonly share: Buffer } {
  const version = before.version + 1;
  const serial = before.own.serial + 1;
  const serials = { ...before.serials, [own]: serial };
  const sealed = (about: string, body: JsonValue) => seal.seal(about, Buffer.from(canonicalJson(body), "utf8"));
  return {
    next: { ...before, version, serials, own: { serial, used } },
    head: sealed(headAbout(place, version), { serials }),
    share: sealed(shareAbout(place, own, serial), { used }),
  };
}

function headAbout({ hubId, vaultId, name, day }: LimitPlace, version: number): string {
  return canonicalJson({ format: "gw.hub-limit-head/v1", hub_id: hubId, vault_id: vaultId, name, day, version });
}

function shareAbout({ hubId, vaultId, name, day }: LimitPlace, gateway: string, serial: number): string {
  const format = "gw.hub-limit-share/v1";
  return canonicalJson({ format, hub_id: hubId, vault_id: vaultId, name, day, gateway, serial });
}

/** Whoever wrote the head last has nothing to do with a share that somebody put beside it. */
function tampered(name: string, login: string | null, beside?: string): Denied {
  const who = login === null ? "" : ` The last to write its head was the database login ${showIdentifier(login)}.`;
  const whose =
    beside === undefined
      ? ""
      : ` It has a share of ${showIdentifier(beside.slice(0, 64))} that its head does not name: the login of that gateway can put one there.`;
  return new Denied(
    "hub_limit_tampered",
    `What the hub shows of the limit ${name} was not written by its gateways, or not all of it is shown. Nothing that it counts is sent.${whose}${who} Find out who changed the database.`,
  );
}
