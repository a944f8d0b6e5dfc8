import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";

/** Where distributions put it. A name that PATH decides is not started by a program that takes passphrases. */
export const PINENTRY = "/usr/bin/pinentry";

export function hasPinentry(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const LINE_BYTES = 4_096;
/** What a dialog needs to find the person's desktop or terminal, and nothing else of ours. */
const KEPT = [
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
  "DBUS_SESSION_BUS_ADDRESS",
  "HOME",
  "LANG",
];

/** Asks in the dialog of the person's desktop, by the Assuan protocol. The secret is never a JavaScript string. */
export function askPinentry(program: string, prompt: string, environment: NodeJS.ProcessEnv): Promise<Secret> {
  const env = Object.fromEntries(
    KEPT.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  const child = spawn(program, [], {
    env,
    stdio: ["pipe", "pipe", "ignore"],
    signal: AbortSignal.timeout(defaults.pinentryMs),
    killSignal: "SIGKILL",
  });
  const commands = [
    "SETTITLE gw",
    `SETDESC ${percentEncode(prompt.trim())}`,
    "SETPROMPT Passphrase:",
    "OPTION ttyname=/dev/tty",
    `OPTION ttytype=${percentEncode(environment["TERM"] ?? "dumb")}`,
    "GETPIN",
  ];
  return new Promise((resolve, reject) => {
    let rest = Buffer.alloc(0);
    let secret = Buffer.alloc(0);
    let at = -1;
    let ended = false;
    const end = (finish: () => void): void => {
      if (ended) return;
      ended = true;
      rest.fill(0);
      finish();
      for (const pipe of [child.stdin, child.stdout]) pipe.destroy();
      child.kill();
      child.unref();
    };
    const fail = (why: string): void => {
      // It also ends after its answer, which is somebody else's by then.
      if (ended) return;
      secret.fill(0);
      end(() => reject(new Denied("pinentry_failed", `${program}: ${why}. Nothing was changed.`)));
    };
    const take = (line: Buffer): void => {
      const word = line.subarray(0, 3).toString("latin1").trimEnd();
      const asked = commands[at] ?? "";
      if (word === "D" || (word[0] === "D" && word[1] === " ")) {
        const more = percentDecode(line.subarray(2));
        const whole = Buffer.concat([secret, more]);
        for (const old of [secret, more]) old.fill(0);
        secret = whole;
        if (secret.byteLength > defaults.secretBytes) fail("it gave more than a passphrase can be");
        return;
      }
      if (word === "ERR" && !asked.startsWith("OPTION ")) {
        fail(asked === "GETPIN" ? "the dialog was closed, or could not be shown" : `it refused ${asked.split(" ")[0]}`);
        return;
      }
      if (word !== "OK" && word !== "ERR") return;
      at++;
      const next = commands[at];
      if (next !== undefined) child.stdin.write(`${next}\n`);
      else end(() => resolve(Secret.take(secret)));
    };
    child.stdout.on("data", (chunk: Buffer) => {
      const joined = Buffer.concat([rest, chunk]);
      rest.fill(0);
      chunk.fill(0);
      let from = 0;
      for (let to = joined.indexOf(0x0a); to !== -1 && !ended; to = joined.indexOf(0x0a, from)) {
        take(joined.subarray(from, to));
        from = to + 1;
      }
      rest = Buffer.from(joined.subarray(from));
      joined.fill(0);
      if (rest.byteLength > LINE_BYTES) fail("it does not speak as pinentry does");
    });
    child.stdin.on("error", () => undefined);
    child.once("error", ({ name }) => fail(name === "AbortError" ? "nobody answered in time" : "it cannot be started"));
    child.once("close", () => fail("it ended without an answer"));
  });
}

/** What ends a line, or begins an escape, is written out. */
function percentEncode(text: string): string {
  return text.replace(/[%\r\n]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);
}

function percentDecode(text: Buffer): Buffer {
  const bytes = Buffer.alloc(text.byteLength);
  let length = 0;
  for (let index = 0; index < text.byteLength; index++) {
    const code =
      text[index] === 0x25 ? Number.parseInt(text.subarray(index + 1, index + 3).toString("latin1"), 16) : Number.NaN;
    bytes[length++] = Number.isNaN(code) ? (text[index] ?? 0) : code;
    if (!Number.isNaN(code)) index += 2;
  }
  const exact = Buffer.from(bytes.subarray(0, length));
  bytes.fill(0);
  return exact;
}
