import { closeSync, openSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { placeOfOpened } from "../proc.ts";
import { digestImage, type ImageDigests } from "./digest.ts";
import { isMadeOfFiles } from "./disk.ts";
import { checkIma, type ImaClaim, type ImaKey } from "./ima.ts";
import { distrustOf, isImage, isOfItsName, type Mapped, magicOf, readSurroundings } from "./mount.ts";
import type { PackageClaim, PackageOwner } from "./package-claim.ts";
import { findOwners, readPackageClaim } from "./package-record.ts";
import type { SigstoreClaim, SigstoreSettings } from "./sigstore.ts";
import { checkVerity, type VerityClaim } from "./verity.ts";

export interface ImageQuestion {
  /** Holds the image; what reads it opens it anew, here, where nobody else waits for it. */
  readonly fd: number;
  /** The caller's in /proc; null where it is ourselves. */
  readonly directory: number | null;
  readonly path: string;
  readonly mappings: readonly Mapped[];
  /** Known when this very file was read before. */
  readonly digests: ImageDigests | null;
  readonly sigstore: SigstoreSettings | null;
  readonly imaKeys: readonly ImaKey[];
}

export type ImageAnswer = (ImageRead | ImageUnproven) & {
  /** The mapped files among the question's that are not the file of their name. */
  readonly changed: readonly string[];
  /** Those that no package owns. */
  readonly unowned: readonly string[];
};

export interface ImageRead {
  readonly kind: "read";
  readonly digests: ImageDigests;
  readonly sigstore: SigstoreClaim | null;
  readonly ima: ImaClaim | null;
  readonly verity: VerityClaim | null;
  readonly package: PackageClaim | null;
}

/** Nothing was read of it, because nothing would follow from that. */
export interface ImageUnproven {
  readonly kind: "unproven";
  readonly why: string;
}

/** Everything slow about an image file, and all that asks the file system on which it lies. */
export async function answerImage(question: ImageQuestion): Promise<ImageAnswer> {
  const around = readSurroundings(question.directory);
  const place = placeOfOpened(question.fd);
  const why = distrustOf(place, around, {
    magic: () => magicOf(question.fd),
    isMadeOfFiles: (device, magic) => isMadeOfFiles(question.fd, device, magic),
  });
  const mapped = question.mappings.filter((one) => one.path !== question.path || !isImage(one, place, around));
  const changed = new Set(mapped.filter((one) => !isOfItsName(one, around)).map(({ path }) => path));
  const intact = [...new Set(mapped.map(({ path }) => path))].filter((path) => !changed.has(path));
  const owners = await findOwners([...(why === null ? [question.path] : []), ...intact]);
  const loaded = { changed: [...changed], unowned: intact.filter((path) => !owners.has(path)) };
  if (why !== null) return { kind: "unproven", why, ...loaded };
  const fd = openSync(`/proc/self/fd/${question.fd}`, "r");
  try {
    return { ...(await readImage({ ...question, fd }, owners.get(question.path))), ...loaded };
  } finally {
    closeSync(fd);
  }
}

/** The owner comes first: it decides which digests have to be made. */
async function readImage(question: ImageQuestion, owner: PackageOwner | undefined): Promise<ImageRead> {
  const needsMd5 = owner?.record === "dpkg";
  const known = needsMd5 && question.digests?.md5 === null ? null : question.digests;
  const digests = known ?? digestImage(question.fd, needsMd5);
  return {
    kind: "read",
    digests,
    sigstore: await signedBy(question, digests),
    ima: checkIma(question.fd, question.imaKeys),
    verity: checkVerity(question.fd),
    package: owner === undefined ? null : readPackageClaim(owner, digests),
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
