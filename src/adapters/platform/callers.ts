import type { Duplex } from "node:stream";
import type { CallerPlatform, LiveCaller } from "../../conventions/caller/port.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallerPolicy } from "./linux/evidence.ts";
import type { HardenOptions } from "./linux/harden.ts";

/**
 * The adapters of this operating system. Each is loaded only where it runs; without one nothing is let in.
 */
export interface AgentListenerOptions {
  readonly path: string;
  /** Of the socket file, such as 0o600. */
  readonly mode: number;
  /** Who may open it beside its owner, where the mode lets a group in. */
  readonly group?: number | null;
  readonly callers: CallerPlatform;
  /**
   * Called before any byte is read. The connection can serve a node:http server. On Linux it ends with
   * `caller_writer_changed` when anybody but the process that connected writes to it.
   */
  accept(connection: Duplex, caller: Promise<LiveCaller>, uid?: number): void;
  /** Asked before anything is opened for a connection of this user; on Linux alone. Null lets it in. */
  turnAway?(uid: number): Buffer | null;
}

export async function createCallerPlatform(
  policy: () => CallerPolicy,
  ident: { readonly path: string; readonly uid: number } | null = null,
  platform: NodeJS.Platform = process.platform,
): Promise<CallerPlatform> {
  switch (platform) {
    case "linux": {
      const [{ createLinuxCallers }, { createEvidenceReader }] = await Promise.all([
        import("./linux/callers.ts"),
        import("./linux/evidence.ts"),
      ]);
      return createLinuxCallers({ readEvidence: createEvidenceReader(policy), ident });
    }
    case "darwin":
      return (await import("./macos/callers.ts")).createMacosCallers();
    default:
      throw unsupported(platform);
  }
}

export async function listenForCallers(
  options: AgentListenerOptions,
  platform: NodeJS.Platform = process.platform,
): Promise<{ close(): void }> {
  switch (platform) {
    case "linux":
      return (await import("./linux/listener.ts")).listenVerified(options);
    case "darwin":
      return (await import("./macos/listener.ts")).listenPlain(options);
    default:
      throw unsupported(platform);
  }
}

/** First in every program. Where we know no protections, the program does not run. */
export async function harden(options: HardenOptions, platform: NodeJS.Platform = process.platform): Promise<void> {
  switch (platform) {
    case "linux":
      (await import("./linux/harden.ts")).hardenLinux(options);
      return;
    case "darwin":
      (await import("./macos/harden.ts")).hardenMacos();
      return;
    default:
      throw unsupported(platform);
  }
}

function unsupported(platform: NodeJS.Platform): Denied {
  return new Denied(
    "platform_unsupported",
    `${platform} gives no caller identity that can be relied on; run the gateway on Linux or macOS`,
  );
}
