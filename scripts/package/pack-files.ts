import { spawnSync } from "node:child_process";

/** The same tree gives the same bytes: sorted, one time, one owner, modes that do not depend on who checked it out. */
export function tarOf(folder: string, epochS: number, rename?: string): Buffer {
  const flags = [
    "--create",
    "--format=gnu",
    "--sort=name",
    `--mtime=@${epochS}`,
    "--owner=root:0",
    "--group=root:0",
    "--mode=u=rwX,go=rX",
    `--directory=${folder}`,
    // Not the targets of links: they are relative already.
    ...(rename === undefined ? [] : [`--transform=flags=rh;s,^\\.,${rename},`]),
    ".",
  ];
  const made = spawnSync("tar", flags, { maxBuffer: 1 << 30, env: { PATH: process.env["PATH"], LC_ALL: "C" } });
  if (made.error) throw made.error;
  if (made.status !== 0) throw new Error(`tar failed (GNU tar is needed): ${made.stderr.toString()}`);
  return made.stdout;
}

/** An archive of the form that Debian packages have: a magic word, then each member behind sixty bytes of header. */
export function arOf(epochS: number, members: readonly { readonly name: string; readonly bytes: Buffer }[]): Buffer {
  const parts = members.flatMap(({ name, bytes }) => {
    const head = `${name.padEnd(16)}${String(epochS).padEnd(12)}${"0".padEnd(6)}${"0".padEnd(6)}${"100644".padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`;
    return [Buffer.from(head, "latin1"), bytes, Buffer.alloc(bytes.length % 2, "\n")];
  });
  return Buffer.concat([Buffer.from("!<arch>\n", "latin1"), ...parts]);
}
