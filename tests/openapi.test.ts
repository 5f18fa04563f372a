import { readFileSync } from "node:fs";
import { endpoints } from "@board/api/groups";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWorld, type World } from "./support/world.ts";

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  requestBody?: unknown;
  responses: Record<string, unknown>;
  [extension: `x-${string}`]: unknown;
}

let world: World;
let document: {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
};

beforeAll(async () => {
  world = await createWorld();
  document = (await world.call("GET", "/openapi.json")).body;
});
afterAll(() => world.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );

test("the document is valid OpenAPI 3.1 and needs no credential", async () => {
  const result = await new Validator().validate(structuredClone(document) as never);
  expect(result).toMatchObject({ valid: true });
  expect(document.openapi).toBe("3.1.0");
});

test("it holds every operation of the route table and nothing else", () => {
  const declared = endpoints
    .filter(({ spec }) => !spec.hidden)
    .flatMap(({ method, paths }) => paths.map((path) => `${method.toLowerCase()} ${path}`));
  expect(
    operations()
      .map(({ method, path }) => `${method} ${path}`)
      .toSorted(),
  ).toEqual(declared.toSorted());
});

test("every operation has an id of its own, a summary and a description", () => {
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, operation } of operations())
    expect(
      [operation.summary, operation.description].every((text) => text.trim() !== ""),
      path,
    ).toBe(true);
});

const LISTS = [
  "x-when-to-use",
  "x-when-not-to-use",
  "x-prerequisites",
  "x-side-effects",
  "x-negative-guidance",
  "x-routing-policy",
] as const;

test("every operation of agents tells them when and how to use it", () => {
  const agents = operations().filter(({ path }) => path.startsWith("/api/v1/agent/"));
  expect(agents.length).toBeGreaterThan(0);
  for (const { path, operation } of agents) {
    expect(operation.tags, path).toContain("agent");
    expect(
      operation.tags.some((tag) => ["agent-main", "agent-lead", "agent-worker"].includes(tag)),
      path,
    ).toBe(true);
    expect(operation.tags.includes("agent-board"), path).toBe(
      operation.tags.includes("agent-lead") && operation.tags.includes("agent-worker"),
    );
    expect(operation.tags.includes("any_agent"), path).toBe(
      operation.tags.includes("agent-board") && operation.tags.includes("agent-main"),
    );
    expect(operation["x-llm-intent"], path).toEqual(expect.any(String));
    expect(["any_agent", "board_lead", "agent_main"], path).toContain(operation["x-required-actor"]);
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

test("intents are those that agents' files speak of", () => {
  const intents = Object.fromEntries(
    operations()
      .filter(({ path }) => path.startsWith("/api/v1/agent/"))
      .map(({ method, path, operation }) => [`${method} ${path}`, operation["x-llm-intent"]]),
  );
  expect(intents).toMatchObject({
    "get /api/v1/agent/healthz": "agent_auth_health",
    "get /api/v1/agent/boards": "agent_board_discovery",
    "get /api/v1/agent/boards/{board_id}": "agent_board_lookup",
    "get /api/v1/agent/agents": "agent_roster_discovery",
    "post /api/v1/agent/heartbeat": "agent_heartbeat",
    "get /api/v1/agent/boards/{board_id}/tasks": "agent_board_task_discovery",
    "post /api/v1/agent/boards/{board_id}/tasks": "delegate_work",
    "patch /api/v1/agent/boards/{board_id}/tasks/{task_id}": "agent_task_update",
    "delete /api/v1/agent/boards/{board_id}/tasks/{task_id}": "agent_task_delete",
    "get /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments": "agent_task_comment_discovery",
    "post /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments": "agent_task_comment_create",
    "get /api/v1/agent/boards/{board_id}/tags": "agent_board_tag_discovery",
    "get /api/v1/agent/boards/{board_id}/approvals": "agent_board_approval_discovery",
    "post /api/v1/agent/boards/{board_id}/approvals": "agent_board_approval_request",
    "get /api/v1/agent/boards/{board_id}/memory": "agent_board_memory_discovery",
    "post /api/v1/agent/boards/{board_id}/memory": "agent_board_memory_record",
    "post /api/v1/agent/boards/{board_id}/onboarding": "agent_board_onboarding_update",
    "get /api/v1/agent/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}": "agent_board_webhook_payload_read",
    "post /api/v1/agent/agents": "agent_management",
    "delete /api/v1/agent/boards/{board_id}/agents/{agent_id}": "agent_lifecycle",
    "post /api/v1/agent/boards/{board_id}/agents/{agent_id}/nudge": "agent_coordination",
    "get /api/v1/agent/boards/{board_id}/agents/{agent_id}/soul": "agent_board_soul_lookup",
    "put /api/v1/agent/boards/{board_id}/agents/{agent_id}/soul": "agent_knowledge_authoring",
    "post /api/v1/agent/boards/{board_id}/gateway/main/ask-user": "human_escalation",
    "post /api/v1/agent/gateway/boards/{board_id}/lead/message": "lead_direct_routing",
    "post /api/v1/agent/gateway/leads/broadcast": "lead_broadcast_routing",
  });
});

test("what leads and main agents alone may do is told apart, under names that agents know", () => {
  const told = operations().flatMap(({ operation }) =>
    ["board_lead", "agent_main"].includes(operation["x-required-actor"] as string)
      ? [[operation.operationId, [operation["x-required-actor"], ...operation.tags]] as const]
      : [],
  );
  const lead = ["board_lead", "agent", "agent-lead"];
  const main = ["agent_main", "agent", "agent-main"];
  expect(Object.fromEntries(told)).toMatchObject({
    agent_lead_create_agent: lead,
    agent_lead_delete_board_agent: lead,
    agent_lead_nudge_agent: lead,
    agent_lead_update_agent_soul: lead,
    agent_lead_ask_user_via_gateway_main: lead,
    agent_main_message_board_lead: main,
    agent_main_broadcast_lead_message: main,
  });
});

test("what agents send and get says what it is for", () => {
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

test("the heartbeat takes no body", () => {
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

test("the reference page needs nothing from any other host", async () => {
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
