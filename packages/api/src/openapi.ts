import type { RoleName } from "@board/core/actor";
import type { Settings } from "@board/core/settings";
import * as z from "zod";
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from "zod-openapi";
import { type AgentHints, type Endpoint, isStream } from "./endpoint.ts";
import { ERROR_RESPONSES } from "./error-responses.ts";
import { operationIdOf } from "./operation-id.ts";
import { placeholderNames } from "./path.ts";
import type { OpenApiDocument } from "./runtime.ts";

/** `base_url` is null if the API is served where the document is; `stream_url` is null if streams are as well. */
type Addresses = Pick<Settings, "base_url" | "stream_url">;

/** Builds the OpenAPI 3.1 document from the endpoint table, with the schemas that also validate the requests. */
export function buildOpenApiDocument(endpoints: readonly Endpoint[], { base_url, stream_url }: Addresses): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    if (endpoint.spec.hidden) continue;
    for (const path of endpoint.paths) {
      const item = (paths[path] ??= {});
      const streamServers = stream_url !== null && isStream(endpoint) ? { servers: [{ url: stream_url }] } : {};
      item[endpoint.method.toLowerCase() as "get"] = { ...toOperation(endpoint, path), ...streamServers };
    }
  }
  const table: ZodOpenApiObject = {
    openapi: "3.1.0",
    info: {
      title: "Board coordination",
      version: "1",
      description:
        "People and autonomous agents coordinate their work on boards. People send `Authorization: Bearer <token>`, agents send `X-Agent-Token: <token>`. Agents may call the operations that are tagged with their role: agent-main, agent-lead or agent-worker. Those that are also tagged agent are made for them and say when to use them.",
    },
    servers: [{ url: base_url ?? "/" }],
    components: {
      securitySchemes: {
        user: { type: "http", scheme: "bearer", description: "A person's access token." },
        agent: { type: "apiKey", in: "header", name: "X-Agent-Token", description: "An agent's token." },
      },
    },
    paths,
  };
  const document = createDocument(table, { override: ({ jsonSchema }) => simplifySchema(jsonSchema) });
  openSchemas(document);
  return document as unknown as OpenApiDocument;
}

const UTC_TIMESTAMP_PATTERN = "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$";

/** Lets answers have other fields, because a client must accept those that a later version adds. */
function openSchemas(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("additionalProperties" in node && node.additionalProperties === false) delete node.additionalProperties;
  for (const child of Object.values(node)) openSchemas(child);
}

/** Removes keywords without information for a client: patterns of formats, the safe-integer bounds, string keys. */
function simplifySchema(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === "uuid") delete schema.pattern;
  if (schema.format === "date-time" && schema.pattern) schema.pattern = UTC_TIMESTAMP_PATTERN;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

const LastEventIdHeader = z.object({
  "Last-Event-ID": z.string().optional().describe("Id of the last event received; the stream resumes after it."),
});

function toOperation(endpoint: Endpoint, path: string): ZodOpenApiOperationObject {
  const { spec, params } = endpoint;
  const { users, agents } = spec.as;
  const security = [...(users ? [{ user: [] }] : []), ...(agents ? [{ agent: [] }] : [])];
  const media = spec.media_type ?? "application/json";
  return {
    operationId: operationIdOf(endpoint, path),
    summary: spec.summary,
    description: spec.description ?? `${spec.summary}.`,
    tags: spec.agent ? ["agent", ...roleTags(spec.agent.roles)] : [tagOf(path), ...roleTags(AGENT_ROLES[spec.as.name])],
    security,
    requestParams: {
      ...(placeholderNames(path).length > 0 ? { path: params as z.ZodObject } : {}),
      ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
      ...(isStream(endpoint) ? { header: LastEventIdHeader } : {}),
    },
    ...(spec.body ? { requestBody: { required: true, content: { "application/json": { schema: spec.body } } } } : {}),
    ...(endpoint.spec.lenient_params ? { requestBody: { content: { "*/*": {} } } } : {}),
    responses: {
      [String(spec.status ?? 200) as "200"]: { description: "Success.", content: { [media]: { schema: spec.returns } } },
      ...(spec.accepted
        ? {
            "202": {
              description: "The work continues in the background.",
              content: { "application/json": { schema: spec.accepted } },
            },
          }
        : {}),
      ...Object.fromEntries(errorsOf(endpoint, path).map((status) => [String(status), ERROR_RESPONSES[status]!])),
      ...(path === "/readyz"
        ? { "503": { description: "The service is not ready.", content: { "application/json": { schema: spec.returns } } } }
        : {}),
    },
    ...(spec.agent ? toExtensions(spec.agent) : {}),
  };
}

function errorsOf({ method, spec }: Endpoint, path: string): number[] {
  const secured = spec.as.users || spec.as.agents;
  const hasId = path.includes("{");
  const isIngestion = spec.lenient_params === true;
  const writes = method !== "GET";
  const errors = [
    ...(secured ? [401] : []),
    ...(isIngestion || canBeForbidden(spec.as, path, writes) ? [403] : []),
    // The target of a write may be deleted concurrently.
    ...(hasId || (secured && writes) ? [404] : []),
    ...(isIngestion ? [410] : []),
    // Also public operations: API Gateway limits the requests to all of them.
    429,
    ...(spec.body || isIngestion ? [413] : []),
    ...((hasId && !isIngestion) || spec.body || spec.query ? [422] : []),
    ...(spec.errors ?? []),
  ];
  return [...new Set(errors)].toSorted((a, b) => a - b);
}

/** Roles that every authenticated caller has. */
const UNRESTRICTED_ROLES: readonly RoleName[] = ["PUBLIC", "USER", "MEMBER", "AGENT", "USER or AGENT"];

/** Whether an authenticated caller may get 403: for the role, or for a board or group that is visible but not writable. */
function canBeForbidden({ name, users, agents }: Endpoint["spec"]["as"], path: string, writes: boolean): boolean {
  const hasBoardOrGroup = /\{(?:board|group)_id\}/.test(path);
  return !UNRESTRICTED_ROLES.includes(name) || (hasBoardOrGroup && (agents || (users && writes)));
}

const ALL_AGENTS = ["main", "lead", "worker"] as const;

/** The agents that may call an operation without hints, which people call as well, by the role that it needs. */
const AGENT_ROLES: Readonly<Record<RoleName, AgentHints["roles"]>> = {
  PUBLIC: [],
  USER: [],
  MEMBER: [],
  ADMIN: [],
  AGENT: ALL_AGENTS,
  LEAD: ["lead"],
  MAIN: ["main"],
  "USER or AGENT": ALL_AGENTS,
  "ADMIN or AGENT": ALL_AGENTS,
  "ADMIN or LEAD": ["lead"],
  READER: ALL_AGENTS,
};

/** Tags that agents filter by: their role, and tags of operations that several roles share. */
function roleTags(roles: AgentHints["roles"]): string[] {
  const shared = roles.includes("lead") && roles.includes("worker");
  return [
    ...roles.map((role) => `agent-${role}`),
    ...(shared ? ["agent-board"] : []),
    ...(roles.length === 3 ? ["any_agent"] : []),
  ];
}

/** Nested resources that get their own tag instead of that of the board or organization. */
const NESTED_TAGS = ["approvals", "custom-fields", "memory", "onboarding", "tasks", "webhooks"];

const tagOf = (path: string): string => {
  const segments = path
    .split("/")
    .filter((segment) => segment && segment !== "api" && segment !== "v1" && !segment.startsWith("{"));
  return segments.findLast((segment) => NESTED_TAGS.includes(segment)) ?? segments[0] ?? "service";
};

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
