import { spawnSync } from "node:child_process";
import { realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { defaults } from "../../../../kernel/defaults.ts";
import { showIdentifier } from "../../../../kernel/display.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { Secret } from "../../../../kernel/secret.ts";
import { readPlace } from "../../../../vault/credential.ts";
import { replaceFile } from "../../../../vault/files/atomic-write.ts";
import { openHome } from "../../../../vault/files/home.ts";
import { answering } from "../../answer.ts";
import { type CliIo, type Exit, exits } from "../../io.ts";
import { readGivenFile } from "../../read-given-file.ts";
import { storeCredential } from "../change-credential.ts";
import { withKeyPassphrase } from "../secret-input.ts";
import { type VaultCliPorts, type VaultOptions, withOperator } from "../session.ts";
import { type FoundSecret, findInEnv, findInNetrc, findInNpmrc, labelOf, withoutLines } from "./find-secrets.ts";

export interface ImportOptions extends VaultOptions {
  /** NAME=ORIGIN: where a secret that says nothing about it may be sent. */
  readonly bind: readonly string[];
  readonly hostKey: readonly string[];
  readonly only: readonly string[];
  readonly label?: string;
  readonly host: string;
  readonly yes: boolean;
  /** Take it away where it was; asked for where nothing is said. */
  readonly delete?: boolean;
}

const SOURCES = ["gh", "env", "netrc", "npmrc", "ssh-key", "op"] as const;
type Source = (typeof SOURCES)[number];

/** What was found, and what it takes to remove the original; null where only its owner can. */
interface Original {
  readonly found: readonly FoundSecret[];
  readonly removal: {
    readonly asks: string;
    /** In words, what is still there all the same; nothing where all of it is gone. */
    remove(taken: readonly FoundSecret[]): readonly string[];
  } | null;
}

/** `gw credential import SOURCE [FILE]`: names and bindings are shown and never a value; the original may go afterwards. */
export function runCredentialImport(
  word: string,
  file: string | undefined,
  options: ImportOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, async () => {
    const source = SOURCES.find((one) => one === word);
    if (source === undefined) throw new Denied("credential_invalid", `It imports from ${SOURCES.join(", ")}.`);
    const { found, removal } = readSource(source, file, options, ports);
    const { ready, unbound, several } = bindAll(found, options);
    for (const { label } of unbound)
      io.err(`${showIdentifier(label)}  left out: say where it may go with --bind ${label}=https://HOST`);
    for (const [label, { length }] of several)
      io.err(`${showIdentifier(label)}  left out: there are ${length} of this name; gw credential add takes the one`);
    if (ready.length === 0) throw new Denied("secret_missing", "Nothing was found that can be taken over.");
    const vault = openHome(options.home, ports.random).readVault();
    const isNew = ({ label }: FoundSecret): boolean => !vault.credentials.some((held) => held.label === label);
    if (!ready.some(isNew)) throw new Denied("credential_exists", "The vault holds all of these already.");
    for (const { label, kind, places } of ready.filter(isNew)) readPlace(vault, { label, kind, boundTo: places });
    for (const { label, kind, places } of ready)
      io.err(`${showIdentifier(label)}  ${kind}  only for ${places.join(" ")}`);
    if (!options.yes && !(await agreed(io, "Take these over into the vault?"))) return exits.denied;
    const taken: FoundSecret[] = [];
    const exit = await withOperator(options, io, ports, async (session) => {
      for (const one of ready) {
        const { label, kind, secret, places } = one;
        if (!isNew(one)) {
          secret.wipe();
          io.err(
            `${showIdentifier(label)}  left out: the vault holds it already; gw credential rotate ${label} takes another`,
          );
          continue;
        }
        await withKeyPassphrase(kind, options, io, (keyPassphrase) =>
          storeCredential(session, ports, {
            ...{ label, kind, boundTo: places, eachUse: false, secret },
            ...(keyPassphrase === undefined ? {} : { keyPassphrase }),
          }),
        );
        secret.wipe();
        taken.push(one);
        io.out(`${label} stored.`);
      }
      return exits.done;
    });
    if (removal === null) {
      io.err("The original is still there. Revoke or delete it where it is kept.");
      return exit;
    }
    const remove = options.delete ?? (!options.yes && (await agreed(io, removal.asks)));
    const left = remove ? removal.remove(taken) : [];
    for (const line of left) io.err(line);
    io.err(
      remove && left.length === 0
        ? "The original is gone from there."
        : "The original is still there: whoever reads it needs no gateway.",
    );
    return exit;
  });
}

