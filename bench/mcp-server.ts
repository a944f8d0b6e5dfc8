import { type CallToolResult, Server, type Tool } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { Pool } from "undici";
import { outcomeSchema } from "../src/surfaces/mcp/schemas.ts";

/** The peer: the same tools on a bare SDK server over stdio, with the token in its own memory and nothing else done. */
const [origin = "", token = "", count = "1"] = process.argv.slice(2);
const pool = new Pool(origin, { connections: 8 });
const tools: Tool[] = Array.from({ length: Number(count) }, (_, index) => ({
  name: index === 0 ? "bench__thing-get" : `bench__thing${index}-get`,
  title: `bench.thing${index}.get`,
  description: `bench.thing${index}.get: GET /v1/things/{id} at ${origin}, effect: read.`,
  inputSchema: {
    type: "object",
    properties: { id: { type: "string", maxLength: 64 } },
    required: ["id"],
    additionalProperties: false,
  },
  outputSchema: { ...outcomeSchema, required: [...outcomeSchema.required] },
  annotations: { readOnlyHint: true, openWorldHint: true },
}));

serveStdio(() => {
  const server = new Server({ name: "bare", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", async ({ params }): Promise<CallToolResult> => {
    const answer = await pool.request({
      method: "GET",
      path: `/v1/things/${encodeURIComponent(String(params.arguments?.["id"]))}`,
      headers: { authorization: `Bearer ${token}` },
    });
    const body = await answer.body.text();
    return {
      content: [{ type: "text", text: body }],
      structuredContent: { state: "done", response: { status: answer.statusCode, body } },
    };
  });
  return server;
});
