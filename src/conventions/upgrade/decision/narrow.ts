import { Denied } from "../../../kernel/failure.ts";
import type { Difference } from "../compare/difference.ts";
import type { ProbeStatement } from "../probe/attest.ts";

/** What the vault says in public about a credential. */
export interface KnownCredential {
  readonly label: string;
  readonly boundTo: readonly string[];
  readonly usable: boolean;
}

export interface NarrowingProof {
  /** What the identity in use was seen to reach. */
  readonly wide: ProbeStatement | null;
  /** What the narrower one was seen to reach, at the same version. */
  readonly narrow: ProbeStatement | null;
}

/** A narrower identity is one that exists, goes nowhere else, and was seen to be denied where the other was let in. */
export function requireNarrower(
  label: string,
  known: readonly KnownCredential[],
  { wide, narrow }: NarrowingProof,
  chosen: readonly Pick<Difference, "id" | "subject">[],
): void {
  const entry = known.find((one) => one.label === label);
  if (entry === undefined) throw unproven(`The vault has no credential ${label}.`);
  if (!entry.usable) throw unproven(`The credential ${label} is disabled.`);
  if (wide === null || narrow === null)
    throw unproven(
      "Name what both identities were seen to reach: --against (the one in use) and --proof (the narrower one).",
    );
  if (narrow.credential !== label)
    throw unproven(`The proof was made with ${narrow.credential ?? "no vault credential"}, not with ${label}.`);
  const other = known.find((one) => one.label === wide.credential);
  if (other === undefined || other.label === label)
    throw unproven("The probe of the identity in use was not made with another credential of this vault.");
  const strays = entry.boundTo.filter((origin) => !other.boundTo.includes(origin));
  if (strays.length > 0) throw unproven(`${label} may also be sent to ${strays.join(", ")}.`);
  if (narrow.corpus !== wide.corpus && !sameCases(narrow, wide))
    throw unproven("The two probes did not send the same cases.");
  if (narrow.after.origin !== wide.after.origin || narrow.after.header !== wide.after.header)
    throw unproven("The two probes did not look at the same new version.");
  const seen = new Map(narrow.observed.map((one) => [one.case, one.after]));
  const pairs = wide.observed.map((one) => ({ case: one.case, wide: one.after, narrow: seen.get(one.case) ?? null }));
  const gained = pairs.find((one) => isLetIn(one.narrow) && !isLetIn(one.wide));
  if (gained !== undefined) throw unproven(`${label} is let in at ${gained.case}, where the other is not.`);
  if (!pairs.some((one) => isLetIn(one.wide) && isDenied(one.narrow)))
    throw unproven(`${label} was let in wherever the other was: nothing shows that it reaches less.`);
  for (const { id, subject } of chosen) {
    const found = subject.startsWith("probe ") ? pairs.find((one) => one.case === subject.slice(6)) : undefined;
    if (subject.startsWith("probe ") && !isDenied(found?.narrow ?? null))
      throw unproven(`${id}: ${label} was not denied at ${subject.slice(6)}.`);
  }
}

function sameCases(a: ProbeStatement, b: ProbeStatement): boolean {
  const cases = ({ observed }: ProbeStatement): string =>
    observed
      .map((one) => `${one.case} ${one.route}`)
      .sort()
      .join("\n");
  return cases(a) === cases(b);
}

function isLetIn(status: number | null): boolean {
  return status !== null && status < 400;
}

function isDenied(status: number | null): boolean {
  return status === 401 || status === 403 || status === 404;
}

function unproven(message: string): Denied {
  return new Denied("narrowing_unproven", message);
}
