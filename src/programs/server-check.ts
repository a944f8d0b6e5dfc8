import { seeServer } from "../adapters/platform/server-seen.ts";
import { systemRandom } from "../adapters/platform/system.ts";
import type { Secret } from "../kernel/secret.ts";
import type { ServerCheck } from "../surfaces/client/hand-over.ts";
import type { VaultHome } from "../vault/files/home.ts";
import { serverProofKey } from "../vault/server-proof.ts";

/** How the gateway at a home's socket is proven. `uid` is whom it runs as: this user, unless dedicated mode names another. */
export function serverCheckOf(
  home: VaultHome,
  serviceKey: Secret,
  { child, first, uid = ownUid() }: { readonly child: number | null; readonly first: boolean; readonly uid?: number },
): ServerCheck {
  return {
    see: seeServer,
    wanted: { uid, ownUid: ownUid(), child, image: process.execPath },
    proofKey: serverProofKey(home.readVault(), serviceKey),
    first,
    random: systemRandom,
  };
}

function ownUid(): number {
  return process.geteuid?.() ?? -1;
}
