import { codes } from "../src/kernel/codes.ts";

/** docs/errors.md, written from the table of codes. */
export function errorsPage(): string {
  const rows = Object.entries(codes).map(
    ([code, { status, means, mend }]) => `| \`${code}\` | ${status} | ${means} | ${mend} |`,
  );
  return `# Errors

Every refusal carries a stable \`code\`. On the planes it arrives as \`application/problem+json\` (RFC 9457) with the members
\`type\`, \`title\`, \`status\`, \`detail\`, \`code\`, \`message\`, \`errors[]\` {\`code\`, \`path\`, \`message\`}, \`retry_allowed\` and
\`correlation_id\`; on the command line it begins the line on standard error, \`code: message\`, with \`--json\` too, and the exit status
is 1 unless the [exit codes](operations.md#exit-codes) say otherwise.
Programs match on \`code\`; the message is for people and may change. This page is written from the code table by \`npm run docs\`.

| code | status | what happened | what to do |
|---|---|---|---|
${rows.join("\n")}
`;
}
