import { homedir } from "node:os";
import { join } from "node:path";
import { defaults } from "../../../kernel/defaults.ts";
import type { JsonObject } from "../../../kernel/json.ts";

/** What a client starts: an absolute path and plain arguments, so that nothing stands between the client and the bridge. */
export interface Entry {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface Client {
  readonly id: string;
  readonly title: string;
  readonly format: "json" | "toml";
  /** Where the client keeps it; null where only the person knows. */
  file(cwd: string, home: string): string | null;
  /** The members on the way to the server's own record. */
  path(name: string): readonly string[];
  record(entry: Entry): JsonObject;
}

const plain = ({ command, args }: Entry): JsonObject => ({ command, args });
const stdio = ({ command, args }: Entry): JsonObject => ({ type: "stdio", command, args });
const GIVE_UP_MS = defaults.mcpWaitMs + 15_000;

export const clients: readonly Client[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    format: "json",
    file: (cwd) => join(cwd, ".mcp.json"),
    path: (name) => ["mcpServers", name],
    record: stdio,
  },
  {
    id: "codex",
    title: "Codex",
    format: "toml",
    file: (_cwd, home) => join(home, ".codex", "config.toml"),
    path: (name) => ["mcp_servers", name],
    record: (entry) => ({ ...plain(entry), tool_timeout_sec: GIVE_UP_MS / 1000 }),
  },
  {
    id: "cursor",
    title: "Cursor",
    format: "json",
    file: (cwd) => join(cwd, ".cursor", "mcp.json"),
    path: (name) => ["mcpServers", name],
    record: stdio,
  },
  {
    id: "vscode",
    title: "VS Code",
    format: "json",
    file: (cwd) => join(cwd, ".vscode", "mcp.json"),
    path: (name) => ["servers", name],
    record: stdio,
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    format: "json",
    file: (_cwd, home) => join(home, ".gemini", "settings.json"),
    path: (name) => ["mcpServers", name],
    record: (entry) => ({ ...plain(entry), timeout: GIVE_UP_MS }),
  },
  {
    id: "json",
    title: "any client that reads MCP JSON",
    format: "json",
    file: () => null,
    path: (name) => ["mcpServers", name],
    record: plain,
  },
];

export function findClient(id: string): Client | undefined {
  return clients.find((client) => client.id === id);
}

export function fileOf(client: Client): string | null {
  return client.file(process.cwd(), homedir());
}
