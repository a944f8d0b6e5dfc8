import type { CallerPlatform } from "../../conventions/caller/port.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallerPolicy } from "./linux/evidence.ts";

/** The adapter of this operating system. Each is loaded only where it runs; without one nothing is let in. */
export async function createCallerPlatform(
  policy: () => CallerPolicy,
  platform: NodeJS.Platform = process.platform,
): Promise<CallerPlatform> {
  switch (platform) {
    case "linux": {
      const [{ createLinuxCallers }, { createEvidenceReader }] = await Promise.all([
        import("./linux/callers.ts"),
        import("./linux/evidence.ts"),
      ]);
      return createLinuxCallers({ readEvidence: createEvidenceReader(policy) });
    }
    default:
      throw new Denied(
        "platform_unsupported",
        `${platform} gives no caller identity that can be relied on; run the gateway on Linux or macOS`,
      );
  }
}
