import { sql } from "kysely";
import { defaults } from "../../../../src/kernel/defaults.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Core } from "../core.ts";
import { after, limitOf, type Order, type PageQuery, pageOf, readCursor, readOrder, selectFields } from "../page.ts";
import { prepared } from "../prepared.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";
import type { ProjectState } from "../tables.ts";
import type { Version } from "../version.ts";

const limit = { type: "integer", minimum: 1, maximum: defaults.referencePageMaximum } as const;
const cursor = { type: "string", minLength: 1, maxLength: defaults.referenceCursorCharacters } as const;
const page = { 200: { description: "One page: `data`, and `next_cursor` while there is more" } };

/** Lists: cursors belong to their query, filters and orders are closed sets, `field` selects members and repeats. */
export function listRoutes(core: Core, route: MakeRoute, version: Version): readonly ReferenceRoute[] {
  return [projects(core, route, version), integrations(core, route), events(core, route)];
}

function projects(core: Core, route: MakeRoute, version: Version): ReferenceRoute {
  const fields = ["project_id", "name", "state", "revision", "updated_at"] as const;
  return route(
    {
      method: "GET",
      path: "/v1/projects",
      query: {
        type: "object",
        properties: {
          state: { enum: ["active", "archived", "inactive", "any"] },
          limit,
          sort: { enum: ["id", "-id", "name", "-name", "updated_at", "-updated_at"] },
          cursor,
          field: { type: "array", items: { enum: fields }, minItems: 1, maxItems: fields.length, uniqueItems: true },
        },
      },
      body: { kind: "none" },
    },
    { summary: "The projects that the caller may see", answers: page, scope: "projects:read" },
    ({ command: { query, endpoint }, who }) => {
      // The later version lists everything where the earlier one listed what is active: a default that widened.
      const state = query.state ?? (version === "2026-04-01" ? "active" : "any");
      const sort = query.sort ?? "id";
      const asked: PageQuery = {
        endpoint,
        filter: { state, sort, field: query.field ?? null },
        limit: query.limit,
        cursor: query.cursor,
      };
      const order = readOrder(sort, { id: "project_id", name: "name", updated_at: "updated_at" });
      const place = readCursor(core, who, asked);
      const shape = `${order.column} ${direction(order)} ${state === "any"} ${place === undefined}`;
      const pageQuery = projectPages.get(shape) ?? writeProjectPage(order, state !== "any", place !== undefined);
      projectPages.set(shape, pageQuery);
      const found = pageQuery({
        ...{ tenant: who.tenant, actor: who.actor, state, limit: limitOf(asked) + 1 },
        ...{ key: place?.key ?? "", id: place?.id ?? "" },
      });
      const body = pageOf(
        core,
        who,
        asked,
        core.store.all(found),
        (row) => ({ key: keyOf(row, order), id: row.project_id }),
        (row) => selectFields({ ...row, revision: `r${row.revision}` }, query.field),
      );
      return { status: 200, body };
    },
  );
}

type ProjectPage = {
  readonly tenant: string;
  readonly actor: string;
  readonly state: string;
  readonly limit: number;
  readonly key: string | number;
  readonly id: string;
};

/** One statement for each shape of the query: a closed set, since orders and filters are. */
const projectPages = new Map<string, ReturnType<typeof writeProjectPage>>();

function writeProjectPage(order: Order, filtered: boolean, continued: boolean) {
  return prepared((db, p: ProjectPage) => {
    let found = db
      .selectFrom("projects")
      .select(["project_id", "name", "state", "revision", "updated_at"])
      .where("tenant_id", "=", p.tenant)
      .where((where) =>
        where.or([
          where("restricted", "=", 0),
          where.exists(
            where
              .selectFrom("project_access")
              .select("actor_id")
              .whereRef("project_access.tenant_id", "=", "projects.tenant_id")
              .whereRef("project_access.project_id", "=", "projects.project_id")
              .where("actor_id", "=", p.actor),
          ),
        ]),
      )
      .orderBy(sql.ref(order.column), direction(order))
      .orderBy("project_id", direction(order))
      .limit(p.limit);
    if (filtered) found = found.where("state", "=", p.state as ProjectState);
    if (continued) found = found.where(after(order, "project_id", p));
    return found;
  });
}

function integrations(core: Core, route: MakeRoute): ReferenceRoute {
  const fields = ["integration_id", "name", "status", "updated_at"] as const;
  return route(
    {
      method: "GET",
      path: "/v1/integrations",
      query: {
        type: "object",
        properties: {
          status: { enum: ["active", "paused", "error"] },
          updated_before: { type: "string", format: "date-time" },
          limit,
          sort: { enum: ["id", "-id", "updated_at", "-updated_at"] },
          cursor,
          field: { type: "array", items: { enum: fields }, minItems: 1, maxItems: fields.length, uniqueItems: true },
        },
      },
      body: { kind: "none" },
    },
    { summary: "Integrations", answers: page, scope: "integrations:read" },
    ({ command: { query, endpoint }, who }) => {
      const sort = query.sort ?? "id";
      const filter = {
        ...{ status: query.status ?? null, updated_before: query.updated_before ?? null },
        ...{ sort, field: query.field ?? null },
      };
      const asked: PageQuery = { endpoint, filter, limit: query.limit, cursor: query.cursor };
      const order = readOrder(sort, { id: "integration_id", updated_at: "updated_at" });
      const place = readCursor(core, who, asked);
      let found = core.store.db
        .selectFrom("integrations")
        .select(["integration_id", "name", "status", "updated_at"])
        .where("tenant_id", "=", who.tenant)
        .orderBy(sql.ref(order.column), direction(order))
        .orderBy("integration_id", direction(order))
        .limit(limitOf(asked) + 1);
      if (query.status !== undefined) found = found.where("status", "=", query.status);
      if (query.updated_before !== undefined) found = found.where("updated_at", "<", query.updated_before);
      if (place !== undefined) found = found.where(after(order, "integration_id", place));
      const body = pageOf(
        core,
        who,
        asked,
        core.store.all(found),
        (row) => ({ key: keyOf(row, order), id: row.integration_id }),
        (row) => selectFields(row, query.field),
      );
      return { status: 200, body };
    },
  );
}

function events(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "GET",
      path: "/v1/events",
      query: { type: "object", properties: { limit, cursor } },
      body: { kind: "none" },
    },
    { summary: "Completed changes, oldest first; `Link` names the next page", answers: page, scope: "events:read" },
    ({ command: { query, endpoint }, who }) => {
      const asked: PageQuery = { endpoint, filter: {}, limit: query.limit, cursor: query.cursor };
      const place = readCursor(core, who, asked);
      const found = core.store.all(
        core.store.db
          .selectFrom("events")
          .select(["seq", "event_id", "type", "resource", "actor_id", "at"])
          .where("tenant_id", "=", who.tenant)
          .where("seq", ">", Number(place?.key ?? 0))
          .orderBy("seq")
          .limit(limitOf(asked) + 1),
      );
      const body = pageOf(
        core,
        who,
        asked,
        found,
        (row) => ({ key: row.seq, id: row.event_id }),
        ({ seq: _seq, ...event }) => event,
      );
      if (body.next_cursor === null) return { status: 200, body };
      const next = new URLSearchParams({ limit: String(limitOf(asked)), cursor: body.next_cursor });
      return { status: 200, body, headers: { link: `<${core.origin}/v1/events?${next}>; rel="next"` } };
    },
  );
}

function direction(order: Order): "asc" | "desc" {
  return order.descending ? "desc" : "asc";
}

function keyOf(row: JsonObject, order: Order): string {
  return String(row[order.column]);
}
