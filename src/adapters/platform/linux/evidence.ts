import { closeSync, openSync, readFileSync } from "node:fs";
import { type Authority, validityOf } from "../../../conventions/caller/authority.ts";
import { unprovenDigest } from "../../../conventions/caller/evidence.ts";
import { systemRandom } from "../system.ts";
import { walkAncestry } from "./ancestry.ts";
import type { EvidenceReader } from "./callers.ts";
import type { Hold } from "./hold.ts";
import { createImageInspector, type ImageInspector, type ImageSettings } from "./image/inspect.ts";
import type { ImageAnswer } from "./image/inspect-worker.ts";
import type { Mapped } from "./image/mount.ts";
import { type ImageKnown, isUntold, parseCommand, readInterpreter } from "./interpreter.ts";
import { inodeOf, inspectProc, type Mapping, parseMaps } from "./proc.ts";

/** What signed policy says about images. Read anew for every caller, so that a change of policy takes effect. */
export interface CallerPolicy extends ImageSettings {
  /** Operator-enrolled images: `sha256:<hex>` to the authority's name and who enrolled it. */
  readonly enrolled: ReadonlyMap<string, { readonly name: string; readonly by: string | null }>;
}

const COMMAND_LIMIT = 131_072;
const MAPPINGS_LISTED = 64;

export function createEvidenceReader(policy: () => CallerPolicy): EvidenceReader {
  const inspector: ImageInspector = createImageInspector(() => {
    const { sigstore, imaKeys } = policy();
    return { sigstore, imaKeys };
  });
  let own: Promise<string | null> | null = null;
  return async (hold) => {
    const { path } = hold;
    const command = parseCommand(inspectProc(hold.directory, "cmdline", COMMAND_LIMIT) ?? Buffer.alloc(0));
    const ancestors = walkAncestry(hold.peer.pid);
    const mappings = listMappedFiles(hold);
    const answer = await inspector.inspect({ fd: hold.image, directory: hold.directory, path, mappings });
    const found = decideAuthority(answer, policy().enrolled);
    const nobody = found.kind === "unsigned" && found.note === null;
    own ??= nobody ? digestOwn(inspector) : null;
    const digest = answer.kind === "read" ? answer.digests.sha256 : null;
    const authority: Authority = nobody && digest !== null && (await own) === digest ? { kind: "own_runtime" } : found;
    const claims = claimsOf(authority, answer);
    const known: ImageKnown = {
      mapped: [...new Set(mappings.map((one) => one.path))].filter((name) => name !== path),
      package: answer.kind === "read" ? (answer.package?.package ?? null) : null,
      inode: inodeOf(`/proc/self/fd/${hold.image}`),
    };
    const interpreter = readInterpreter(path, command, known);
    return {
      process: {
        pid: hold.peer.pid,
        startTime: hold.startTime,
        uid: hold.peer.uid,
        pidfdInode: hold.peer.pidfdInode,
      },
      pathObserved: path,
      signingIdentifier: claims.identifier,
      designatedRequirement: claims.requirement,
      cdhash: digest ?? unprovenDigest(systemRandom.bytes(16).toString("hex")),
      validity: validityOf(authority),
      authority,
      interpreter,
      interpreterUnsure: interpreter === null && isUntold(known),
      unownedMappings: [...answer.changed, ...withoutOwn(answer.unowned, hold)].slice(0, MAPPINGS_LISTED),
      ancestors,
      namespaces: hold.namespaces,
      binding: hold.peer.durable && hold.namespaces === "own" ? "process" : "connection",
    };
  };
}

/** Files that this very program runs code from as well are no strangers: whoever could change those would not need a caller. */
function withoutOwn(paths: readonly string[], hold: Hold): readonly string[] {
  if (paths.length === 0) return paths;
  const file = ({ device, inode, path }: Mapping): string => `${device} ${inode} ${path}`;
  const executable = (one: Mapping): boolean => one.executable && one.inode !== "0";
  const own = new Set(parseMaps(readFileSync("/proc/self/maps", "utf8")).filter(executable).map(file));
  const shared = new Set(hold.mappings.filter((one) => executable(one) && own.has(file(one))).map(({ path }) => path));
  return paths.filter((path) => !shared.has(path));
}

/** Of the program that this gateway runs on. A caller of the same bytes is no stranger, though nobody signed them. */
async function digestOwn(inspector: ImageInspector): Promise<string | null> {
  const fd = openSync("/proc/self/exe", "r");
  try {
    const answer = await inspector.inspect({ fd, directory: null, path: process.execPath, mappings: [] });
    return answer.kind === "read" ? answer.digests.sha256 : null;
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

/** The strongest claim that holds. A claim that is made and is wrong is said, and hides the weaker ones. */
export function decideAuthority(answer: ImageAnswer, enrolled: CallerPolicy["enrolled"]): Authority {
  if (answer.kind === "unproven") return { kind: "unsigned", note: answer.why };
  const enrolment = enrolled.get(answer.digests.sha256);
  if (enrolment !== undefined) return { kind: "enrolled", name: enrolment.name, by: enrolment.by };
  const { sigstore, ima, verity, package: record } = answer;
  if (sigstore?.kind === "invalid") return { kind: "invalid", claim: "Sigstore signature", why: sigstore.why };
  if (sigstore?.kind === "valid") {
    return { kind: "sigstore", name: sigstore.name, subject: sigstore.subject, issuer: sigstore.issuer };
  }
  if (ima?.kind === "valid") return { kind: "ima", name: ima.name, keyId: ima.keyId };
  if (verity?.signed) return { kind: "fs_verity", digest: verity.digest };
  if (record?.matches === false) {
    const why = `the file is not the one that ${record.package} ${record.version} installed`;
    return { kind: "invalid", claim: `${record.record} package record`, why };
  }
  if (record?.matches) {
    const { vendor, package: name, version } = record;
    return { kind: "package", vendor, package: name, version, record: record.record };
  }
  if (sigstore?.kind === "stranger") {
    return { kind: "unsigned", note: `signed by ${sigstore.subject}, whom policy does not name` };
  }
  if (ima?.kind === "stranger") return { kind: "unsigned", note: `IMA key ${ima.keyId} is not one that policy names` };
  return { kind: "unsigned", note: null };
}

function claimsOf(
  authority: Authority,
  answer: ImageAnswer,
): { readonly identifier: string | null; readonly requirement: string | null } {
  switch (authority.kind) {
    case "enrolled":
      return { identifier: authority.name, requirement: null };
    case "sigstore":
      return { identifier: authority.subject, requirement: keyIdOf(answer) };
    case "ima":
      return { identifier: authority.name, requirement: authority.keyId };
    case "package":
      return { identifier: `${authority.package} ${authority.version}`, requirement: null };
    case "fs_verity":
    case "code_signature":
    case "ad_hoc":
    case "own_runtime":
    case "unsigned":
    case "invalid":
      return { identifier: null, requirement: null };
  }
}

function keyIdOf(answer: ImageAnswer): string | null {
  return answer.kind === "read" && answer.sigstore?.kind === "valid" ? answer.sigstore.keyId : null;
}

/** Files that the process can run code from, each once. */
function listMappedFiles({ mappings }: Hold): readonly Mapped[] {
  const files = new Map<string, Mapped>();
  for (const { executable, device, inode, path } of mappings) {
    if (executable && inode !== "0") files.set(`${device} ${inode} ${path}`, { device, inode, path });
  }
  return [...files.values()];
}
