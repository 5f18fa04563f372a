import type { RoleName } from "@board/core/context/actor";
import { isPageSchema } from "@board/core/lists/page";
import type { Settings } from "@board/core/config/settings";
import * as z from "zod";
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from "zod-openapi";
import { type Endpoint, isStream } from "../endpoint.ts";
import { type AgentIntent, hintsOf } from "../guidance/hints.ts";
import { ERROR_RESPONSES } from "./error-responses.ts";
import { FenceHeader } from "../edge/fence.ts";
import { isOnlyForPeople } from "../edge/key-access.ts";
import { IdempotencyKeyHeader, isRepeatable, OMITTED, REPLAYED } from "../edge/idempotency.ts";
import { describeTags, tagsOf } from "./tags.ts";
import { isUnversionedTwin, operationIdOf } from "./operation-id.ts";
import { placeholderNames } from "../edge/path.ts";
import { IfMatchHeader } from "../edge/precondition.ts";
import type { OpenApiDocument } from "../runtime.ts";

/** The addresses of the API and of the streams. An address is null if its origin is the same as that of the document. */
export type Addresses = Pick<Settings, "base_url" | "stream_url">;

/** Builds the OpenAPI 3.1 document from the endpoint table, with the schemas that also validate the requests. */
export function buildOpenApiDocument(endpoints: readonly Endpoint[], { base_url, stream_url }: Addresses): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  const tags = new Set<string>();
  for (const endpoint of endpoints) {
    if (endpoint.spec.hidden) continue;
    for (const path of endpoint.paths) {
      const item = (paths[path] ??= {});
      for (const tag of tagsOf(endpoint, path)) tags.add(tag);
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
        "People and autonomous agents coordinate their work on boards. People send `Authorization: Bearer <token>`, agents send `X-Agent-Token: <token>`. Agents may call the operations that are tagged with their role: agent-main, agent-lead or agent-worker. Those that are also tagged agent are made for them and say when to use them. Reads answer with an ETag; a client that sends it as If-None-Match gets 304 while nothing has changed. `Prefer: handling=strict` refuses unknown parameters and body keys, and `Accept: application/problem+json` returns errors in the form of RFC 9457. `/openapi.json?role=` returns the part of one role: agent-lead, agent-worker, agent-main or user.",
      contact: { name: "Operator of this service", ...(base_url === null ? {} : { url: base_url }) },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: base_url ?? "/" }],
    tags: describeTags(tags),
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

/** Allows additional fields in answers, because a client must accept fields that a later version may add. */
function openSchemas(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("additionalProperties" in node && node.additionalProperties === false) delete node.additionalProperties;
  for (const child of Object.values(node)) openSchemas(child);
}

/** Removes keywords that are not useful to a client: patterns of formats, the bounds of safe integers, string keys. */
function simplifySchema(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === "uuid") delete schema.pattern;
  if (schema.format === "date-time" && schema.pattern) schema.pattern = UTC_TIMESTAMP_PATTERN;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  // If an alternative does not require its discriminator, the alternatives are not mutually exclusive, so `oneOf` becomes
  // `anyOf`.
  if (schema.oneOf && !schema.oneOf.every(requiresItsConstants)) {
    schema.anyOf = schema.oneOf;
    delete schema.oneOf;
  }
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

const requiresItsConstants = (option: z.core.JSONSchema.BaseSchema): boolean =>
  Object.entries(option.properties ?? {}).every(
    ([name, property]) => typeof property === "boolean" || property.const === undefined || option.required?.includes(name),
  );

const DEPRECATION = " Deprecated: use the same path under `/api/v1`.";

const LastEventIdHeader = z.object({
  "Last-Event-ID": z.string().optional().describe("Id of the last event received; the stream resumes after it."),
});

const LinkHeader = z.object({
  Link: z.string().optional().describe('Address of the next page, as `<…>; rel="next"`, while there is one. It has a `cursor`.'),
});

