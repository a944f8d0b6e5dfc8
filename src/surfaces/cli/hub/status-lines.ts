import { counted, showIdentifier } from "../../../kernel/display.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";

/** `gw status` of a gateway that belongs to a hub; nothing for one that does not. */
export function hubLines(hub: JsonValue | undefined): readonly string[] {
  return isJsonObject(hub) ? [...reachLines(hub), ...sharedLines(hub), ...limitLines(hub)] : [];
}

/** Only where operations are shared. */
function sharedLines({ operations }: JsonObject): readonly string[] {
  if (!isJsonObject(operations ?? null)) return [];
  const { term, rows, waiting } = operations as JsonObject;
  const behind = waiting === 0 ? "" : `, ${String(waiting)} not there yet`;
  return [`  shared    term ${String(term)}, ${String(rows)} rows on the hub${behind}`];
}

/** Whoever can read the key that a locked gateway asks with can ask in its place. */
export function waitingKeyLines(hub: JsonValue | undefined, mode: string): readonly string[] {
  if (!isJsonObject(hub) || hub["unlock_by_hub"] !== true || mode === "dedicated") return [];
  return [
    "  LOWERED   every program of this user can read waiting.key, and ask on the hub for the key that opens the credentials in this gateway's place, as signed policy allows (gw hub join without --unlock-by-hub ends it)",
  ];
}

/** As it was when this gateway last counted. */
function limitLines({ limits }: JsonObject): readonly string[] {
  const list = Array.isArray(limits) ? limits.filter((one: JsonValue) => isJsonObject(one)) : [];
  return list.map(({ name, says, used }) => {
    const taken = typeof used === "number" ? `${used} taken when this host last looked` : "not counted here yet";
    return `  limit     ${showIdentifier(String(name))}: ${showIdentifier(String(says))}; ${taken}`;
  });
}

function reachLines(hub: JsonObject): readonly string[] {
  const text = (name: string): string => showIdentifier(String(hub[name] ?? ""));
  const { trouble, reachable_ms: ms, asks } = hub;
  if (hub["waits_for_unlock"] === true) return [waitingLine(asks)];
  const behind = `tick ${text("tick")}, log ${text("behind")} behind`;
  if (isJsonObject(trouble)) {
    const why = `${showIdentifier(String(trouble["code"]))}: ${showIdentifier(String(trouble["message"]))}`;
    return [`  HUB       ${behind}; ${why}`];
  }
  const reach = typeof ms === "number" ? `${Math.max(1, Math.round(ms))} ms` : "connecting";
  return [`  hub       ${reach}, ${behind}; ${counted(Number(text("gateways")), "gateway")}${silentWords(hub)}`];
}

function waitingLine(asks: JsonValue | undefined): string {
  if (!isJsonObject(asks)) return "  hub       after the next unlock";
  const { trouble } = asks;
  if (!isJsonObject(trouble)) return "  hub       asks there to be unlocked: gw unlock --hub URL NAME";
  return `  HUB       cannot ask there to be unlocked; ${showIdentifier(String(trouble["code"]))}: ${showIdentifier(String(trouble["message"]))}`;
}

function silentWords({ silent }: JsonObject): string {
  const list = Array.isArray(silent) ? silent.filter((one: JsonValue) => isJsonObject(one)) : [];
  const said = list.map(
    (one) => `${showIdentifier(String(one["gateway"]))} silent ${showIdentifier(String(one["seconds"]))} s`,
  );
  return said.length === 0 ? "" : `, ${said.join(", ")}`;
}
