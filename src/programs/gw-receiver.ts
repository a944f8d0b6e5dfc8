import { check } from "../receiver/check.ts";
import { receive } from "../receiver/receive.ts";
import { openStandardOutput } from "../receiver/speaker.ts";

/**
 * gw-receiver: the forced command on a host. `gw-receiver [--manifest FILE]` serves one request;
 * `gw-receiver check [--manifest FILE]` reads the manifest, says what is wrong and prints the sudo rules it needs.
 */
const DEFAULT_MANIFEST = "/etc/gw-receiver/manifest.json";
const USAGE = "usage: gw-receiver [check] [--manifest FILE] [--trust-own-files]";

const settings = readArguments(process.argv.slice(2));
if (settings === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else if (settings.check) {
  process.exitCode = check(settings.manifestPath, settings.trust, (line) => process.stdout.write(`${line}\n`));
} else {
  // The operation outlives the connection that asked for it: its end must still be written down.
  for (const signal of ["SIGHUP", "SIGTERM", "SIGINT"] as const) process.on(signal, () => {});
  receive({ ...settings, environment: process.env, input: process.stdin, output: openStandardOutput() }).then(
    () => process.exit(0),
    () => process.exit(70),
  );
}

function readArguments(args: readonly string[]) {
  let manifestPath = DEFAULT_MANIFEST;
  let ownFiles = false;
  const asked = args[0] === "check";
  for (let at = asked ? 1 : 0; at < args.length; at++) {
    const next = args[at + 1];
    if (args[at] === "--trust-own-files") ownFiles = true;
    else if (args[at] === "--manifest" && next !== undefined) {
      manifestPath = next;
      at++;
    } else return undefined;
  }
  return { check: asked, manifestPath, trust: { ownFiles } };
}
