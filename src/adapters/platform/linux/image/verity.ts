import { readFileSync } from "node:fs";
import { loadLibc } from "../libc.ts";

/** The kernel refuses to read a byte of this file that does not belong to `digest`. */
export interface VerityClaim {
  readonly digest: string;
  /** True only where the kernel takes no fs-verity file without a signature of a key in its own keyring. */
  readonly signed: boolean;
}

const DIGEST_LIMIT = 64;
// _IOWR('f', 134, struct fsverity_digest): two 16-bit members in front of the digest.
const FS_IOC_MEASURE_VERITY = 0xc0046686;
const ALGORITHMS: Readonly<Record<number, string>> = { 1: "sha256", 2: "sha512" };
const REQUIRE_SIGNATURES = "/proc/sys/fs/verity/require_signatures";

/** Null where the file system or the file has no fs-verity. */
export function checkVerity(fd: number): VerityClaim | null {
  const answer = Buffer.alloc(4 + DIGEST_LIMIT);
  answer.writeUInt16LE(DIGEST_LIMIT, 2);
  if (loadLibc().ioctl(fd, FS_IOC_MEASURE_VERITY, answer) < 0) return null;
  const digest = parseMeasurement(answer);
  return digest === undefined ? null : { digest, signed: requiresSignatures() };
}

export function parseMeasurement(answer: Buffer): string | undefined {
  const algorithm = ALGORITHMS[answer.readUInt16LE(0)];
  const size = answer.readUInt16LE(2);
  if (algorithm === undefined || size > answer.length - 4) return undefined;
  return `${algorithm}:${answer.toString("hex", 4, 4 + size)}`;
}

function requiresSignatures(): boolean {
  try {
    return readFileSync(REQUIRE_SIGNATURES, "utf8").trim() === "1";
  } catch {
    return false;
  }
}
