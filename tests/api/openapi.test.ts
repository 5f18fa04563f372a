import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { endpoints } from "@board/api/groups";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters?: unknown[];
  deprecated?: boolean;
  requestBody?: unknown;
  responses: Record<string, unknown>;
  [extension: `x-${string}`]: unknown;
}

const world = await setupWorld();
const document: {
  openapi: string;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; responses: Record<string, unknown> };
} = (await world.call("GET", "/openapi.json")).body;

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );

test("the OpenAPI document is valid OpenAPI 3.1 and needs no credential", async () => {
  const result = await new Validator().validate(structuredClone(document) as never);
  expect(result).toMatchObject({ valid: true });
  expect(document.openapi).toBe("3.1.0");
});

test("the OpenAPI document holds every operation of the route table and no other", () => {
  const declared = endpoints
    .filter(({ spec }) => !spec.hidden)
    .flatMap(({ method, paths }) => paths.map((path) => `${method.toLowerCase()} ${path}`));
  expect(
    operations()
      .map(({ method, path }) => `${method} ${path}`)
      .toSorted(),
  ).toEqual(declared.toSorted());
});

test("every operation has a unique, readable id, a summary and a description", () => {
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !/^[a-z]+(_[a-z]+)+$/.test(id))).toEqual([]);
  for (const { path, operation } of operations())
    expect(
      [operation.summary, operation.description].every((text) => text.trim() !== ""),
      path,
    ).toBe(true);
});

const forAgents = () => operations().filter(({ operation }) => operation.tags.includes("agent"));

test("an operation documents exactly the statuses that it can answer with", () => {
  const statuses = (method: string, path: string) => Object.keys(document.paths[path]![method]!.responses).join(" ");
  expect(statuses("get", "/api/v1/users/me")).toBe("200 304 401 429 503");
  // These are 404 when a concurrent request removes the organization or the membership after the sign-in.
  for (const own of ["/api/v1/organizations/me", "/api/v1/organizations/me/member"])
    expect(statuses("get", own)).toBe("200 304 401 404 429 503");
  expect(statuses("get", "/api/v1/tags")).toBe("200 304 401 422 429 503");
  expect(statuses("post", "/api/v1/tags")).toBe("200 400 401 403 404 408 409 413 422 429 503");
  expect(statuses("delete", "/api/v1/tags/{tag_id}")).toBe("200 401 403 404 412 422 429 503");
  expect(statuses("get", "/api/v1/boards/{board_id}")).toBe("200 304 401 404 422 429 503");
  // Keys get 403 for what belongs to a person.
  expect(statuses("get", "/api/v1/users/me/channels")).toBe("200 304 401 403 429 503");
  expect(statuses("get", "/api/v1/boards/{board_id}/tasks")).toBe("200 304 401 403 404 422 429 503");
  expect(statuses("get", "/api/v1/gateways/sessions")).toBe("200 304 401 403 404 422 429 502 503");
  expect(statuses("delete", "/api/v1/users/me")).toBe("200 401 403 404 422 429 503");
  expect(statuses("get", "/api/v1/boards/{board_id}/tasks/stream")).toBe("200 401 403 404 422 429 503");
  expect(statuses("get", "/healthz")).toBe("200 304 429");
  expect(statuses("post", "/api/v1/boards/{board_id}/webhooks/{webhook_id}")).toBe("200 202 400 403 404 408 410 413 429 503");
});

test("502 is documented for exactly those agent operations that can fail because of a host or the soul directory", () => {
  const failing = forAgents().filter(({ operation }) => "502" in operation.responses);
  expect(failing.map(({ method, path }) => `${method} ${path.replace("/api/v1/agent", "")}`).toSorted()).toEqual([
    "get /boards/{board_id}/agents/{agent_id}/soul",
    "post /boards/{board_id}/agents/{agent_id}/nudge",
    "post /boards/{board_id}/gateway/main/ask-user",
    "post /gateway/boards/{board_id}/lead/message",
    "put /boards/{board_id}/agents/{agent_id}/soul",
  ]);
});

