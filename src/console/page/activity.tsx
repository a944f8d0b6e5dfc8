import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ActivityEntry, PreviewEntry } from "../../audit/journals/activity-entry.ts";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { ActivityAnswer, ShownEntry } from "../reading/journal.ts";
import { ask } from "./api.ts";
import { Button, Chip, Empty, Problem, Time } from "./parts.tsx";

const ROW_PX = 44;
const PAGE = 100;
const OUTCOMES = ["succeeded", "failed", "unknown", "pending", "denial", "operation", "preview", "gap"] as const;

const FILTERS = [
  ["since", "From", "datetime-local"],
  ["until", "Until", "datetime-local"],
  ["action", "Action", "text"],
  ["run", "Run", "text"],
  ["caller", "Caller", "text"],
  ["credential", "Credential", "text"],
  ["operator", "Operator", "text"],
  ["gateway", "Gateway", "text"],
] as const;

/** Times are typed in the person's own zone. */
function filterOf(text: string, outcome: string, fields: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ q: text, outcome });
  for (const [name, , type] of FILTERS) {
    const value = fields[name] ?? "";
    if (value !== "") query.set(name, type === "text" ? value : new Date(value).toISOString());
  }
  return query.toString();
}

/** Every call, newest first. Only the rows that can be seen exist; what they say is fetched as it comes into sight. */
export function Activity({ query, hub }: { readonly query: URLSearchParams; readonly hub: boolean }) {
  const [text, setText] = useState(query.get("q") ?? "");
  const [outcome, setOutcome] = useState("");
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({});
  const [pages, setPages] = useState<ReadonlyMap<number, readonly ShownEntry[]>>(new Map());
  const [about, setAbout] = useState<Omit<ActivityAnswer, "rows"> | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const box = useRef<HTMLElement>(null);
  const filter = useMemo(() => filterOf(text, outcome, fields), [text, outcome, fields]);

  async function load(page: number, older = false): Promise<void> {
    try {
      const path = `/api/activity?${filter}&offset=${page * PAGE}&limit=${PAGE}${older ? "&older=1" : ""}`;
      const { rows, ...rest } = (await ask("GET", path)) as ActivityAnswer;
      // What was shown is of the part before, until the larger one is read.
      const other = rest.whole !== about?.whole || rest.matching !== about.matching;
      setAbout(rest);
      setPages((before) => new Map([...(other ? [] : before), [page, rows]]));
      setProblem(null);
      if (rest.reading !== null) await load(page);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }

  async function exportAll(): Promise<void> {
    try {
      const { rows, matching } = (await ask("GET", `/api/activity?${filter}&export=1`)) as ActivityAnswer;
      save("activity.json", "application/json", JSON.stringify(rows, null, 2));
      if (matching > rows.length)
        setProblem(
          `The newest ${rows.length} are in the file; narrow the filter for the rest, or use gw activity --json.`,
        );
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }

  useEffect(() => {
    setPages(new Map());
    if (box.current !== null) box.current.scrollTop = 0;
    setTop(0);
    const timer = setTimeout(() => void load(0), 150);
    return () => clearTimeout(timer);
  }, [filter]);
  useEffect(() => {
    const look = (): void => setHeight(box.current?.clientHeight ?? 600);
    look();
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, [about === null]);

  const first = Math.max(0, Math.floor(top / ROW_PX) - 6);
  const last = Math.min((about?.matching ?? 0) - 1, Math.ceil((top + height) / ROW_PX) + 6);
  const wanted = [...new Set([Math.floor(first / PAGE), Math.floor(Math.max(first, last) / PAGE)])];
  const missing = wanted.filter((page) => !pages.has(page) && page * PAGE < (about?.matching ?? 0)).join();
  useEffect(() => {
    for (const page of missing.split(",").filter((one) => one !== "")) void load(Number(page));
  }, [missing, filter]);

  const rows = [];
  for (let at = first; at <= last; at++) {
    const entry = pages.get(Math.floor(at / PAGE))?.[at % PAGE];
    rows.push(<Entry key={at} at={at} entry={entry} />);
  }
  return (
    <section class="activity" aria-labelledby="activity">
      <h2 id="activity" class="sr">
        Activity
      </h2>
      <search class="filters">
        <label>
          <span class="sr">Search</span>
          <input
            type="search"
            placeholder="Search everything, contents too…"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <label>
          <span class="sr">Outcome</span>
          <select value={outcome} onChange={({ currentTarget }) => setOutcome(currentTarget.value)}>
            <option value="">every outcome</option>
            {OUTCOMES.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <Button class="plain" onClick={() => void load(0, about !== null && !about.whole)}>
          {about?.whole === false ? "Read further back" : "Refresh"}
        </Button>
        <Button class="plain" onClick={() => void exportAll()}>
          Export what is shown
        </Button>
        <details class="more">
          <summary>
            More filters {Object.values(fields).some((value) => value !== "") && <Chip kind="acts">in use</Chip>}
          </summary>
          <div class="more-fields">
            {FILTERS.filter(([name]) => hub || name !== "gateway").map(([name, label, type]) => (
              <label key={name}>
                {label}
                <input
                  {...({ type } as { readonly type: "text" })}
                  value={fields[name] ?? ""}
                  onInput={({ currentTarget }) => setFields({ ...fields, [name]: currentTarget.value })}
                />
              </label>
            ))}
          </div>
        </details>
      </search>
      <p class="muted" role="status">
        {about === null
          ? "Opening the log with your key…"
          : `${about.matching.toLocaleString()} of ${about.read.toLocaleString()} entries${about.whole ? "" : ", from the newest part of the log"}${about.texts ? "" : "; the contents of the oldest are not searched"}`}
      </p>
      {about !== null && about.reading !== null && (
        <p class="muted">
          <progress max={about.reading.total} value={about.reading.done} aria-label="Reading further back" /> reading
          further back…
        </p>
      )}
      <Problem text={problem} />
      {about?.wrong?.map(({ gateway, words }) => (
        <p key={gateway} class="problem">
          The log of {showIdentifier(gateway)} is not shown: {words}. See Log.
        </p>
      ))}
      {about !== null && about.matching === 0 ? (
        <Empty title="Nothing to show">
          Calls appear here as they are made. Take away a filter, or read further back.
        </Empty>
      ) : (
        <section
          ref={box}
          class="scroll"
          aria-label="Calls, newest first"
          tabIndex={0}
          onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
        >
          <ul class="rows" style={{ height: `${(about?.matching ?? 0) * ROW_PX}px` }}>
            {rows}
          </ul>
        </section>
      )}
    </section>
  );
}

const COLOURS: Readonly<Record<string, string>> = {
  succeeded: "good",
  failed: "grave",
  unknown: "acts",
  pending: "plain",
  denial: "grave",
  gap: "grave",
};

function Entry({ at, entry }: { readonly at: number; readonly entry: ShownEntry | undefined }) {
  const place = { transform: `translateY(${at * ROW_PX}px)` };
  if (entry === undefined) return <li class="entry loading" style={place} aria-hidden="true" />;
  const { id, name, detail, outcome } = wordsOf(entry);
  const of = entry.gateway === undefined ? "" : `?gateway=${encodeURIComponent(entry.gateway)}`;
  const content = (
    <>
      <Time at={"at" in entry ? entry.at : null} />
      <span class="name">{name}</span>
      <span class="detail-text">
        {entry.gateway !== undefined && <b>{showIdentifier(entry.gateway)} </b>}
        {detail}
      </span>
      <Chip kind={COLOURS[outcome] ?? "plain"}>{outcome}</Chip>
    </>
  );
  return (
    <li class="entry" style={place}>
      {id === null ? (
        <span class="line">{content}</span>
      ) : (
        <a class="line" href={`#/call/${encodeURIComponent(id)}${of}`}>
          {content}
        </a>
      )}
    </li>
  );
}

function wordsOf(entry: ActivityEntry): {
  readonly id: string | null;
  readonly name: string;
  readonly detail: string;
  readonly outcome: string;
} {
  switch (entry.kind) {
    case "call":
      return {
        id: entry.call_id ?? entry.attempt_id,
        name: showIdentifier(entry.action),
        detail: [showIdentifier(entry.target), entry.status === null ? "" : String(entry.status)].join(" "),
        outcome: entry.outcome,
      };
    case "reconciliation":
      return {
        id: entry.call_id ?? entry.attempt_id,
        name: showIdentifier(entry.action ?? "reconciled"),
        detail: `found out: ${showText(entry.said ?? entry.source)}`,
        outcome: entry.outcome,
      };
    case "denial":
      return {
        id: entry.call_id,
        name: showIdentifier(entry.action ?? "refused"),
        detail: `${showIdentifier(entry.code)}${entry.count > 1 ? ` ×${entry.count}` : ""} ${showText(entry.reason ?? "")}`,
        outcome: "denial",
      };
    case "operation":
      return {
        id: entry.operation_id,
        name: showIdentifier(entry.operation_id),
        detail: `${entry.from ?? ""} → ${entry.to}, ${showText(entry.cause)}`,
        outcome: "operation",
      };
    case "preview":
      return {
        id: entry.call_id,
        name: showIdentifier(entry.action ?? entry.plan_id ?? "preview"),
        detail: sayPreview(entry),
        outcome: "preview",
      };
    case "gap":
      return { id: null, name: "a gap in the log", detail: "what stood here cannot be read: see Log", outcome: "gap" };
  }
}

function sayPreview({ event, outcome }: Pick<PreviewEntry, "event" | "outcome">): string {
  switch (event) {
    case "preview_requested":
      return "asked what it would change";
    case "preview_finished":
      return `the answer: ${outcome}`;
    case "plan_executed":
      return "the plan was carried out";
    case "plan_rejected":
      return "the plan was refused";
  }
}

export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
