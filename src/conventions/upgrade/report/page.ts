import { createHash } from "node:crypto";
import { type Difference, surfaces, surfaceTitles } from "../compare/difference.ts";
import type { DecisionState } from "../decision/settle.ts";
import { html, type Markup } from "./markup.ts";
import { pageScript } from "./page-script.ts";
import { pageStyle } from "./page-style.ts";
import { type Group, type GroupState, kindWords, type Report, type SurfaceTotal } from "./report.ts";
import { advice, verdictLine } from "./terminal.ts";

const PURPOSE = {
  action_reach: "What can newly be done to the world with what the agent already holds.",
  resource_reach: "What can newly be seen, named or reached.",
  credential_acceptance: "Which credentials open what, where they are sent, and what a refusal looks like.",
  request_compatibility: "What stops working or means something else for requests that are sent today.",
} as const;
const OPERATIONS = 60;
const STATE_WORDS: Readonly<Record<GroupState, string>> = {
  open: "undecided",
  unverified: "signature does not hold",
  accepted: "accepted",
  rejected: "rejected",
  narrowed: "narrowed",
  mixed: "partly decided",
};

/**
 * One file that a reviewer opens anywhere: no request leaves it, it reads whole without scripts, and the policy in its
 * head lets nothing run but the one script whose digest it names.
 */
export function reportPage(report: Report): string {
  const { before, after } = report.review;
  const policy = `default-src 'none'; style-src '${sourceOf(pageStyle)}'; script-src '${sourceOf(pageScript)}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${{ markup: policy }}">
<title>Upgrade review: ${after.title} ${before.version} to ${after.version}</title>
<style>${{ markup: pageStyle }}</style>
</head>
<body>
${pageHead(report)}
<main>
<nav class="tiles" aria-label="Surfaces">${report.totals.map(tile)}</nav>
${toolbar(report)}
${surfaces.map((surface) => section(surface, report))}
${mapSection(report)}
</main>
<footer>
<p>A version label is not a permission boundary. Each difference blocks until a named reviewer accepts, rejects or narrows it with
<code>gw upgrade decide ID</code>; a group id decides the members it has here and none that come later. Effects and flows are judged
from names, texts and shapes in the documents: only a probe shows what the provider does.</p>
<p>Documents: <code>${before.digest}</code> and <code>${after.digest}</code></p>
</footer>
<script>${{ markup: pageScript }}</script>
</body>
</html>
`;
  return page.markup;
}

function sourceOf(text: string): string {
  return `sha256-${createHash("sha256").update(text, "utf8").digest("base64")}`;
}

function pageHead(report: Report): Markup {
  const { before, after, counts } = report.review;
  return html`<header class="top"><div>
<p class="soft">Authority review of an API upgrade</p>
<h1>${after.title}: ${before.version} → ${after.version}</h1>
<ul class="facts">
<li><b>${counts.added}</b> operations added</li><li><b>${counts.removed}</b> removed</li><li><b>${counts.renamed}</b> renamed</li>
<li><b>${counts.kept - counts.renamed}</b> kept</li>
<li><b>${report.review.differences.length}</b> differences in <b>${report.groups.length}</b> groups</li>
<li>${before.file} (${before.dialect}) against ${after.file} (${after.dialect})</li>
</ul>
<p class="verdict ${report.settlement.verdict}">${verdictLine(report)}</p>
${advice(report).map((line) => html`<p>${line}</p>`)}
</div></header>`;
}

function tile({ surface, widens, shifts, narrows, open }: SurfaceTotal): Markup {
  return html`<a class="tile" href="#${surface}"><strong>${surfaceTitles[surface]}</strong>
<span class="n">${widens + shifts + narrows}</span> <span class="soft">${open} undecided</span>
<ul><li>${widens} widen</li><li>${shifts} shift</li><li>${narrows} narrow</li></ul></a>`;
}

