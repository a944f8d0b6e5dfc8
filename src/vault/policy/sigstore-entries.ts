import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { NAME, readDigest, shape, sortBy, sortedList } from "./entries.ts";
import type { SigstoreIdentity, SigstoreTrust } from "./policy.ts";

const SUBJECT = /^[\x21-\x7e]{1,500}$/;
const ISSUER = /^https:\/\/[\x21-\x7e]{1,490}$/;

export function sigstorePage({ trustedRootDigest, identities }: SigstoreTrust): JsonObject {
  return {
    trusted_root_digest: trustedRootDigest,
    identities: identities.map(({ name, subject, issuer }) => ({ name, subject, issuer })),
  };
}

export function readSigstore(value: JsonValue, where: string): SigstoreTrust {
  const trust = shape.members(value, where, ["trusted_root_digest", "identities"]);
  const identities = sortedList(trust.identities, `${where}/identities`, readIdentity, ({ name }) => name);
  if (identities.length === 0) shape.refuse(where, "absent when it names nobody");
  return { trustedRootDigest: readDigest(trust.trusted_root_digest, `${where}/trusted_root_digest`), identities };
}

export function sortSigstore(trust: SigstoreTrust): SigstoreTrust {
  return { ...trust, identities: sortBy(trust.identities, ({ name }) => name) };
}

function readIdentity(value: JsonValue, where: string): SigstoreIdentity {
  const identity = shape.members(value, where, ["name", "subject", "issuer"]);
  return {
    name: shape.text(identity.name, `${where}/name`, 200, NAME),
    subject: shape.text(identity.subject, `${where}/subject`, 500, SUBJECT),
    issuer: shape.text(identity.issuer, `${where}/issuer`, 498, ISSUER),
  };
}
