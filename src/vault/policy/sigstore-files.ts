import { join } from "node:path";
import type { Digest } from "../../kernel/canonical-json.ts";

/** Where a home keeps what Sigstore claims rest on. A name is a place to look; the digest in policy decides. */
export function sigstoreFolder(home: string): string {
  return join(home, "sigstore");
}

/** Named by its digest, so that the old root stands until the policy that names the new one is signed. */
export function trustedRootPath(home: string, digest: Digest): string {
  return join(sigstoreFolder(home), `${digest.slice("sha256:".length)}.trusted-root.json`);
}

/** One bundle an image, named by the image's digest. */
export function bundlesFolder(home: string): string {
  return join(sigstoreFolder(home), "bundles");
}

export function bundleName(imageDigest: string): string {
  return `${imageDigest.slice("sha256:".length)}.sigstore.json`;
}
