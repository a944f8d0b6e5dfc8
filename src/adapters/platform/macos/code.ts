import koffi from "koffi";
import type { Authority } from "../../../conventions/caller/authority.ts";
import { Denied } from "../../../kernel/failure.ts";
import { type Libraries, loadLibraries, type Reference } from "./libraries.ts";

/** What Security.framework says of running code. Nothing of it is read before the code was found valid. */
export interface CodeIdentity {
  readonly authority: Authority;
  readonly signingIdentifier: string | null;
  readonly designatedRequirement: string | null;
  readonly cdhash: string;
}

const ERR_UNSIGNED = -67062;
const SIGNING_INFORMATION = 1 << 1;
const FLAG_ADHOC = 0x2;
const NUMBER_SINT32 = 3;
const UTF8 = 0x08000100;
const TEXT_BYTES = 8_192;

/** `token` is the audit token of the connection: it names one image of one process, never a pid alone. */
export function readCode(token: Buffer): CodeIdentity {
  const lib = loadLibraries();
  const owned: bigint[] = [];
  try {
    const code = findGuest(lib, token, owned);
    const validity = lib.checkValidity(code, 0, null);
    if (validity === ERR_UNSIGNED) return nothing({ kind: "unsigned", note: null });
    if (validity !== 0) {
      return nothing({ kind: "invalid", claim: "code signature", why: `Security.framework says ${validity}` });
    }
    const fixed = out(owned, (slot) => lib.copyStaticCode(code, 0, slot), "the code's file");
    const information = out(owned, (slot) => lib.copySigningInformation(fixed, SIGNING_INFORMATION, slot), "signing");
    const entry = (name: string): Reference => lib.dictionaryValue(information, lib.constant(name));
    const adHoc = (readNumber(lib, entry("kSecCodeInfoFlags")) & FLAG_ADHOC) !== 0;
    const team = readText(lib, entry("kSecCodeInfoTeamIdentifier"));
    const signer = readLeaf(lib, entry("kSecCodeInfoCertificates"), owned);
    return {
      authority: adHoc || signer === null ? { kind: "ad_hoc" } : { kind: "code_signature", name: signer, team },
      signingIdentifier: readText(lib, entry("kSecCodeInfoIdentifier")),
      designatedRequirement: readRequirement(lib, fixed, owned),
      cdhash: readHex(lib, entry("kSecCodeInfoUnique")),
    };
  } finally {
    for (const reference of owned.reverse()) lib.release(reference);
  }
}

function findGuest(lib: Libraries, token: Buffer, owned: bigint[]): bigint {
  const data = own(owned, lib.createData(null, token, token.length), "the audit token");
  const keys = pointerTo(lib.constant("kSecGuestAttributeAudit"));
  const values = pointerTo(data);
  const keyCalls = lib.structure("kCFTypeDictionaryKeyCallBacks");
  const valueCalls = lib.structure("kCFTypeDictionaryValueCallBacks");
  const attributes = own(owned, lib.createDictionary(null, keys, values, 1, keyCalls, valueCalls), "attributes");
  return out(owned, (slot) => lib.copyGuest(null, attributes, 0, slot), "the running code");
}

function readRequirement(lib: Libraries, code: bigint, owned: bigint[]): string | null {
  const requirement = out(owned, (slot) => lib.copyDesignatedRequirement(code, 0, slot), "the requirement");
  return readText(
    lib,
    out(owned, (slot) => lib.requirementText(requirement, 0, slot), "the requirement's text"),
  );
}

function readLeaf(lib: Libraries, certificates: Reference, owned: bigint[]): string | null {
  if (!certificates || lib.arrayCount(certificates) === 0) return null;
  const leaf = lib.arrayValue(certificates, 0);
  if (!leaf) return null;
  return readText(lib, own(owned, lib.certificateSummary(leaf), "the certificate's name"));
}

function readText(lib: Libraries, string: Reference): string | null {
  if (!string) return null;
  const text = Buffer.alloc(TEXT_BYTES);
  if (!lib.stringText(string, text, text.length, UTF8)) return null;
  return text.toString("utf8", 0, text.indexOf(0));
}

function readNumber(lib: Libraries, number: Reference): number {
  const value = Buffer.alloc(4);
  if (!number || !lib.numberValue(number, NUMBER_SINT32, value)) return 0;
  return value.readInt32LE(0);
}

function readHex(lib: Libraries, data: Reference): string {
  if (!data) return "";
  const view = koffi.view(lib.dataBytes(data), Number(lib.dataLength(data)));
  return `cdhash:${Buffer.from(Buffer.from(view)).toString("hex")}`;
}

function nothing(authority: Authority): CodeIdentity {
  return { authority, signingIdentifier: null, designatedRequirement: null, cdhash: "" };
}

function pointerTo(reference: bigint): Buffer {
  const slot = Buffer.alloc(8);
  slot.writeBigUInt64LE(reference);
  return slot;
}

function out(owned: bigint[], call: (slot: Buffer) => number, what: string): bigint {
  const slot = Buffer.alloc(8);
  const status = call(slot);
  if (status !== 0) throw new Denied("caller_unknown", `Security.framework did not give ${what} (${status})`);
  return own(owned, slot.readBigUInt64LE(0), what);
}

function own(owned: bigint[], reference: Reference, what: string): bigint {
  if (!reference) throw new Denied("caller_unknown", `Security.framework did not give ${what}`);
  owned.push(reference);
  return reference;
}
