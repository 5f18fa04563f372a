import { tools } from "@board/api/mcp/tools";
import * as z from "zod";
import type { Api, OpenApi, Operation, Schema } from "./document.ts";

const PATH = "/mcp";

const constant = (value: unknown): Schema => ({ const: value });
const message = (properties: Record<string, Schema>): Schema => ({
  type: "object",
  properties: { jsonrpc: constant("2.0"), ...properties },
  required: ["jsonrpc", ...Object.keys(properties)],
});

/** Returns the document with the MCP endpoint, which the served document omits because MCP clients discover it by the protocol. */
export function withEndpoint(document: OpenApi): OpenApi {
  const json = (schema: Schema) => ({ content: { "application/json": { schema } } });
  const result = json(message({ id: {} }));
  const refusal = json({ type: "object" });
  const statuses = [400, 401, 403, 404, 413, 415, 422, 429];
  const responses = { 200: result, ...Object.fromEntries(statuses.map((status) => [status, refusal])) };
  const operation = { tags: ["mcp"], security: [{ user: [] }, { agent: [] }], requestBody: json({ type: "object" }), responses };
  return { ...document, paths: { ...document.paths, [PATH]: { post: operation } } };
}

/** Returns the API with an operation for each tool: a call with arguments that match the tool's schema. */
export function withTools(api: Api): Api {
  const endpoint = api.operations.find(({ path }) => path === PATH)!;
  const calls = tools.map(({ name, input }): Operation => {
    const { wait: _wait, ...shape } = input.shape;
    const sent = z.toJSONSchema(z.object(shape), { io: "input", unrepresentable: "any", metadata: z.registry() });
    const params: Schema = {
      type: "object",
      properties: { name: constant(name), arguments: sent as Schema },
      required: ["name", "arguments"],
    };
    const body = message({ id: constant(1), method: constant("tools/call"), params });
    return { ...endpoint, name: `${endpoint.name} ${name}`, body };
  });
  return { ...api, operations: [...api.operations.filter((operation) => operation !== endpoint), ...calls] };
}
