import { parentPort } from "node:worker_threads";
import { digestImage, type ImageDigests } from "./digest.ts";
import { checkIma, type ImaClaim, type ImaKey } from "./ima.ts";
import type { PackageClaim } from "./package-claim.ts";
import { findOwners, readPackageClaim } from "./package-record.ts";
import type { SigstoreClaim, SigstoreSettings } from "./sigstore.ts";
import { checkVerity, type VerityClaim } from "./verity.ts";

export interface ImageQuestion {
  readonly fd: number;
  readonly path: string;
  readonly mappings: readonly string[];
  /** Known when this very file was read before. */
  readonly digests: ImageDigests | null;
  readonly sigstore: SigstoreSettings | null;
  readonly imaKeys: readonly ImaKey[];
}

export interface ImageAnswer {
  readonly digests: ImageDigests;
  readonly sigstore: SigstoreClaim | null;
  readonly ima: ImaClaim | null;
  readonly verity: VerityClaim | null;
  readonly package: PackageClaim | null;
  /** The mapped files among the question's that no package owns. */
  readonly unowned: readonly string[];
}

/** Everything slow about an image file. The owner comes first: it decides which digests have to be made. */
export async function answerImage(question: ImageQuestion): Promise<ImageAnswer> {
  const owners = await findOwners([question.path, ...question.mappings]);
  const owner = owners.get(question.path);
  const needsMd5 = owner?.record === "dpkg";
  const known = needsMd5 && question.digests?.md5 === null ? null : question.digests;
  const digests = known ?? digestImage(question.fd, needsMd5);
  return {
    digests,
    sigstore: await signedBy(question, digests),
    ima: checkIma(question.fd, question.imaKeys),
    verity: checkVerity(question.fd),
    package: owner === undefined ? null : readPackageClaim(owner, digests),
    unowned: question.mappings.filter((path) => !owners.has(path)),
  };
}

/** Loading Sigstore's packages takes as long as the rest of a small image: only where policy names somebody who signs. */
async function signedBy({ sigstore, fd }: ImageQuestion, digests: ImageDigests): Promise<SigstoreClaim | null> {
  if (sigstore === null) return null;
  const { checkSigstore } = await import("./sigstore.ts");
  return checkSigstore(sigstore, fd, digests);
}

const port = parentPort;
port?.on("message", async (question: ImageQuestion) => port.postMessage(await answerImage(question)));
