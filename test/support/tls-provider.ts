import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { createAuthority } from "../../src/conventions/box/authority.ts";
import { serveProvider, type TestProvider } from "./provider.ts";

/** A provider on loopback that is known by a name and a certificate; its authority is written to `caFile`. */
export function startTlsProvider(caFile: string): Promise<TestProvider> {
  const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
  writeFileSync(caFile, authority.certificate);
  const identity = { key: authority.leafKey, cert: authority.chainFor("localhost") };
  return serveProvider((listener) => createServer(identity, listener), "https", "localhost");
}
