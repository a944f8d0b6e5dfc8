import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type BoxPlan, boxCertificate, boxFolder, boxTruststore } from "../../../../conventions/box/plan.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { isFolder, type Place, placesOf } from "./places.ts";
import { closeToWriting, mountBind, mountNew, NODEV, NOEXEC, NOSUID, openToWriting } from "./step.ts";

const O_PATH = 0o10000000;
/** Devices that say nothing about this machine and give no way out of it. */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];
/** Where distributions keep the certificates that programs trust. */
export const CERTIFICATES = "/etc/ssl/certs";
const BUNDLES = [
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];
const RESOLVER = "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";

/** What stays to be seen is held before anything covers it. */
interface HeldPlace extends Place {
  readonly held: { readonly fd: number; readonly folder: boolean } | null;
}

/** The files as the command sees them. All else is as outside, to be read. */
export function layFolders(plan: BoxPlan): void {
  const places = placesOf(plan).map(hold);
  const devices = DEVICES.map((name) => ({ name, fd: openSync(join("/dev", name), O_PATH) }));
  closeToWriting("/");
  mountNew("proc", "/proc", NOSUID | NODEV | NOEXEC, null);
  for (const place of places) lay(place);
  layDevices(devices);
  layTrust(plan);
  layCertificates(plan);
  layResolver();
  hideSockets(plan.sockets);
  for (const { fd } of [...devices, ...places.flatMap(({ held }) => held ?? [])]) closeSync(fd);
}

function hold(place: Place): HeldPlace {
  if (place.kind === "cover" || place.kind === "hide") return { ...place, held: null };
  const fd = openSync(place.path, constants.O_RDONLY | O_PATH);
  return { ...place, held: { fd, folder: isFolder(place.path) } };
}

/** What tools are told to trust, in a folder that is the box's own. */
export function layTrust({ certificate, truststore }: BoxPlan): void {
  mkdirSync(boxFolder, { recursive: true, mode: 0o755 });
  writeFileSync(boxCertificate, certificate, { mode: 0o444 });
  writeFileSync(boxTruststore, Buffer.from(truststore, "base64"), { mode: 0o444 });
}

function lay({ kind, path, held }: HeldPlace): void {
  switch (kind) {
    case "cover":
      // /dev is laid as a whole.
      if (path === "/dev/shm") return;
      mountNew("tmpfs", path, NOSUID | NODEV, `mode=1777,size=${defaults.boxFolderBytes}`);
      return;
    case "hide":
      // Below a folder that is covered it is not there any more.
      if (!existsSync(path)) return;
      mountNew("tmpfs", path, NOSUID | NODEV | NOEXEC, "mode=0555,size=4096");
      closeToWriting(path);
      return;
    case "write":
    case "read":
      if (held === null) return;
      if (!existsSync(path)) makeLike(path, held.folder);
      mountBind(`/proc/self/fd/${held.fd}`, path);
      if (kind === "write") openToWriting(path);
      else closeToWriting(path);
  }
}

function makeLike(path: string, folder: boolean): void {
  mkdirSync(folder ? path : dirname(path), { recursive: true });
  if (!folder) writeFileSync(path, "");
}

function layDevices(devices: readonly { readonly name: string; readonly fd: number }[]): void {
  mountNew("tmpfs", "/dev", NOSUID | NOEXEC, "mode=0755,size=65536");
  for (const { name, fd } of devices) {
    writeFileSync(join("/dev", name), "");
    mountBind(`/proc/self/fd/${fd}`, join("/dev", name));
    openToWriting(join("/dev", name));
  }
  for (const [name, target] of [
    ["fd", "/proc/self/fd"],
    ["stdin", "/proc/self/fd/0"],
    ["stdout", "/proc/self/fd/1"],
    ["stderr", "/proc/self/fd/2"],
    ["ptmx", "pts/ptmx"],
  ] as const) {
    symlinkSync(target, join("/dev", name));
  }
  mkdirSync("/dev/pts");
  mountNew("devpts", "/dev/pts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=0620");
  mkdirSync("/dev/shm");
  mountNew("tmpfs", "/dev/shm", NOSUID | NODEV, `mode=1777,size=${defaults.boxFolderBytes}`);
}

function layCertificates({ certificate, subjectHash }: BoxPlan): void {
  if (isFolder(CERTIFICATES)) {
    mountNew("tmpfs", CERTIFICATES, NOSUID | NODEV | NOEXEC, "mode=0755,size=65536");
    writeFileSync(join(CERTIFICATES, "ca-certificates.crt"), certificate);
    symlinkSync("ca-certificates.crt", join(CERTIFICATES, `${subjectHash}.0`));
    closeToWriting(CERTIFICATES);
  }
  for (const bundle of BUNDLES) {
    if (!existsSync(bundle)) continue;
    const real = realpathSync(bundle);
    if (!real.startsWith(`${CERTIFICATES}/`)) mountBind(boxCertificate, real);
  }
}

/** Where the name leads to a folder that is covered by now, the file is made there. */
function layResolver(): void {
  const path = "/etc/resolv.conf";
  writeFileSync(join(boxFolder, "resolv.conf"), RESOLVER, { mode: 0o444 });
  if (existsSync(path)) {
    mountBind(join(boxFolder, "resolv.conf"), realpathSync(path));
    return;
  }
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() !== true) return;
  const target = resolve(dirname(path), readlinkSync(path));
  if (!target.startsWith("/run/")) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, RESOLVER, { mode: 0o444 });
}

/** A path leads to a socket whatever network it is in; these lead to an empty file. */
function hideSockets(paths: readonly string[]): void {
  const nothing = join(boxFolder, "nothing");
  writeFileSync(nothing, "", { mode: 0o000 });
  for (const path of paths) {
    try {
      if (lstatSync(path).isSocket()) mountBind(nothing, path);
    } catch (error) {
      // Gone, covered, or in a folder that this user cannot enter from inside either.
      if (
        !(error instanceof Error && "code" in error && typeof error.code === "string") ||
        error.name === "StepRefused"
      )
        throw error;
    }
  }
}
