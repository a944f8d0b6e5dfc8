import { type Check, isRefusal, isSuccess, type Kit, memberOf, textOf } from "../check.ts";

const MOST_PAGES = 100;

interface ListPart {
  readonly target: string;
  readonly limit: string;
  readonly cursor: string;
  readonly other: string;
}

function partOf(kit: Kit): ListPart {
  const part = kit.profile.list;
  kit.expect(part !== undefined, "the profile describes a list");
  return part;
}

async function walk(kit: Kit, size: number): Promise<readonly string[]> {
  const { target, limit, cursor } = partOf(kit);
  const records: string[] = [];
  const seen = new Set<string>();
  let next = "";
  do {
    const query = `${limit}=${size}${next === "" ? "" : `&${cursor}=${encodeURIComponent(next)}`}`;
    const reply = await kit.send({ method: "GET", target: `${target}?${query}` });
    kit.expect(isSuccess(reply), "a page is answered");
    const data = memberOf(reply.json, "data");
    kit.expect(Array.isArray(data), "a page holds `data`");
    records.push(...data.map((record) => JSON.stringify(record)));
    next = textOf(reply.json, "next_cursor");
    kit.expect(!seen.has(next), "a cursor never comes again");
    seen.add(next);
    kit.expect(seen.size <= MOST_PAGES, `the list ends within ${MOST_PAGES} pages`);
  } while (next !== "");
  return records;
}

export const listChecks: readonly Check[] = [
  {
    name: "list.complete",
    rule: "List page: the cursor leads through the whole list and ends",
    needs: "list",
    async run(kit: Kit) {
      const [large, small] = [await walk(kit, 50), await walk(kit, 13)];
      kit.expect(new Set(small).size === small.length, "no record comes twice");
      kit.expect(small.join("\n") === large.join("\n"), "the page size changes nothing but the pages");
    },
  },
  {
    name: "list.page_size",
    rule: "Limits 11: the page size is a ceiling",
    needs: "list",
    async run(kit: Kit) {
      const { target, limit } = partOf(kit);
      const reply = await kit.send({ method: "GET", target: `${target}?${limit}=2` });
      const data = memberOf(reply.json, "data");
      kit.expect(Array.isArray(data) && data.length <= 2, "a page of two holds at most two");
    },
  },
  {
    name: "list.cursor_malformed",
    rule: "Errors: malformed pagination is a fault, never a first page",
    needs: "list",
    async run(kit: Kit) {
      const { target, cursor } = partOf(kit);
      const reply = await kit.send({ method: "GET", target: `${target}?${cursor}=conformance-no-cursor` });
      kit.expect(isRefusal(reply), "a cursor that was never issued is refused");
    },
  },
  {
    name: "list.cursor_bound",
    rule: "List page: a cursor belongs to the query that it came from",
    needs: "list",
    async run(kit: Kit) {
      const { target, limit, cursor, other } = partOf(kit);
      const first = await kit.send({ method: "GET", target: `${target}?${limit}=3` });
      const next = textOf(first.json, "next_cursor");
      kit.expect(next !== "", "the list has more than three records");
      const reply = await kit.send({
        method: "GET",
        target: `${target}?${other}&${limit}=3&${cursor}=${encodeURIComponent(next)}`,
      });
      kit.expect(isRefusal(reply), "under another order or filter the cursor is refused");
    },
  },
];
