import type { JsonObject } from "../../kernel/json.ts";

/** One operation on one host: everything that a person approved, nothing that a shell could read. */
export interface OutboundSsh {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** `ssh-ed25519 AAAA…`: the only key under which this host is this host. */
  readonly hostKey: string;
  readonly action: string;
  readonly fields: JsonObject;
  readonly requestId: string;
  readonly recording: "off" | "on";
}

/** Signs for one key without showing it. The vault makes one for a host key that the credential is bound to. */
export interface SshSigner {
  readonly publicKeyBlob: Buffer;
  /** The SSH wire form of a signature; `flags` are those of the agent protocol. */
  sign(data: Buffer, flags: number): Promise<Buffer> | Buffer;
}