test("work that may continue after the answer is documented as 202, with the operation that shows its progress", () => {
  const schemaOf = (path: string, status: string) =>
    (document.paths[path]!["post"]!.responses[status] as { content: Record<string, { schema: { $ref: string } }> }).content[
      "application/json"
    ]!.schema.$ref.split("/").at(-1);
  const syncs = ["/api/v1/gateways/{gateway_id}/templates/sync", "/api/v1/skills/packs/{pack_id}/sync"];
  expect(syncs.map((path) => [schemaOf(path, "200"), schemaOf(path, "202")])).toEqual([
    ["TemplateSyncResult", "TemplateSyncRun"],
    ["SkillPackSyncResponse", "SkillPackSyncRun"],
  ]);
});

const LISTS = [
  "x-when-to-use",
  "x-when-not-to-use",
  "x-prerequisites",
  "x-side-effects",
  "x-negative-guidance",
  "x-routing-policy",
] as const;

test("every operation for agents documents when and how to use it", () => {
  for (const { path, operation } of forAgents()) {
    for (const list of LISTS)
      expect(
        (operation[list] as string[]).every((text) => text.trim() !== "") && (operation[list] as string[]).length > 0,
        `${path} ${list}`,
      ).toBe(true);
    expect(operation["x-routing-policy-examples"], path).toEqual(
      expect.arrayContaining([{ input: expect.objectContaining({ intent: expect.any(String) }), decision: expect.any(String) }]),
    );
  }
});

/** Each line has the method and path, the roles, the intent, the required actor, and the operation id if agents rely on it. */
const AGENT_OPERATIONS = [
  "get /agent/healthz              | main lead worker | agent_auth_health                  | any_agent",
  "get /agent/inbox                | main lead worker | agent_inbox                        | any_agent",
  "get /agent/instructions         | main lead worker | agent_instructions                 | any_agent",
  "post /agent/inbox/ack           | main lead worker | agent_inbox_acknowledge            | any_agent",
  "get /agent/boards               | main lead worker | agent_board_discovery              | any_agent",
  "get /agent/boards/b             | main lead worker | agent_board_lookup                 | any_agent",
  "get /agent/agents               | main lead worker | agent_roster_discovery             | any_agent",
  "post /agent/heartbeat           | main lead worker | agent_heartbeat                    | any_agent",
  "get /agent/boards/b/tasks       | lead worker      | agent_board_task_discovery         | any_agent",
  "post /agent/boards/b/tasks      | lead             | delegate_work                      | board_lead | agent_lead_create_task",
  "post /agent/tasks/next          | main lead worker | agent_task_next                    | any_agent",
  "get /agent/boards/b/tasks/t     | lead worker      | agent_task_read                    | any_agent",
  "put /agent/boards/b/tasks/t/lease    | lead worker | agent_task_lease_take              | any_agent",
  "delete /agent/boards/b/tasks/t/lease | lead worker | agent_task_lease_return            | any_agent",
  "patch /agent/boards/b/tasks/t   | lead worker      | agent_task_update                  | any_agent",
  "delete /agent/boards/b/tasks/t  | lead             | agent_task_delete                  | board_lead",
  "get /agent/boards/b/tasks/t/comments  | lead worker | agent_task_comment_discovery      | any_agent",
  "post /agent/boards/b/tasks/t/comments | lead worker | agent_task_comment_create         | any_agent",
  "get /agent/boards/b/memory      | lead worker      | agent_board_memory_discovery       | any_agent",
  "post /agent/boards/b/memory     | lead worker      | agent_board_memory_record          | any_agent",
  "get /agent/boards/b/approvals   | lead worker      | agent_board_approval_discovery     | any_agent",
  "post /agent/boards/b/approvals  | lead worker      | agent_board_approval_request       | any_agent",
  "get /agent/boards/b/tags        | lead worker      | agent_board_tag_discovery          | any_agent",
  "get /agent/boards/b/webhooks/w/payloads/p | lead worker | agent_board_webhook_payload_read | any_agent",
  "post /agent/boards/b/onboarding | main lead worker | agent_board_onboarding_update      | any_agent",
  "post /agent/agents              | lead | agent_management | board_lead | agent_lead_create_agent",
  "delete /agent/boards/b/agents/a | lead | agent_lifecycle | board_lead | agent_lead_delete_board_agent",
  "post /agent/boards/b/agents/a/nudge | lead | agent_coordination | board_lead | agent_lead_nudge_agent",
  "get /agent/boards/b/agents/a/soul   | lead worker  | agent_board_soul_lookup            | any_agent",
  "put /agent/boards/b/agents/a/soul   | lead | agent_knowledge_authoring | board_lead | agent_lead_update_agent_soul",
  "post /agent/boards/b/gateway/main/ask-user | lead | human_escalation | board_lead | agent_lead_ask_user_via_gateway_main",
  "post /agent/gateway/boards/b/lead/message  | main | lead_direct_routing | agent_main | agent_main_message_board_lead",
  "post /agent/gateway/leads/broadcast | main | lead_broadcast_routing | agent_main | agent_main_broadcast_lead_message",
  "get /boards/b/group-memory        | lead worker    | agent_board_group_memory_discovery | any_agent",
  "post /boards/b/group-memory       | lead worker    | agent_board_group_memory_record    | any_agent",
  "get /boards/b/group-memory/stream | lead worker    | agent_board_group_memory_stream    | any_agent",
  "get /boards/b/group-snapshot      | lead worker    | agent_board_group_snapshot         | any_agent",
];