function toolbar(report: Report): Markup {
  const option = (value: string, text: string): Markup => html`<option value="${value}">${text}</option>`;
  const states = [...new Set(report.groups.map(({ state }) => state))].sort();
  return html`<div class="bar" id="bar" role="search" hidden>
<input type="search" id="search" placeholder="Search operations, fields, words" aria-label="Search">
<select id="surface" aria-label="Surface">${option("", "All surfaces")}${surfaces.map((one) => option(one, surfaceTitles[one]))}</select>
<select id="change" aria-label="Change">${option("", "All changes")}${["widens", "shifts", "narrows"].map((one) => option(one, one))}</select>
<select id="state" aria-label="Decision">${option("", "Any decision")}${states.map((one) => option(one, STATE_WORDS[one]))}</select>
<label><input type="checkbox" id="mine"> touches the pack</label>
<span class="soft" id="shown" aria-live="polite"></span>
</div>`;
}

function section(surface: (typeof surfaces)[number], report: Report): Markup {
  const groups = report.groups.filter((group) => group.surface === surface);
  const empty = html`<p class="none">Nothing differs on this surface.</p>`;
  return html`<section class="surface" id="${surface}"><div class="head"><h2>${surfaceTitles[surface]}</h2><span class="soft">${PURPOSE[surface]}</span></div>
${groups.length === 0 ? empty : groups.map((group) => card(group, report))}
</section>`;
}

function card(group: Group, report: Report): Markup {
  const { lead, members } = group;
  const many = members.length > 1;
  const title = many ? html`${sharedTitle(group)}` : html`<span class="mono">${lead.subject}</span>`;
  return html`<article class="${group.change}" data-surface="${group.surface}" data-change="${group.change}" data-state="${group.state}" data-scopes="${group.scopes.length}" id="${many ? group.id : lead.id}">
<div class="line"><h3>${title}</h3><code class="id">${many ? group.id : lead.id}</code></div>
${many ? null : html`<p>${lead.says}</p>`}
<ul class="chips"><li class="chip ${group.change}">${group.change}</li><li class="chip">${kindWords(group.kind)}</li>${lead.effect === null ? null : html`<li class="chip">${lead.effect.effect}</li>`}
<li class="chip ${stateClass(group.state)}">${STATE_WORDS[group.state]}</li>${group.scopes.map((scope) => html`<li class="chip">pack: ${scope}</li>`)}</ul>
${many ? memberTable(members, report) : single(lead, report)}
</article>
`;
}

/** The sentence that all members share, with the place left out where it differs. */
function sharedTitle({ lead, members, kind }: Group): string {
  const subjects = new Set(members.map(({ subject }) => subject));
  const field = new Set(
    members.map(
      ({ at }) =>
        at
          .split(/[ .]/)
          .at(-1)
          ?.replaceAll(/[[\]{}]/g, "") ?? "",
    ),
  );
  const [name] = field;
  const words = kindWords(kind).replace(/^./, (letter) => letter.toUpperCase());
  const what = field.size === 1 && name !== "" ? `${words}: ${name}` : words;
  return subjects.size === 1
    ? `${what}, ${members.length} times in ${lead.subject}`
    : `${what}, in ${members.length} places`;
}

function stateClass(state: GroupState): string {
  if (state === "accepted" || state === "narrowed") return "done";
  return state === "rejected" || state === "unverified" ? "bad" : "";
}

function single(one: Difference, report: Report): Markup {
  return html`${beforeAfter(one)}
<dl>${facts(one)}${decision(report.settlement.states.get(one.id))}</dl>
${manyOperations(one)}`;
}

function beforeAfter(one: Difference): Markup {
  const place = one.at === "" ? null : html`<p class="soft mono">${one.at}</p>`;
  const box = (what: string, line: number | null, text: string): Markup =>
    html`<div><span class="what">${what}${line === null ? "" : `, line ${line}`}</span><pre>${text}</pre></div>`;
  if (one.before === null)
    return html`${place}<div class="ba one">${box("new", one.lines.after, one.after ?? "")}</div>`;
  if (one.after === null) return html`${place}<div class="ba one">${box("gone", one.lines.before, one.before)}</div>`;
  return html`${place}<div class="ba">${box("before", one.lines.before, one.before)}${box("after", one.lines.after, one.after)}</div>`;
}

