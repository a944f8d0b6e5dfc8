import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const root = dirname(import.meta.dirname);

/** Rows of the form `| sentence | \`file\` | title |`, also those of the faults of a fleet. */
function rows(): readonly { readonly sentence: string; readonly file: string; readonly title: string }[] {
  const page = ["conventions.md", "fleet.md"].map((name) => readFileSync(join(root, "docs", name), "utf8")).join("\n");
  return [...page.matchAll(/^\| (.+) \| `([^`]+\.test\.ts)` \| (.+) \|$/gm)].map(([, sentence, file, title]) => ({
    sentence: sentence ?? "",
    file: file ?? "",
    title: title ?? "",
  }));
}

test("every sentence of the specification has a row, and the test that its row names exists", () => {
  const sources = new Map<string, string>();
  const missing: string[] = [];
  for (const { sentence, file, title } of rows()) {
    const path = join(root, file);
    if (!existsSync(path)) {
      missing.push(`${file} is gone (${sentence})`);
      continue;
    }
    const source = sources.get(file) ?? readFileSync(path, "utf8");
    sources.set(file, source);
    if (!source.includes(JSON.stringify(title))) missing.push(`${file} has no test "${title}" (${sentence})`);
  }
  assert.deepEqual(missing, []);
  assert.ok(rows().length >= 281, `${rows().length} rows`);
});

test("a sentence stands once in its section", () => {
  const page = readFileSync(join(root, "docs", "conventions.md"), "utf8");
  const twice = page.split(/^### /m).flatMap((section) => {
    const found = [...section.matchAll(/^\| (.+) \| `[^`]+\.test\.ts` \|/gm)].map(([, sentence]) => sentence ?? "");
    return found.filter((sentence, at) => found.indexOf(sentence) !== at);
  });
  assert.deepEqual(twice, []);
});
