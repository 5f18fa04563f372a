import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { World } from "../support/world.ts";

export const REVISIONS = ["2026-07-28", "2025-11-25"] as const;
export type Revision = (typeof REVISIONS)[number];

export interface ToolAnswer {
  refused: boolean;
  // biome-ignore lint: results of all tools
  data: any;
  text: string;
}

export interface McpConnection {
  client: Client;
  use: (tool: string, input?: object) => Promise<ToolAnswer>;
}

/** Connects the official client to the service in this process. `auth` is the header that identifies the person or agent. */
export async function connectMcp(
  world: Pick<World, "app" | "settings">,
  token: string,
  revision: Revision = "2026-07-28",
): Promise<McpConnection> {
  const transport = new StreamableHTTPClientTransport(new URL(`${world.settings.service_url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
    fetch: async (url, init) => world.app.request(String(url), init as RequestInit),
  });
  const mode = revision === "2026-07-28" ? { pin: revision } : ("legacy" as const);
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return {
    client,
    async use(name, input = {}) {
      const result = await client.callTool({ name, arguments: { ...input } });
      const text = (result.content as { text?: string }[]).map((part) => part.text ?? "").join("");
      const refused = result.isError === true;
      return { refused, data: refused ? JSON.parse(text) : result.structuredContent, text };
    },
  };
}