function readSource(source: Source, given: string | undefined, options: ImportOptions, ports: VaultCliPorts): Original {
  switch (source) {
    case "env":
      return inFile(given ?? missing("env"), findInEnv, ports);
    case "netrc":
      return inFile(given ?? join(homedir(), ".netrc"), findInNetrc, ports);
    case "npmrc":
      return inFile(given ?? join(homedir(), ".npmrc"), findInNpmrc, ports);
    case "ssh-key": {
      const path = given ?? missing("ssh-key");
      const original = openOriginal(path);
      const label = options.label ?? labelOf(`ssh-${path.split("/").at(-1) ?? ""}`);
      return {
        found: [{ label, kind: "ssh", secret: Secret.take(Buffer.from(original.bytes)), origin: null, lines: [] }],
        removal: {
          asks: `Delete ${original.path}?`,
          remove: () =>
            original.change(() => {
              for (const each of new Set([original.path, path])) rmSync(each);
              return [];
            }),
        },
      };
    }
    case "gh": {
      const { host } = options;
      const secret = ask(["gh", "auth", "token", "--hostname", host]);
      const origin = host === "github.com" ? "https://api.github.com" : `https://${host}`;
      return {
        found: [{ label: options.label ?? "github", kind: "bearer", secret, origin, lines: [] }],
        removal: {
          asks: `Log gh out of ${host}?`,
          remove() {
            ask(["gh", "auth", "logout", "--hostname", host]).wipe();
            return [];
          },
        },
      };
    }
    case "op": {
      const label = options.label ?? missing("op", "--label NAME");
      const secret = ask(["op", "read", "--no-newline", given ?? missing("op")]);
      return { found: [{ label, kind: "bearer", secret, origin: null, lines: [] }], removal: null };
    }
  }
}

function inFile(given: string, find: (bytes: Buffer) => readonly FoundSecret[], { random }: VaultCliPorts): Original {
  const { path, bytes, change } = openOriginal(given);
  return {
    found: find(bytes),
    removal: {
      asks: `Take their lines out of ${path}?`,
      remove: (taken) =>
        change(() => {
          const lines = new Set(taken.flatMap((one) => one.lines ?? []));
          if (lines.size > 0) replaceFile(path, withoutLines(bytes, lines), random);
          return taken
            .filter((one) => one.lines === null)
            .map(
              ({ label }) => `${label} is still in ${path}: its line holds something else too. Take it out by hand.`,
            );
        }),
    },
  };
}

/** A file as it was read, and where it is, also behind a link. It is changed only where it is still that: a person thought meanwhile. */
function openOriginal(given: string) {
  const bytes = readFile(given);
  const path = realpathSync(given);
  return {
    bytes,
    path,
    change(work: () => readonly string[]): readonly string[] {
      const now = readFile(path);
      const same = now.equals(bytes);
      const left = same ? work() : [`${path} has changed meanwhile: nothing was taken out of it. Do that by hand.`];
      now.fill(0);
      bytes.fill(0);
      return left;
    },
  };
}

function readFile(path: string): Buffer {
  return readGivenFile(path, defaults.secretBytes, "secret_missing", "secret_too_large");
}

/** What another program keeps, handed over on its standard output; its words about a failure are its own. */
function ask([program = "", ...args]: readonly string[]): Secret {
  const { status, stdout, error } = spawnSync(program, args, { stdio: ["inherit", "pipe", "inherit"] });
  if (error !== undefined || status !== 0) {
    stdout?.fill(0);
    throw new Denied(
      "secret_missing",
      error === undefined
        ? `${program} ${args[0]} ended with ${status}: log in there first, then import again.`
        : `There is no program ${program} on this machine's path. Install it, or name what it holds another way.`,
    );
  }
  let end = stdout.length;
  while (end > 0 && (stdout[end - 1] ?? 0) <= 0x20) end--;
  const secret = Secret.take(Buffer.from(stdout.subarray(0, end)));
  stdout.fill(0);
  return secret;
}

type Ready = FoundSecret & { readonly places: readonly string[] };

function bindAll(found: readonly FoundSecret[], { bind, hostKey, only }: ImportOptions) {
  const named = new Map(bind.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
  const wanted = found.filter(({ label }) => only.length === 0 || only.includes(label));
  const several = [...Map.groupBy(wanted, ({ label }) => label)].filter(([, { length }]) => length > 1);
  const alone = wanted.filter(({ label }) => !several.some(([name]) => name === label));
  const placed = alone.map((one): Ready => {
    const origin = named.get(one.label) ?? one.origin;
    return { ...one, places: one.kind === "ssh" ? hostKey : origin === null ? [] : [origin] };
  });
  return {
    ready: placed.filter(({ places }) => places.length > 0),
    unbound: placed.filter(({ places }) => places.length === 0),
    several,
  };
}

async function agreed(io: CliIo, question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await io.ask(`${question} [y/N] `));
}

function missing(source: Source, what = "FILE"): never {
  throw new Denied("credential_invalid", `gw credential import ${source} needs ${what}.`);
}
