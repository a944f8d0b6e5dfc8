import type { TestEvent } from "node:test/reporters";

/** A reporter for node:test that names the files with a failed test, one a line. */
// biome-ignore lint/style/noDefaultExport: the test runner takes a reporter as a default export
export default async function* failedFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>();
  for await (const { type, data } of source) if (type === "test:fail" && data.file !== undefined) files.add(data.file);
  for (const file of files) yield `${file}\n`;
}
