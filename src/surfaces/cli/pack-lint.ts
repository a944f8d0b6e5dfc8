import { open } from "node:fs/promises";
import type { PackFinding } from "../../conventions/action/pack.ts";
import { type PackReading, readPack } from "../../conventions/action/read.ts";
import { defaults } from "../../kernel/defaults.ts";
import { counted, showText } from "../../kernel/display.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { credentialFindings, type HeldCredential } from "./pack-credential.ts";

/** `gw pack lint FILE`: says all that is wrong with a pack, without a key, a gateway or the network; and what its credential lacks, where there is a home. */
export async function runPackLint(
  file: string,
  options: { readonly json: boolean },
  io: Pick<CliIo, "out" | "err">,
  /** What the vault of the home says of its credentials in the open; none where there is no home. */
  credentials: () => readonly HeldCredential[] = () => [],
): Promise<Exit> {
  const bytes = await readBounded(file);
  if (typeof bytes === "string") {
    io.err(`gw pack lint: ${showText(file)} cannot be read (${bytes}). Give the path of a pack file.`);
    return exits.usage;
  }
  const reading = lintPack(bytes, file, credentials);
  if (options.json) io.out(JSON.stringify(lintRecord(file, reading), null, 2));
  else for (const line of lintLines(file, reading)) io.out(line);
  return isSound(reading) ? exits.done : exits.denied;
}

/** All that is to be said of these bytes. */
export function lintPack(bytes: Uint8Array, file: string, credentials: () => readonly HeldCredential[]): PackReading {
  const read = readPack(bytes, file);
  return { ...read, findings: [...read.findings, ...credentialFindings(file, read.pack, credentials)] };
}

function lintRecord(file: string, { pack, digest, findings }: PackReading): object {
  const ok = isSound({ pack, findings });
  return { file, ok, pack: pack?.name ?? null, digest, actions: pack?.actions.size ?? null, findings };
}

function lintLines(file: string, { pack, digest, findings }: PackReading): readonly string[] {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const lines = findings.map(lineOf);
  if (pack === null || errors > 0)
    return [
      ...lines,
      `${showText(file)}: ${counted(errors, "error")}, ${counted(findings.length - errors, "warning")}; the pack is not usable`,
    ];
  return [
    ...lines,
    `${showText(file)}: ${pack.name}, ${counted(pack.actions.size, "action")}, ${counted(findings.length, "warning")}`,
    `digest ${digest}`,
  ];
}

function isSound({ pack, findings }: Pick<PackReading, "pack" | "findings">): boolean {
  return pack !== null && findings.every(({ severity }) => severity === "warning");
}

function lineOf({ file, line, column, severity, code, path, message }: PackFinding): string {
  const where = path === "" ? "" : `${showText(path)} `;
  return `${showText(file)}:${line}:${column}: ${severity} ${code}: ${where}${showText(message)}`;
}

/** One byte more than a pack may have is enough to refuse it; a device or a huge file is never read whole. */
async function readBounded(file: string): Promise<Uint8Array | string> {
  try {
    const handle = await open(file, "r");
    try {
      const buffer = Buffer.alloc(defaults.packBytes + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
        length += bytesRead;
        if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length);
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unreadable";
  }
}