function facts(one: Difference): readonly Markup[] {
  const rows: Markup[] = [];
  const { effect, credential, flows } = one;
  if (effect !== null) {
    const disguised = effect.disguised ? html` <b>The HTTP method hides this.</b>` : null;
    rows.push(
      html`<dt>Effect</dt><dd><b>${effect.effect}</b> · ${effect.confidence}.${disguised} <span class="soft">${effect.evidence.join("; ")}</span></dd>`,
    );
  }
  if (credential !== null) {
    const labels =
      credential.labels.length === 0 ? null : html` <span class="soft">Labels: ${credential.labels.join(", ")}</span>`;
    rows.push(html`<dt>Credential</dt><dd>${credential.says}${labels}</dd>`);
  }
  if (flows.length > 0) {
    const items = flows.map(({ field, steering, takenBy, total }) => {
      const takers =
        total === 0
          ? "no operation takes it by this name"
          : `taken by ${takenBy.join(", ")}${total > takenBy.length ? ` and ${total - takenBy.length} more` : ""}`;
      return html`<li><code>${field}</code>, ${steering}: ${takers}</li>`;
    });
    rows.push(html`<dt>Hands out</dt><dd><ul>${items}</ul></dd>`);
  }
  if (one.notes.length > 0) rows.push(html`<dt>Note</dt><dd>${one.notes.map((note) => html`<p>${note}</p>`)}</dd>`);
  return rows;
}

function decision(state: DecisionState | undefined): Markup | null {
  if (state === undefined || state.kind === "open") return null;
  const { operator, decided_at, reason, narrowing } = state.decision;
  const narrowed = narrowing === null ? null : html` Narrowed by: ${narrowing}.`;
  return html`<dt>Decision</dt><dd><b>${STATE_WORDS[state.kind]}</b> by ${operator} at ${decided_at}: ${reason}${narrowed}</dd>`;
}

function manyOperations(one: Difference): Markup | null {
  const others = one.operations.filter((key) => key !== one.subject);
  if (others.length === 0) return null;
  const rest = others.length > OPERATIONS ? html`<li>and ${others.length - OPERATIONS} more</li>` : null;
  const list = others.slice(0, OPERATIONS).map((key) => html`<li>${key}</li>`);
  const title = others.length === 1 ? "1 operation uses it" : `${others.length} operations use it`;
  return html`<details><summary>${title}</summary><ul class="mono">${list}${rest}</ul></details>`;
}

function memberTable(members: readonly Difference[], report: Report): Markup {
  const rows = members.map((one) => {
    const state = report.settlement.states.get(one.id)?.kind ?? "open";
    return html`<tr id="${one.id}"><td class="mono">${one.subject}</td><td class="mono">${one.at}</td><td class="mono">${one.before ?? "not there"}</td><td class="mono">${one.after ?? "not there"}</td><td>${STATE_WORDS[state]}<br><code class="id">${one.id}</code></td></tr>`;
  });
  const lead = members[0];
  const notes = lead === undefined ? [] : lead.notes.map((note) => html`<p class="soft">${note}</p>`);
  const table = html`<div class="wide"><table><thead><tr><th>Where</th><th>Place</th><th>Before</th><th>After</th><th>Decision</th></tr></thead><tbody>${rows}</tbody></table></div>`;
  return html`<p>${lead?.says}</p>${notes}<details${members.length <= 4 ? html` open` : null}><summary>${members.length} places</summary>${table}</details>`;
}

function mapSection({ map, mapChanges }: Report): Markup | null {
  if (map === null) return null;
  const changed = new Map(mapChanges.map((change) => [change.operation, change]));
  const rows = map.rows.map((row) => {
    const change = changed.get(row.operation);
    const mark =
      change === undefined
        ? null
        : html` <span class="chip shifts">${change.kind === "changed" ? `changed: ${change.columns.map(({ column }) => column).join(", ")}` : change.kind}</span>`;
    return html`<tr><td class="mono">${row.operation}${mark}</td><td>${row.effect}</td><td>${row.resource_boundary}</td><td>${row.credential_label}</td><td>${row.authorization_condition}</td><td>${row.default_behaviour}</td><td>${row.denial_expectation}</td></tr>`;
  });
  return html`<section id="map"><div class="line"><h2>Authority map of ${map.version}</h2><span class="soft">${map.rows.length} request families, ${mapChanges.length} differ from the reviewed map</span></div>
<details><summary>Show the map</summary><div class="wide"><table><thead><tr><th>Operation</th><th>Effect</th><th>Resource boundary</th><th>Credential</th><th>Authorization</th><th>When left out</th><th>Denial</th></tr></thead><tbody>${rows}</tbody></table></div></details></section>`;
}
