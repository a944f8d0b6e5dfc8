import { isJsonObject, type JsonValue } from "../kernel/json.ts";

/** What of the service key opens the signed files on a hub. */
export const DOCUMENTS_PURPOSE = "hub documents";

/** Where on a hub something sealed stands: part of what is sealed. */
export const documentPlace = (vaultId: string, kind: string, name: string): string =>
  JSON.stringify(["gw.hub-document/v1", vaultId, kind, name]);

/** The next policy, signed where no gateway runs, and the newest files that its signer knew. */
export interface PolicyOrder {
  readonly text: string;
  readonly knows: { readonly vault: number; readonly policy: number };
}

const KIND = "policy order";

/** Sealed as the files themselves are: the database reads neither. */
export function sealPolicyOrder(
  { text, knows }: PolicyOrder,
  vaultId: string,
  seal: (place: string, plain: Buffer) => Buffer,
): string {
  const plain = Buffer.from(JSON.stringify({ text, vault: knows.vault, policy: knows.policy }), "utf8");
  return seal(documentPlace(vaultId, KIND, ""), plain).toString("base64");
}

/** Undefined for what nobody of this vault sealed. */
export function openPolicyOrder(
  body: string,
  vaultId: string,
  open: (place: string, sealed: Buffer) => Buffer | undefined,
): PolicyOrder | undefined {
  const plain = open(documentPlace(vaultId, KIND, ""), Buffer.from(body, "base64"));
  if (plain === undefined) return undefined;
  const value = parse(plain.toString("utf8"));
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { text, vault, policy } = value as Readonly<Record<string, JsonValue | undefined>>;
  if (typeof text !== "string" || !Number.isSafeInteger(vault) || !Number.isSafeInteger(policy)) return undefined;
  return { text, knows: { vault: Number(vault), policy: Number(policy) } };
}

/** Every host of the vault can seal: one that somebody owns seals whatever they like. */
function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
