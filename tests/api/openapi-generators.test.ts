/** What programs that read the OpenAPI document rely on: code generators, linters and agents that filter by tag. */
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

interface Operation {
  tags: string[];
  security: object[];
  responses: Record<string, unknown>;
}

const world = await setupWorld();
const document: { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, unknown> } } = (
  await world.call("GET", "/openapi.json")
).body;

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  );
const rolesOf = ({ tags }: Operation) => tags.filter((tag) => /^agent-(main|lead|worker)$/.test(tag));

/** Returns the JSON pointers of all schemas in the document that match. */
function findSchemas(isMatch: (schema: Record<string, unknown>) => boolean): string[] {
  const found: string[] = [];
  const visit = (node: unknown, at: string): void => {
    if (typeof node !== "object" || node === null) return;
    if (isMatch(node as Record<string, unknown>)) found.push(at);
    for (const [key, child] of Object.entries(node)) visit(child, `${at}/${key}`);
  };
  visit(document, "");
  return found;
}

test("exactly the operations that accept agents have tags, which name the roles that may call them", () => {
  for (const { name, operation } of operations()) {
    const accepts = operation.security.some((scheme) => "agent" in scheme);
    expect([name, rolesOf(operation).length > 0]).toEqual([name, accepts]);
    const all = rolesOf(operation).length === 3;
    expect([name, operation.tags.includes("any_agent")]).toEqual([name, all]);
  }
});

test.each([
  ["/api/v1/agent/boards/{board_id}/tasks/{task_id}", "delete", ["agent", "agent-lead"]],
  ["/api/v1/boards/{board_id}/tasks", "get", ["tasks", "agent-main", "agent-lead", "agent-worker", "agent-board", "any_agent"]],
  ["/api/v1/agents", "post", ["agents", "agent-lead"]],
  ["/api/v1/boards/{board_id}/onboarding/agent", "post", ["onboarding", "agent-main"]],
  ["/api/v1/tags", "get", ["tags"]],
])("the operation %s %s has the tags %j", (path, method, tags) => {
  expect(document.paths[path]![method]!.tags).toEqual(tags);
});

test("every operation documents an error that the client can cause", () => {
  const without = operations().filter(
    ({ operation }) => !Object.keys(operation.responses).some((status) => status.startsWith("4")),
  );
  expect(without.map(({ name }) => name)).toEqual([]);
});

test("no schema has an empty alternative", () => {
  const isEmpty = (schema: unknown) => JSON.stringify(schema) === "{}";
  const hasEmpty = ({ anyOf, oneOf }: Record<string, unknown>) =>
    [anyOf, oneOf].some((alternatives) => Array.isArray(alternatives) && alternatives.some(isEmpty));
  expect(findSchemas(hasEmpty)).toEqual([]);
});

test("no response schema forbids fields that a later version may add", () => {
  expect(findSchemas(({ additionalProperties }) => additionalProperties === false)).toEqual([]);
});

test("no two values of an enum become the same name in generated code", () => {
  const toName = (value: unknown) =>
    String(value)
      .replaceAll(/[^a-z0-9]/gi, "")
      .toLowerCase();
  const isAmbiguous = ({ enum: values }: Record<string, unknown>) =>
    Array.isArray(values) && new Set(values.map(toName)).size < values.length;
  expect(findSchemas(isAmbiguous)).toEqual([]);
});

test("aliases of field types and visibilities are accepted although the document lists only the names", async () => {
  const tenant = await world.tenant("aliases");
  const body = {
    field_key: "due",
    field_type: "Date & Time",
    ui_visibility: "if set",
    board_ids: [tenant.board_id],
  };
  const created = await world.call("POST", "/organizations/me/custom-fields", { token: tenant.owner.token, body });
  expect(created.body).toMatchObject({ field_type: "date_time", ui_visibility: "if_set" });
  const { CustomFieldCreate } = document.components.schemas as Record<
    string,
    { properties: Record<string, { enum: string[]; description: string }> }
  >;
  expect(CustomFieldCreate!.properties["ui_visibility"]!.enum).toEqual(["always", "if_set", "hidden"]);
  expect(CustomFieldCreate!.properties["field_type"]!.description).toContain("`date & time`");
});
