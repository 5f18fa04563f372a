import * as z from "zod";

/** The fields of a tool's answer that the demo reads. */
const Answer = z.object({
  result: z.object({
    isError: z.boolean().optional(),
    content: z.array(z.object({ text: z.string() })),
    structuredContent: z.record(z.string(), z.unknown()).optional(),
  }),
});

export type UseTool = (name: string, input?: object) => Promise<Record<string, unknown>>;

/**
 * Returns a function that calls a tool of the MCP endpoint. The endpoint keeps no session, so one request is enough. An agent
 * framework would use the official client instead.
 */
export const connectToTools =
  (url: string, token: string, signal: AbortSignal): UseTool =>
  async (name, input = {}) => {
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } }),
      signal,
    });
    const { result } = Answer.parse(await response.json());
    const text = result.content.map((part) => part.text).join("\n");
    if (result.isError || !result.structuredContent) throw new Error(`${name} was refused: ${text}`);
    return result.structuredContent;
  };
