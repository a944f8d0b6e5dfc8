import { constants, fstatSync, openSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { isatty, ReadStream } from "node:tty";
import { tameAside, tameLine } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import type { CliIo } from "./io.ts";
import { hangOf, sayProse } from "./say-prose.ts";

const MAX_SECRET_BYTES = 65_536;

/** The person's real terminal. */
export function openTerminal(): CliIo {
  const isTty = process.stdout.isTTY === true;
  // Whoever reads may stop reading (`gw … | head`): the work goes on and its exit status still counts.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreClosedPipe);
  // What no command expected, Node itself prints.
  if (process.stderr.isTTY === true) process.on("uncaughtExceptionMonitor", (fault) => tameFault(fault));
  return {
    // Records (`--json`) hold what others wrote, and a person may be looking at them.
    out: (line) => void process.stdout.write(`${isTty ? tameLine(line) : line}\n`),
    err: sayError,
    isTty,
    ...(process.stderr.isTTY === true ? { status: (text) => void process.stderr.write(`\r${text}\x1b[K`) } : {}),
    intoFile: !isTty && isFile(1),
    ...(isTty ? { columns: process.stdout.columns } : {}),
    color: isTty && (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb",
    requireTerminal: (prompt) => openKeyboard(prompt).leave(),
    askSecret,
    ask,
    readSecret: (prompt) => (process.stdin.isTTY === true ? askSecret(prompt) : readPiped()),
  };
}

/**
 * What is said beside the answer are sentences: on a terminal no word of them is cut where the window ends. They quote what providers,
 * agents, logs and file names say.
 */
function sayError(text: string): void {
  const { isTTY, columns } = process.stderr;
  const out = (row: string): void => void process.stderr.write(`${row}\n`);
  for (const line of aside(text).split("\n"))
    sayProse({ out, ...(isTTY === true ? { columns } : {}) }, line, hangOf(line));
}

/** For standard error: its lines stay lines, and on a terminal nothing else in them acts. */
function aside(text: string): string {
  return process.stderr.isTTY === true ? text.split("\n").map(tameAside).join("\n") : text;
}

/** So deep a fault tells where it came from. */
const FAULT_DEPTH = 8;

function tameFault(fault: unknown, depth = 0): void {
  if (!(fault instanceof Error) || depth === FAULT_DEPTH) return;
  // Its members are printed with it: the path of a file, say.
  for (const name of ["stack", ...Object.keys(fault)]) {
    const value: unknown = Reflect.get(fault, name);
    if (typeof value === "string") Reflect.set(fault, name, aside(value));
  }
  tameFault(fault.cause, depth + 1);
  if (fault instanceof AggregateError) for (const one of fault.errors) tameFault(one, depth + 1);
}

/** A descriptor that was closed before the start is none. */
function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

function ignoreClosedPipe(error: Error): void {
  if (!("code" in error && error.code === "EPIPE")) throw error;
}

async function ask(prompt: string, draft = ""): Promise<string> {
  const { input, leave } = openKeyboard(prompt);
  const reader = createInterface({ input, output: process.stderr });
  try {
    const answer = reader.question(aside(prompt));
    reader.write(draft);
    // Ctrl-C rejects the question; Ctrl-D closes the reader and leaves the question as it is.
    const left = new Promise<never>((_resolve, reject) => reader.once("close", () => reject(stoppedAtPrompt())));
    return (await Promise.race([answer, left])).trim();
  } catch (error) {
    process.stderr.write("\n");
    throw error instanceof Error && error.name === "AbortError" ? stoppedAtPrompt() : error;
  } finally {
    reader.close();
    leave();
  }
}

/** Reads one line without echo, byte by byte, so that the secret is never a JavaScript string. */
function askSecret(prompt: string): Promise<Secret> {
  const { input, leave } = openKeyboard(prompt);
  process.stderr.write(aside(prompt));
  input.setRawMode(true);
  const typed = Buffer.alloc(MAX_SECRET_BYTES);
  const skip = createKeySkipper();
  let length = 0;
  return new Promise((resolve, reject) => {
    const finish = (end: () => void): void => {
      input.off("data", read);
      input.setRawMode(false);
      input.pause();
      leave();
      process.stderr.write("\n");
      end();
    };
    const read = (chunk: Buffer): void => {
      for (const byte of chunk) {
        if (skip(byte)) continue;
        if (byte === 0x0d || byte === 0x0a) {
          const secret = Secret.take(Buffer.from(typed.subarray(0, length)));
          typed.fill(0);
          finish(() => resolve(secret));
          return;
        }
        if (byte === 0x03 || byte === 0x04) {
          typed.fill(0);
          finish(() => reject(stoppedAtPrompt()));
          return;
        }
        if (byte === 0x7f || byte === 0x08) length = dropLastCharacter(typed, length);
        else if (byte === 0x15) length = 0;
        else if (byte >= 0x20 && length < MAX_SECRET_BYTES) typed[length++] = byte;
      }
      chunk.fill(0);
    };
    input.on("data", read);
    input.resume();
  });
}

/** Standard input where that is the terminal, or else the terminal itself: a secret may come in by a pipe meanwhile. */
function openKeyboard(prompt: string): { readonly input: ReadStream; leave(): void } {
  if (process.stdin.isTTY === true) return { input: process.stdin, leave: () => undefined };
  let descriptor: number;
  try {
    descriptor = openSync("/dev/tty", constants.O_RDONLY | constants.O_NOCTTY);
  } catch {
    throw terminalNeeded(prompt);
  }
  if (!isatty(descriptor)) throw terminalNeeded(prompt);
  const input = new ReadStream(descriptor);
  return { input, leave: () => void input.destroy() };
}

/** An arrow or function key sends an escape sequence, which is no part of a secret. */
function createKeySkipper(): (byte: number) => boolean {
  let state: "text" | "escape" | "sequence" = "text";
  return (byte) => {
    switch (state) {
      case "text":
        if (byte !== 0x1b) return false;
        state = "escape";
        return true;
      case "escape":
        // CSI and SS3 go on; Alt and a letter are two bytes. A line's end is never swallowed.
        state = byte === 0x5b || byte === 0x4f ? "sequence" : "text";
        return byte >= 0x20;
      case "sequence":
        if (byte >= 0x40 && byte <= 0x7e) state = "text";
        if (byte < 0x20) state = "text";
        return byte >= 0x20;
    }
  };
}

function dropLastCharacter(typed: Buffer, length: number): number {
  let end = length;
  while (end > 0) {
    end--;
    // Continuation bytes of UTF-8 belong to the character before them.
    if (((typed[end] ?? 0) & 0xc0) !== 0x80) break;
  }
  return end;
}

async function readPiped(): Promise<Secret> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > MAX_SECRET_BYTES) {
      throw new Denied(
        "secret_too_large",
        `Standard input holds more than ${MAX_SECRET_BYTES} bytes. Nothing was changed.`,
      );
    }
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  for (const chunk of chunks) chunk.fill(0);
  let end = whole.byteLength;
  if (end > 0 && whole[end - 1] === 0x0a) end--;
  if (end > 0 && whole[end - 1] === 0x0d) end--;
  const secret = Secret.take(Buffer.from(whole.subarray(0, end)));
  whole.fill(0);
  return secret;
}

function stoppedAtPrompt(): Denied {
  return new Denied("interrupted", "Stopped at the prompt. Nothing was changed.");
}

function terminalNeeded(prompt: string): Denied {
  const option = FILES.find(([asked]) => asked.test(prompt))?.[1];
  const instead = option === undefined ? "" : `, or name a private file: ${option} FILE`;
  return new Denied(
    "terminal_needed",
    `"${prompt.trim()}" needs a terminal, and there is none. Run it in a terminal${instead}.`,
  );
}

/** Where a script has what a person would type. */
const FILES: readonly (readonly [asked: RegExp, option: string])[] = [
  [/^Passphrase of the private key/, "--key-passphrase-file"],
  [/^New passphrase/, "--new-passphrase-file"],
  [/^(?:Passphrase|PIN)\b/, "--passphrase-file"],
  [/^Password of/, "--hub-password-file"],
];
