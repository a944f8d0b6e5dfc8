import { createHash } from "node:crypto";
import { createReadStream, realpathSync } from "node:fs";
import type { Digest } from "../../kernel/canonical-json.ts";
import { isoTime } from "../../kernel/clock.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { openHome } from "../../vault/files/home.ts";
import { signPolicy } from "../../vault/policy/verify.ts";
import { answering } from "./answer.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { applyChange, say, type VaultCliPorts, type VaultOptions, withOperator } from "./vault/session.ts";

/** `gw caller enroll FILE --as NAME`: an operator vouches for the exact bytes of a program file. */
export function runCallerEnroll(
  file: string,
  options: VaultOptions & { readonly as: string },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, async () => {
    const path = realpathSync(file);
    const digest = await digestFile(path);
    return withOperator(options, io, ports, async (session) => {
      await applyChange(session, ports, { what: "caller_enrolled", subject: options.as }, (vault) => {
        const policy = session.home.readPolicy(vault);
        const others = policy.callers.filter(({ imageDigest }) => imageDigest !== digest);
        const enrolled = { imageDigest: digest, authority: options.as, enrolledAt: isoTime(ports.clock.wallMs()) };
        const draft = { ...policy, callers: [...others, enrolled] };
        return { policy: signPolicy(draft, policy, session.operator, vault, ports.clock) };
      });
      const record = { authority: options.as, image_digest: digest, path };
      say(
        io,
        options.json,
        record,
        `${showIdentifier(path)} is enrolled as ${showIdentifier(options.as)} (${digest}). An updated file must be enrolled again.`,
      );
      return exits.done;
    });
  });
}

export function runCallerList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const rows = home.readPolicy(home.readVault()).callers.map(({ authority, imageDigest, enrolledAt }) => ({
      authority,
      image_digest: imageDigest,
      enrolled_at: enrolledAt,
    }));
    if (options.json) io.out(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) io.out("No enrolled callers: gw caller enroll FILE --as NAME");
    else
      for (const row of rows) io.out(`${showIdentifier(row.authority)}  ${row.image_digest}  since ${row.enrolled_at}`);
    return exits.done;
  });
}

/** `gw caller remove NAME_OR_DIGEST`. Running sessions go on; the next card no longer names the authority. */
export function runCallerRemove(which: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () =>
    withOperator(options, io, ports, async (session) => {
      await applyChange(session, ports, { what: "caller_removed", subject: which }, (vault) => {
        const policy = session.home.readPolicy(vault);
        const kept = policy.callers.filter(
          ({ authority, imageDigest }) => authority !== which && imageDigest !== which,
        );
        if (kept.length === policy.callers.length) {
          throw new Denied("not_found", `No enrolled caller is called ${showIdentifier(which)}: gw caller list.`);
        }
        return { policy: signPolicy({ ...policy, callers: kept }, policy, session.operator, vault, ports.clock) };
      });
      say(io, options.json, { removed: which }, `${showIdentifier(which)} is no longer enrolled.`);
      return exits.done;
    }),
  );
}

async function digestFile(path: string): Promise<Digest> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch {
    throw new Denied("not_found", `${path} cannot be read.`);
  }
  return `sha256:${hash.digest("hex")}` as Digest;
}
