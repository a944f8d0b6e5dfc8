import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import Fastify from "fastify";
import { seedReleases } from "../packages/reference/src/seed.ts";
import { allScopes, startReference } from "../packages/reference/src/start.ts";
import { createClock, systemRandom, systemSleep } from "../src/adapters/platform/system.ts";

/** One of the two servers of the reference bench, in a process of its own: ours, or a bare Fastify with the same SQL. */
export interface BenchServer {
  readonly origin: string;
  readonly token: string;
  readonly releases: readonly string[];
}

if (process.send !== undefined && process.env["GW_BENCH_REFERENCE"] !== undefined) {
  const folder = mkdtempSync(join(tmpdir(), "gw-bench-reference-"));
  process.once("disconnect", () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  });
  const ports = { clock: createClock(), random: systemRandom, sleep: systemSleep };
  const ours = await startReference({ port: 0, file: join(folder, "reference.db"), ...ports });
  const token = await ours.issueToken({ actor: "robot", tenant: "acme", scopes: allScopes });
  const releases = Object.values(seedReleases);
  if (process.env["GW_BENCH_REFERENCE"] === "ours") process.send({ origin: ours.origin, token, releases });
  else {
    // The peer takes over the very file, schema and rows that ours made.
    await ours.close();
    process.send({ origin: await startPeer(join(folder, "reference.db")), token, releases });
  }
}

async function startPeer(file: string): Promise<string> {
  const db = new DatabaseSync(file);
  db.exec("pragma journal_mode = wal; pragma synchronous = full");
  const one = (sql: string) => db.prepare(sql);
  const list = one(
    `select project_id, name, state, revision, updated_at from projects where tenant_id = ? and (restricted = 0 or exists
     (select actor_id from project_access where project_access.tenant_id = projects.tenant_id and
      project_access.project_id = projects.project_id and actor_id = ?)) and state = ? order by project_id, project_id limit ?`,
  );
  const revoked = one("select revoked_at from revoked_tokens where token_id = ?");
  const token = one(
    "select payload_digest, answer, settled_at_ms from idempotency where tenant_id = ? and actor_id = ? and route = ? and token = ?",
  );
  const target = one(
    "select environment, release_id, generation, active_deployment_id, updated_at from targets where tenant_id = ? and environment = ?",
  );
  const release = one("select * from releases where tenant_id = ? and release_id = ?");
  const move = one(
    "update targets set release_id = ?, active_deployment_id = ?, updated_at = ?, generation = ? where tenant_id = ? and environment = ? and generation = ?",
  );
  const before = one("select * from deployments where tenant_id = ? and deployment_id = ?");
  const supersede = one("update deployments set state = ?, updated_at = ? where tenant_id = ? and deployment_id = ?");
  const end = one(
    "update capabilities set revoked_at = ? where tenant_id = ? and deployment_id = ? and revoked_at is null",
  );
  const deploy = one(`insert into deployments values (${Array(17).fill("?").join(", ")})`);
  const grant = one(`insert into capabilities values (${Array(9).fill("?").join(", ")})`);
  const event = one("insert into events (tenant_id, event_id, type, resource, actor_id, at) values (?, ?, ?, ?, ?, ?)");
  const settle = one(`insert into idempotency values (${Array(7).fill("?").join(", ")})`);

  const app = Fastify();
  app.get("/v1/projects", (request) => {
    revoked.get("none");
    const { limit } = request.query as { readonly limit: string };
    const rows = list.all("acme", "robot", "active", Number(limit) + 1);
    return { data: rows.slice(0, Number(limit)), next_cursor: rows.length > Number(limit) ? "next" : null };
  });
  app.post("/v1/deployments/promote", (request, reply) => {
    revoked.get("none");
    const body = request.body as { readonly environment: string; readonly release: string };
    const at = new Date().toISOString();
    db.exec("begin immediate");
    const key = String(request.headers["idempotency-key"]);
    token.get("acme", "robot", "promote", key);
    const now = target.get("acme", body.environment) as Record<string, string & number>;
    const chosen = release.get("acme", body.release) as Record<string, string & number>;
    const id = randomUUID();
    const generation = Number(now["generation"]) + 1;
    const prior = String(now["active_deployment_id"]);
    move.run(body.release, id, at, generation, "acme", body.environment, generation - 1);
    before.get("acme", prior);
    supersede.run("superseded", at, "acme", prior);
    end.run(at, "acme", prior);
    const made = [
      ...["acme", id, body.environment, body.release, chosen["artifact_digest"], chosen["source_revision"]],
      ...[
        chosen["config_digest"],
        now["release_id"],
        generation,
        null,
        "robot",
        "running",
        null,
        null,
        null,
        Date.now(),
        at,
      ],
    ];
    deploy.run(...(made as string[]));
    grant.run("acme", randomUUID(), id, body.environment, "rollbacks", "robot", "promotion", Date.now(), null);
    event.run("acme", randomUUID(), "target.promoted", body.environment, "robot", at);
    release.get("acme", String(now["release_id"]));
    release.get("acme", body.release);
    const answer = { deployment_id: id, ...chosen, prior_release_id: now["release_id"], target_generation: generation };
    settle.run("acme", "robot", "promote", key, "digest", JSON.stringify(answer), Date.now());
    db.exec("commit");
    return reply.code(201).send(answer);
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const [address] = app.addresses();
  return `http://127.0.0.1:${typeof address === "object" ? address.port : ""}`;
}