test("agents get exactly the listed operations, with their tags, intents and operation ids", () => {
  const wanted = AGENT_OPERATIONS.map((row) => row.split("|").map((cell) => cell.trim()));
  const named = new Map(wanted.map(([place, , , , id]) => [place!, id]));
  const found = forAgents().map(({ method, path, operation }) => {
    const place = `${method} ${path.replace("/api/v1", "").replaceAll(/\{(\w)\w*\}/g, "$1")}`;
    const roles = operation.tags.flatMap((tag) => /^agent-(main|lead|worker)$/.exec(tag)?.[1] ?? []);
    const id = named.get(place) === undefined ? [] : [operation.operationId];
    expect(operation.tags, path).toEqual([
      "agent",
      ...roles.map((role) => `agent-${role}`),
      ...(roles.includes("lead") && roles.includes("worker") ? ["agent-board"] : []),
      ...(roles.length === 3 ? ["any_agent"] : []),
    ]);
    return [place, roles.join(" "), operation["x-llm-intent"], operation["x-required-actor"], ...id];
  });
  const sorted = (rows: unknown[][]) => rows.map((row) => row.join(" | ")).toSorted();
  expect(sorted(found)).toEqual(sorted(wanted));
});

test("every field that agents send or receive has a description", () => {
  const schemas = document.components.schemas as Record<
    string,
    { "x-llm-intent"?: string; "x-when-to-use"?: string[]; properties: Record<string, { description: string }> }
  >;
  const intents = {
    AgentCreate: "agent_profile",
    AgentUpdate: "agent_profile_update",
    AgentRead: "agent_profile_lookup",
    AgentNudge: "agent_nudge",
    GatewayLeadMessageRequest: "lead_direct_message",
    GatewayLeadMessageResponse: "lead_direct_message_result",
    GatewayLeadBroadcastResponse: "lead_broadcast_summary",
    GatewayMainAskUserRequest: "human_escalation_request",
    GatewayMainAskUserResponse: "human_escalation_result",
  };
  for (const [name, intent] of Object.entries(intents)) {
    expect(schemas[name]?.["x-llm-intent"], name).toBe(intent);
    expect(schemas[name]?.["x-when-to-use"], name).toEqual([expect.stringMatching(/\S/)]);
  }
  for (const name of ["GatewayLeadMessageRequest", "GatewayLeadBroadcastRequest"])
    expect(schemas[name]?.properties["kind"]?.description).toMatch(/^Routing mode/);
});

test("the heartbeat is documented without a request body", () => {
  expect(document.paths["/api/v1/agent/heartbeat"]!["post"]!.requestBody).toBeUndefined();
});

test("every property of every schema is described", () => {
  const blank: string[] = [];
  const visit = (node: unknown, at: string): void => {
    if (typeof node !== "object" || node === null) return;
    const { properties } = node as { properties?: Record<string, { description?: string; $ref?: string }> };
    for (const [name, property] of Object.entries(properties ?? {}))
      if (!property.description && !property.$ref) blank.push(`${at}.${name}`);
    for (const [key, child] of Object.entries(node)) visit(child, `${at}.${key}`);
  };
  visit(document.components.schemas, "schemas");
  expect(blank).toEqual([]);
});

