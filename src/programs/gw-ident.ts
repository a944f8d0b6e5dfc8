import { rmSync, writeSync } from "node:fs";
import { harden } from "../adapters/platform/callers.ts";
import { confine, requireOneRight } from "../adapters/platform/linux/ident/confine.ts";
import { listenForGateway, serveGateway } from "../adapters/platform/linux/ident/serve.ts";
import { Denied } from "../kernel/failure.ts";
import { readMachine } from "../surfaces/place/machine.ts";

/**
 * gw-ident: looks at processes of other users for the gateway, which has no right to. It runs as a user of its own with
 * CAP_SYS_PTRACE, is handed a pidfd, answers with what it opened, and serves nobody but the gateway's user.
 * Usage: gw-ident [--config FILE]
 */
try {
  const [option, file] = process.argv.slice(2);
  if (option !== undefined && (option !== "--config" || file === undefined)) {
    throw new Denied("config_invalid", "usage: gw-ident [--config FILE]");
  }
  await harden({ inspectable: false, startsPrivileged: false });
  requireOneRight();
  const machine = await readMachine(file);
  if (machine === null || machine.identSocket === null) {
    throw new Denied("config_invalid", "/etc/gw/gw.yaml has to name ident_socket and the gateway's user.");
  }
  const listening = listenAt(machine.identSocket);
  confine();
  writeSync(1, `ready ${process.pid}\n`);
  serveGateway(listening, machine.user);
} catch (error) {
  console.error(error instanceof Denied ? `gw-ident: ${error.code}: ${error.message}` : error);
  process.exit(1);
}

/** The folder is ours or the gateway's: what lies there is a socket that an earlier gw-ident left. */
function listenAt(path: string): number {
  rmSync(path, { force: true });
  return listenForGateway(path);
}
