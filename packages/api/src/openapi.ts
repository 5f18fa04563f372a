import type { RoleName } from "@board/core/actor";
import type { Settings } from "@board/core/settings";
import * as z from "zod";
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from "zod-openapi";
import { type AgentHints, type Endpoint, isStream, placeholders } from "./endpoint.ts";
import { FAILURES } from "./failures.ts";
import { operationIdOf } from "./operation-id.ts";

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
  const table: ZodOpenApiObject = {
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
  };
  return createDocument(table, { override: ({ jsonSchema }) => shorten(jsonSchema) }) as unknown as Record<string, unknown>;
}

const INSTANT = "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$";

/** Leaves out what says nothing to a client: the patterns behind formats, the bounds of a double's integers, that keys are texts. */
function shorten(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === "uuid") delete schema.pattern;
  if (schema.format === "date-time" && schema.pattern) schema.pattern = INSTANT;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

const Resume = z.object({
  "Last-Event-ID": z.string().optional().describe("Id of the last event that was seen; the stream goes on after it."),
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
    tags: spec.agent ? ["agent", ...roleTags(spec.agent.roles)] : [areaOf(path)],
    security,
    requestParams: {
      ...(placeholders(path).length > 0 ? { path: params as z.ZodObject } : {}),
      ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
      ...(isStream(endpoint) ? { header: Resume } : {}),
    },
    ...(spec.body ? { requestBody: { required: true, content: { "application/json": { schema: spec.body } } } } : {}),
    ...(endpoint.spec.lenient_params ? { requestBody: { content: { "*/*": {} } } } : {}),
    responses: {
      [String(spec.status ?? 200) as "200"]: { description: "It worked", content: { [media]: { schema: spec.returns } } },
      ...(spec.later
        ? { "202": { description: "It goes on after the answer", content: { "application/json": { schema: spec.later } } } }
        : {}),
      ...Object.fromEntries(errorsOf(endpoint, path).map((status) => [String(status), FAILURES[status]!])),
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
  const writes = method !== "GET";
  const errors = [
    ...(secured ? [401, 429] : []),
    ...(door || mayRefuse(spec.as, path, writes) ? [403] : []),
    // Whatever is written to may be removed in that very moment.
    ...(hasId || (secured && writes) ? [404] : []),
    ...(door ? [410, 429] : []),
    ...(spec.body || door ? [413] : []),
    ...((hasId && !door) || spec.body || spec.query ? [422] : []),
    ...(spec.errors ?? []),
  ];
  return [...new Set(errors)].toSorted((a, b) => a - b);
}

/** Roles that nobody lacks who is known at all. */
const OPEN_ROLES: readonly RoleName[] = ["PUBLIC", "USER", "MEMBER", "AGENT", "USER or AGENT"];

/** Whether somebody who is known may be refused: for the role, or on a board or in a group that is visible all the same. */
function mayRefuse({ name, users, agents }: Endpoint["spec"]["as"], path: string, writes: boolean): boolean {
  const place = /\{(?:board|group)_id\}/.test(path);
  return !OPEN_ROLES.includes(name) || (place && (agents || (users && writes)));
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