function toOperation(endpoint: Endpoint, path: string): ZodOpenApiOperationObject {
  const { spec, params } = endpoint;
  const { users, agents } = spec.as;
  const security = [...(users ? [{ user: [] }] : []), ...(agents ? [{ agent: [] }] : [])];
  const media = [spec.media_type ?? "application/json", ...(spec.other_media_types ?? [])];
  return {
    operationId: operationIdOf(endpoint, path),
    summary: spec.summary,
    description: `${spec.description ?? `${spec.summary}.`}${isUnversionedTwin(endpoint, path) ? DEPRECATION : ""}`,
    tags: tagsOf(endpoint, path),
    ...(isUnversionedTwin(endpoint, path) ? { deprecated: true } : {}),
    security,
    requestParams: {
      ...(placeholderNames(path).length > 0 ? { path: params as z.ZodObject } : {}),
      ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
      ...headersOf(endpoint),
    },
    ...(spec.body ? { requestBody: { required: true, content: { "application/json": { schema: spec.body } } } } : {}),
    ...(spec.takes_file ? { requestBody: { required: true, content: { "application/octet-stream": {} } } } : {}),
    ...(endpoint.spec.lenient_params ? { requestBody: { content: { "*/*": {} } } } : {}),
    responses: {
      [String(spec.status ?? 200) as "200"]: {
        description: "Success.",
        ...answerHeadersOf(endpoint),
        ...(isPageSchema(spec.returns) ? { headers: LinkHeader } : {}),
        content: Object.fromEntries(media.map((type) => [type, { schema: spec.returns }])),
      },
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

/** Returns the request headers that an operation reads, except credentials. */
function headersOf(endpoint: Endpoint): { header?: z.ZodObject } {
  const shape = {
    ...(isStream(endpoint) ? LastEventIdHeader.shape : {}),
    ...(endpoint.spec.fenced ? FenceHeader.shape : {}),
    ...(endpoint.spec.conditional ? IfMatchHeader.shape : {}),
    ...(isRepeatable(endpoint) ? IdempotencyKeyHeader.shape : {}),
  };
  return Object.keys(shape).length > 0 ? { header: z.object(shape) } : {};
}

const ETAG = z.string().describe("Strong tag of the resource, for If-None-Match and If-Match.");
const REPLAY = z.literal("true").optional().describe("Present when this is the stored answer to an earlier request.");
const OMISSION = z.string().optional().describe("Fields that are null because this is a stored answer, which holds no secrets.");

/** Returns the headers of a successful answer that clients need. */
function answerHeadersOf(endpoint: Endpoint): { headers?: z.ZodObject } {
  const omitted = endpoint.spec.secrets ? { [OMITTED]: OMISSION } : {};
  if (isRepeatable(endpoint)) return { headers: z.object({ [REPLAYED]: REPLAY, ...omitted }) };
  return endpoint.method === "PATCH" && endpoint.spec.conditional ? { headers: z.object({ ETag: ETAG }) } : {};
}

/** Returns the error statuses of an operation. The responses are shared components. */
function errorsOf(endpoint: Endpoint, path: string): number[] {
  const { method, spec } = endpoint;
  const secured = spec.as.users || spec.as.agents;
  const hasId = path.includes("{");
  const isIngestion = spec.lenient_params === true;
  const writes = method !== "GET";
  const takesBody = spec.body !== undefined || spec.takes_file === true || isIngestion;
  const errors = [
    ...(secured ? [401] : []),
    ...(isIngestion || isOnlyForPeople(endpoint) || canBeForbidden(spec.as, path, writes) ? [403] : []),
    // 404 is also possible for writes without an id in the path, because the rows that a write refers to may be deleted at the
    // same time.
    ...(hasId || (secured && writes) ? [404] : []),
    ...(isIngestion ? [410] : []),
    // Public operations can also return 429, because API Gateway limits all requests.
    429,
    ...(takesBody ? [400, 408, 413] : []),
    // 503 is possible, because the database or the identity provider's keys may be unavailable.
    ...(secured || isIngestion ? [503] : []),
    ...(isTaggedRead(method, spec) ? [304] : []),
    ...((hasId && !isIngestion) || spec.body || spec.query ? [422] : []),
    ...(spec.fenced ? [409] : []),
    ...(isRepeatable(endpoint) ? [409, 422] : []),
    ...(spec.conditional ? [412] : []),
    ...(spec.errors ?? []),
  ];
  return [...new Set(errors)].toSorted((a, b) => a - b);
}

/** Returns whether the answer has an ETag, so that a later answer may be 304. */
const isTaggedRead = (method: Endpoint["method"], { media_type }: Endpoint["spec"]): boolean =>
  method === "GET" && media_type === undefined;

/** Roles that every authenticated caller has. A credential of a kind that the role does not accept already gets 401. */
const UNRESTRICTED_ROLES: readonly RoleName[] = ["PUBLIC", "USER", "MEMBER", "AGENT", "USER or AGENT", "MEMBER or AGENT"];

/**
 * Returns whether an authenticated caller may get 403: because of the role, because of the access of a key, or because a visible
 * board or group is not writable.
 */
function canBeForbidden({ name, users, agents }: Endpoint["spec"]["as"], path: string, writes: boolean): boolean {
  const hasBoardOrGroup = /\{(?:board|group)_id\}/.test(path);
  return !UNRESTRICTED_ROLES.includes(name) || (users && writes) || (hasBoardOrGroup && agents);
}

function toExtensions(intent: AgentIntent): Record<`x-${string}`, unknown> {
  const hints = hintsOf(intent);
  return {
    "x-llm-intent": intent,
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
