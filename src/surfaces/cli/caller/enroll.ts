import { createHash } from "node:crypto";
import { closeSync, createReadStream, fstatSync, realpathSync } from "node:fs";
import type { Digest } from "../../../kernel/canonical-json.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { answering } from "../answer.ts";
import type { CliIo, Exit } from "../io.ts";
import { openGivenFile } from "../read-given-file.ts";
import { say, type VaultCliPorts, type VaultOptions } from "../vault/session.ts";
import { type SignChange, signTried } from "../vault/sign-change.ts";
import { listAuthorities } from "./list.ts";

/** `gw caller enroll FILE --as NAME`: an operator vouches for the exact bytes of a program file. */
export function runCallerEnroll(
  file: string,
  options: VaultOptions & { readonly as: string },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, async () => {
    const path = findProgram(file);
    const digest = await digestProgram(path);
    let files = 0;
    const change = (sign: SignChange): Promise<void> =>
      sign({ what: "caller_enrolled", subject: options.as }, (policy) => {
        const named = listAuthorities(policy).filter(({ authority }) => authority === options.as);
        if (named.some(({ kind }) => kind !== "enrolled"))
          throw new Denied(
            "caller_signer_invalid",
            `${showIdentifier(options.as)} names a signer already: gw caller list. Take another name.`,
          );
        const others = policy.callers.filter(({ imageDigest }) => imageDigest !== digest);
        const enrolled = { imageDigest: digest, authority: options.as, enrolledAt: isoTime(ports.clock.wallMs()) };
        files = others.filter(({ authority }) => authority === options.as).length + 1;
        return { ...policy, callers: [...others, enrolled] };
      });
    return await signTried(options, io, ports, change, () =>
      say(
        io,
        options.json,
        { authority: options.as, image_digest: digest, path },
        `${showIdentifier(path)} is enrolled as ${showIdentifier(options.as)} (${digest}).${files > 1 ? ` ${files} files carry this name: gw caller list.` : ""} An updated file must be enrolled again.`,
      ),
    );
  });
}

/** The file behind a name that a person typed. */
export function findProgram(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    throw new Denied("not_found", `There is no file ${showIdentifier(file)}.`);
  }
}

/** `sha256:<hex>` of its bytes, as callers are known by. */
export async function digestProgram(path: string): Promise<Digest> {
  const hash = createHash("sha256");
  const fd = openGivenFile(path, "not_found");
  if (fstatSync(fd).size > defaults.callerImageBytes) {
    closeSync(fd);
    throw new Denied(
      "file_too_large",
      `${path} is larger than ${defaults.callerImageBytes} bytes: no caller like it is known.`,
    );
  }
  try {
    for await (const chunk of createReadStream(path, { fd, end: defaults.callerImageBytes }))
      hash.update(chunk as Buffer);
  } catch {
    throw new Denied("not_found", `${path} cannot be read.`);
  }
  return `sha256:${hash.digest("hex")}` as Digest;
}
