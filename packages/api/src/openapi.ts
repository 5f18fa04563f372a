import type { Settings } from "@board/core/settings";
import * as z from "zod";
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from "zod-openapi";
import { type AgentHints, type Endpoint, isStream, placeholders } from "./endpoint.ts";

/** Where the service is; null where the document itself was found. `stream_url` is null when streams are there too. */
type Addresses = Pick<Settings, "base_url" | "stream_url">;

let last: { endpoints: readonly Endpoint[]; addresses: Addresses; document: Record<string, unknown> } | undefined;

/** The document, made once: table and addresses do not change while a process lives. */
export function openApiDocument(endpoints: readonly Endpoint[], { base_url, stream_url }: Addresses): Record<string, unknown> {
  if (last?.endpoints !== endpoints || last.addresses.base_url !== base_url || last.addresses.stream_url !== stream_url) {
    const addresses = { base_url, stream_url };
    last = { endpoints, addresses, document: describe(endpoints, addresses) };
  }
  return last.document;
}

/**
 * The OpenAPI 3.1 document of the route table. The schemas are those that validate, so it cannot say anything else than
 * what the service does.
 */
function describe(endpoints: readonly Endpoint[], { base_url, stream_url }: Addresses): Record<string, unknown> {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    if (endpoint.spec.hidden) continue;
    for (const path of endpoint.paths) {
      const item = (paths[path] ??= {});
      const elsewhere = stream_url !== null && isStream(endpoint) ? { servers: [{ url: stream_url }] } : {};
      item[endpoint.method.toLowerCase() as "get"] = { ...toOperation(endpoint, path), ...elsewhere };
    }
  }
  return createDocument({
    openapi: "3.1.0",
    info: {
      title: "Board coordination",
      version: "1",
      description:
        "People and autonomous agents coordinate on boards. People send `Authorization: Bearer <token>`, agents `X-Agent-Token: <token>`. Agents keep the operations tagged with their role: agent-main, agent-lead or agent-worker.",
    },
    servers: [{ url: base_url ?? "/" }],
    components: {
      securitySchemes: {
        user: { type: "http", scheme: "bearer", description: "A person's access token." },
        agent: { type: "apiKey", in: "header", name: "X-Agent-Token", description: "An agent's token." },
      },
    },
    paths,
  }) as unknown as Record<string, unknown>;
}

const Detail = z
  .object({ detail: z.unknown().describe("What went wrong, as text or as an object with a message.") })
  .meta({ id: "Error" });
const Problems = z
  .object({
    detail: z
      .union([
        z.string(),
        z.looseObject({ message: z.string().describe("The rule that was broken.") }),
        z.array(
          z.object({
            type: z.string().describe("Kind of problem."),
            loc: z.array(z.union([z.string(), z.int()])).describe("Where: body, query or path, then the field."),
            msg: z.string().describe("What is wrong."),
            input: z.unknown().describe("The offending value."),
          }),
        ),
      ])
      .describe("A broken rule, or every field that does not fit."),
  })
  .meta({ id: "InvalidInput", description: "Input that cannot be taken." });

const ERRORS: Readonly<Record<number, string>> = {
  401: "No, bad or unknown credential",
  403: "Not allowed",
  404: "Absent, or not visible to the caller",
  409: "Conflicts with what is there",
  410: "The webhook is disabled",
  413: "The body is too large",
  422: "The input cannot be taken",
  429: "Too many failing attempts or posts; see Retry-After",
};

function toOperation(endpoint: Endpoint, path: string): ZodOpenApiOperationObject {
  const { spec, params } = endpoint;
  const { users, agents } = spec.as;
  const security = [...(users ? [{ user: [] }] : []), ...(agents ? [{ agent: [] }] : [])];
  const media = spec.media_type ?? "application/json";
  return {
    operationId: operationId(endpoint, path),
    summary: spec.summary,
    description: spec.description ?? `${spec.summary}.`,
    tags: spec.agent ? ["agent", ...roleTags(spec.agent.roles)] : [areaOf(path)],
    security,
    requestParams: {
      ...(placeholders(path).length > 0 ? { path: params as z.ZodObject } : {}),
      ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
    },
    ...(spec.body ? { requestBody: { required: true, content: { "application/json": { schema: spec.body } } } } : {}),
    ...(endpoint.spec.lenient_params ? { requestBody: { content: { "*/*": {} } } } : {}),
    responses: {
      [String(spec.status ?? 200) as "200"]: { description: "It worked", content: { [media]: { schema: spec.returns } } },
      ...Object.fromEntries(
        errorsOf(endpoint, path).map((status) => [
          String(status),
          { description: ERRORS[status]!, content: { "application/json": { schema: status === 422 ? Problems : Detail } } },
        ]),
      ),
      ...(path === "/readyz"
        ? { "503": { description: "Not ready", content: { "application/json": { schema: spec.returns } } } }
        : {}),
    },
    ...(spec.agent ? toExtensions(spec.agent) : {}),
  };
}

function errorsOf({ method, spec }: Endpoint, path: string): number[] {
  const secured = spec.as.users || spec.as.agents;
  const hasId = path.includes("{");
  const door = spec.lenient_params === true;
  return [
    ...(secured ? [401, 429] : []),
    ...(secured || door ? [403] : []),
    ...(hasId || secured ? [404] : []),
    ...(method !== "GET" && !door ? [409] : []),
    ...(door ? [410, 429] : []),
    ...(spec.body || door ? [413] : []),
    ...((hasId && !door) || spec.body || spec.query ? [422] : []),
  ].sort((a, b) => a - b);
}

/** The tags an agent filters by: its role, and what it shares with the others. */
function roleTags(roles: AgentHints["roles"]): string[] {
  const shared = roles.includes("lead") && roles.includes("worker");
  return [
    ...roles.map((role) => `agent-${role}`),
    ...(shared ? ["agent-board"] : []),
    ...(roles.length === 3 ? ["any_agent"] : []),
  ];
}

/** Parts of a board or an organization with documentation of their own. */
const AREAS_BELOW = ["approvals", "custom-fields", "memory", "onboarding", "tasks", "webhooks"];

const areaOf = (path: string): string => {
  const segments = path
    .split("/")
    .filter((segment) => segment && segment !== "api" && segment !== "v1" && !segment.startsWith("{"));
  return segments.findLast((segment) => AREAS_BELOW.includes(segment)) ?? segments[0] ?? "service";
};

/** Unique by construction: the method and the path, unless the contract names it. */
function operationId({ method, spec }: Endpoint, path: string): string {
  const name = path
    .replace(/^\//, "")
    .replaceAll(/[{}]/g, "")
    .replaceAll(/[^A-Za-z0-9]+/g, "_");
  return spec.operation_id ?? `${method.toLowerCase()}_${name}`;
}

function toExtensions(hints: AgentHints): Record<`x-${string}`, unknown> {
  return {
    "x-llm-intent": hints.intent,
    "x-when-to-use": hints.when_to_use,
    "x-when-not-to-use": hints.when_not_to_use,
    "x-prerequisites": hints.prerequisites,
    "x-side-effects": hints.side_effects,
    "x-negative-guidance": hints.negative_guidance,
    "x-routing-policy": hints.routing_policy,
    "x-required-actor": hints.required_actor,
    "x-routing-policy-examples": hints.examples,
  };
}