test("every response schema is a named component, and each name has one shape", () => {
  const nameless: string[] = [];
  const shapes = new Map<string, string[]>();
  const visit = (node: unknown, at: string): void => {
    if (typeof node !== "object" || node === null) return;
    if ("properties" in node) {
      const shape = JSON.stringify(node);
      shapes.set(shape, [...(shapes.get(shape) ?? []), at]);
      if (at.startsWith("paths")) nameless.push(at);
    }
    for (const [key, child] of Object.entries(node)) visit(child, `${at} ${key}`);
  };
  visit(document.paths, "paths");
  visit(document.components, "components");
  expect(nameless).toEqual([]);
  expect([...shapes.values()].filter((places) => places.length > 1)).toEqual([]);
  const refusals = operations().flatMap(({ operation }) =>
    Object.entries(operation.responses).filter(([status]) => Number(status) >= 400 && status !== "503"),
  );
  expect(refusals.length).toBeGreaterThan(500);
  for (const [status, response] of refusals)
    expect(response, status).toEqual({ $ref: expect.stringMatching(/^#\/components\/responses\/\w+$/) });
});

test("every reference resolves, and every component is used", () => {
  const used = new Set([...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+\/\w+)"/g)].map((match) => match[1]!));
  const { schemas, responses } = document.components;
  const known = [
    ...Object.keys(schemas).map((name) => `schemas/${name}`),
    ...Object.keys(responses).map((name) => `responses/${name}`),
  ];
  expect([...used].toSorted()).toEqual(known.toSorted());
});

test("the same path under another prefix documents the same operation", () => {
  const ids = new Map(operations().map(({ path, operation }) => [operation.operationId, path]));
  const others = [...ids].filter(([id]) => id.endsWith("_unversioned"));
  expect(others.length).toBeGreaterThan(30);
  for (const [id, path] of others)
    expect(ids.get(id.replace("_unversioned", "")), id).toBe(`/api/v1${path.replace(/^\/api/, "")}`);
});

test("the operations without a version are deprecated in favour of the versioned ones, and no other operation is deprecated", () => {
  for (const { path, operation } of operations())
    expect([path, operation.deprecated ?? false]).toEqual([path, operation.operationId.endsWith("_unversioned")]);
});

test("the API reference page hides deprecated operations", async () => {
  const script = (await world.call("GET", "/docs/start.js")).text;
  let shown: typeof document | undefined;
  const page = {
    fetch: async () => ({ json: async () => structuredClone(document) }),
    SwaggerUIBundle: ({ spec }: { spec: typeof document }) => (shown = spec),
  };
  await runInNewContext(`(async () => { ${script} })()`, page);
  const paths = Object.entries(shown!.paths);
  expect(paths.flatMap(([, item]) => Object.values(item)).some(({ deprecated }) => deprecated)).toBe(false);
  expect(paths.every(([, item]) => Object.keys(item).length > 0)).toBe(true);
  expect(paths.length).toBeGreaterThan(80);
});

test("every tag that operations have is described, and resources come before roles", () => {
  const used = new Set(operations().flatMap(({ operation }) => operation.tags));
  const names = document.tags.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...used].toSorted());
  expect(document.tags.filter(({ description }) => description.trim() === "")).toEqual([]);
  expect([names[0], names.indexOf("agent-main") > names.indexOf("service")]).toEqual(["boards", true]);
});

test("stream operations document how to resume them", () => {
  const streams = operations().filter(({ path }) => path.endsWith("/stream"));
  expect(streams.length).toBeGreaterThan(5);
  for (const { path, operation } of streams)
    expect(operation.parameters, path).toContainEqual(expect.objectContaining({ in: "header", name: "Last-Event-ID" }));
});

test("the API reference page loads nothing from other hosts", async () => {
  const page = await world.call("GET", "/docs");
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  expect(files).toEqual(["/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/start.js"]);
  for (const file of files) expect((await world.call("GET", file)).status, file).toBe(200);
  const css = readFileSync(new URL(import.meta.resolve("swagger-ui-dist/swagger-ui.css")), "utf8");
  expect([...css.matchAll(/url\((?!["']?data:)([^)]+)\)/g)].map((match) => match[1])).toEqual([]);
  for (const file of ["/docs/package.json", "/docs/..%2fpackage.json"])
    expect((await world.call("GET", file)).status, file).toBe(404);
});
