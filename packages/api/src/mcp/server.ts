import type { Context } from "@board/core/context/context";
import { errorText } from "@board/core/values/log";
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  type StandardSchemaWithJSON,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { instructionsFor } from "./instructions.ts";
import type { JsonSchema } from "./listed-schema.ts";
import type { Caller, Tool } from "./tool.ts";
import { toToolError } from "./tool-error.ts";
import { tools } from "./tools.ts";

/**
 * Answers one message of the Model Context Protocol for a caller. Nothing is kept between requests. Clients of the 2025 and 2026
 * revisions get the same server. The SDK detects the revision of a request.
 */
export async function answerMcp(ctx: Context<Caller>, request: Request, signal: AbortSignal): Promise<Response> {
  const createServer = () => createMcpServer(ctx, signal);
  const onerror = (error: Error) => ctx.log.debug("mcp.refused", errorText(error));
  if (await isLegacyRequest(request)) {
    // Without a session id, the transport serves only one request. It answers with JSON, because the answer is a single message.
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    transport.onerror = onerror;
    await createServer().connect(transport);
    return transport.handleRequest(request);
  }
  // Subscriptions are off: they would keep connections open, but the tools of a caller never change.
  const handler = createMcpHandler(createServer, { legacy: "reject", maxSubscriptions: 0, onerror });
  return handler.fetch(request);
}

function createMcpServer(ctx: Context<Caller>, signal: AbortSignal): McpServer {
  const server = new McpServer(
    { name: "board", title: "Board coordination", version: "1" },
    { instructions: instructionsFor(ctx.actor), capabilities: { tools: { listChanged: false } } },
  );
  for (const tool of tools) if (tool.isListed(ctx.actor, ctx.settings)) register(server, tool, ctx, signal);
  return server;
}

function register(server: McpServer, tool: Tool, ctx: Context<Caller>, signal: AbortSignal): void {
  const { name, description, annotations, input_schema, output_schema } = tool;
  const config = {
    description,
    annotations,
    inputSchema: asListed(input_schema),
    outputSchema: asListed(output_schema),
  };
  server.registerTool(name, config, async (input) => {
    ctx.log.addFields({ tool: name });
    try {
      const { data, text } = await tool.run(ctx, input ?? {}, signal);
      return { structuredContent: { ...data }, content: [{ type: "text", text }] };
    } catch (error) {
      const refusal = await toToolError(error, ctx.actor.type === "agent", ctx.log);
      return { isError: true, content: [{ type: "text", text: JSON.stringify(refusal) }] };
    }
  });
}

/**
 * Creates a schema that the SDK lists but does not check. The tool checks its arguments itself and reports problems as the API
 * does.
 */
const asListed = (schema: JsonSchema): StandardSchemaWithJSON<Record<string, unknown>> => ({
  "~standard": {
    version: 1,
    vendor: "board",
    validate: (value) => ({ value: value as Record<string, unknown> }),
    jsonSchema: { input: () => schema, output: () => schema },
  },
});
