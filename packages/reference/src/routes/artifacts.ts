import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FileSink } from "../../../request/src/multipart/part.ts";
import { defineRoute, type RouteDeclaration } from "../../../request/src/route.ts";
import { bindRoute } from "../../../request/src/serve.ts";
import type { Who } from "../context.ts";
import { type Core, nowIso } from "../core.ts";
import { exchangeFaults } from "../faults.ts";
import { type ReferenceRoute, requireScope } from "../route.ts";
import { sufferFault } from "../suffer.ts";

const declaration = {
  method: "POST",
  path: "/v1/artifacts",
  body: {
    kind: "multipart",
    parts: {
      file: { kind: "file", filename: "optional", contentType: "optional" },
      manifest: {
        kind: "json",
        contentType: "optional",
        schema: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string", minLength: 1, maxLength: 64 },
            digest: { type: "string", pattern: "^sha256:[0-9a-f]{64}$", maxLength: 71 },
          },
        },
      },
    },
  },
  recorded: ["/body/file/digest", "/body/file/size", "/body/manifest/name"],
} as const satisfies RouteDeclaration;

/** Exactly a `file` and a `manifest`. The file goes to disk as it arrives and is named by its digest once it is accepted. */
export function artifactRoutes(core: Core): readonly ReferenceRoute[] {
  const route = defineRoute(declaration, ({ body: { file, manifest } }) =>
    manifest.digest === undefined || manifest.digest === file.digest
      ? []
      : [{ code: "value_not_allowed", path: "/manifest/digest", message: "is not the digest of the file" }],
  );
  prepareFolder(core.artifactFolder);
  const about = {
    summary: "Upload an artifact",
    answers: { 201: { description: "Stored" }, 200: { description: "The same content was there before" } },
    scopes: ["artifacts:write"],
  };
  return [
    {
      declaration,
      about,
      bound: {
        route: route as unknown as ReferenceRoute["bound"]["route"],
        // Each request has its own spool, so that a refused one drops its own file and no other.
        begin(head) {
          const spool = createSpool(core.artifactFolder);
          const bound = bindRoute<CommandOfArtifacts, Who>(route, {
            authorize: (_request, who) => {
              who.checkBody();
              return requireScope(who, "artifacts:write");
            },
            execute: async ({ command: { body, endpoint } }, who) => {
              const work = () => keep(core, who, body, spool);
              const fault = core.faults.take(exchangeFaults, endpoint);
              try {
                return await (fault === undefined ? work() : sufferFault(fault, who, core.sleep, work));
              } finally {
                await spool.drop();
              }
            },
          });
          return bound.begin(head, () => spool.sink);
        },
      },
    },
  ];
}

type CommandOfArtifacts = Parameters<Parameters<typeof defineRoute<typeof declaration>>[1] & object>[0];

async function keep(core: Core, who: Who, body: CommandOfArtifacts["body"], spool: Spool) {
  const { file, manifest } = body;
  await spool.moveTo(join(core.artifactFolder, file.digest.slice("sha256:".length)));
  const { store } = core;
  const fresh = store.run(
    store.db
      .insertInto("artifacts")
      .values({
        tenant_id: who.tenant,
        artifact_digest: file.digest,
        size: file.size,
        name: manifest.name,
        manifest: JSON.stringify(manifest),
        actor_id: who.actor,
        created_at: nowIso(core),
      })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const answer = {
    artifact_digest: file.digest,
    size: file.size,
    name: manifest.name,
    claimed_name: file.claimed_name,
  };
  return { status: fresh === 1 ? 201 : 200, body: answer };
}

const INCOMING = ".incoming-";

/** What a process that died was still receiving belongs to nobody. */
function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) if (name.startsWith(INCOMING)) rmSync(join(folder, name), { force: true });
}

interface Spool {
  readonly sink: FileSink;
  /** Content-addressed: the same bytes under the same name, so moving twice changes nothing. */
  moveTo(path: string): Promise<void>;
  drop(): Promise<void>;
}

function createSpool(folder: string): Spool {
  const path = join(folder, `${INCOMING}${randomUUID()}`);
  let opened: Promise<FileHandle> | undefined;
  let moved = false;
  const drop = async (): Promise<void> => {
    await (await opened?.catch(() => undefined))?.close().catch(() => {});
    if (opened !== undefined && !moved) await rm(path, { force: true });
  };
  return {
    sink: {
      async write(bytes) {
        opened ??= open(path, "wx", 0o600);
        const handle = await opened;
        // Copied: the bytes are a view that the parser may use again once this returns.
        await handle.appendFile(Buffer.from(bytes));
      },
      async end() {
        opened ??= open(path, "wx", 0o600);
        const handle = await opened;
        await handle.sync();
      },
      abort() {
        void drop();
      },
    },
    async moveTo(to) {
      if (moved) return;
      await rename(path, to);
      moved = true;
    },
    drop,
  };
}
