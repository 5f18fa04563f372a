/** The OpenAPI documents of one role. */
import { endpoints } from "@board/api/groups";
import { hintsOf } from "@board/api/guidance/hints";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { endpointOf } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";

interface Document {
  paths: Record<string, Record<string, { operationId: string; tags: string[]; "x-llm-intent"?: string; requestBody?: unknown }>>;
  components: Record<string, Record<string, unknown>>;
}

const world = await setupWorld();

const ROLES = ["agent-lead", "agent-worker", "agent-main", "user"];
const read = (role: string) => world.call("GET", `/openapi.json?role=${role}`);
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

test.each(ROLES)("the document of the role %s is valid OpenAPI and has an ETag", async (role) => {
  const { body, headers } = await read(role);
  expect(await new Validator().validate(structuredClone(body))).toMatchObject({ valid: true });
  expect(headers.get("etag")).toMatch(/^"/);
  const again = await world.call("GET", `/openapi.json?role=${role}`, { headers: { "if-none-match": headers.get("etag")! } });
  expect(again.status).toBe(304);
});

test.each(ROLES)("the document of the role %s has exactly the components that it uses", async (role) => {
  const { body } = await read(role);
  const used = new Set([...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/(\w+\/[\w-]+)"/g)].map((match) => match[1]!));
  const { securitySchemes: _schemes, ...components } = (body as Document).components;
  const known = Object.entries(components).flatMap(([kind, parts]) => Object.keys(parts).map((name) => `${kind}/${name}`));
  expect([...used].toSorted()).toEqual(known.toSorted());
});

test.each(["lead", "worker", "main"] as const)(
  "the document of a %s has the operations that are meant for this role and that the role may call",
  async (role) => {
    const document = (await read(`agent-${role}`)).body as Document;
    const rejects = { lead: ["MAIN"], worker: ["MAIN", "LEAD"], main: ["LEAD"] }[role];
    const wanted = endpoints.filter(
      ({ spec }) => spec.agent && hintsOf(spec.agent).roles.includes(role) && !rejects.includes(spec.as.name),
    );
    const names = wanted.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path}`));
    expect(
      operationsOf(document)
        .map(({ method, path }) => `${method} ${path}`)
        .toSorted(),
    ).toEqual(names.toSorted());
    for (const { operation } of operationsOf(document)) {
      expect(operation["x-llm-intent"]).toMatch(/\S/);
      expect(operation.tags).toEqual(["agent", `agent-${role}`]);
    }
  },
);

test("the document of people has each operation that people may call once, and no operation that only agents may call", async () => {
  const document = (await read("user")).body as Document;
  for (const { method, path, operation } of operationsOf(document)) {
    const { as: role } = endpointOf(method, path)!.spec;
    expect([path, role.users || !role.agents]).toEqual([path, true]);
    expect(operation.operationId).not.toMatch(/_unversioned$/);
  }
  const paths = Object.keys(document.paths);
  expect(paths).toEqual(expect.arrayContaining(["/api/v1/tags", "/api/v1/boards/{board_id}/tasks", "/healthz"]));
  expect(paths.some((path) => path.startsWith("/api/v1/agent/"))).toBe(false);
});

test("the document of a worker has at most 60,000 bytes, and the document of any agent less than a sixth of the whole document", async () => {
  const bytesOf = async (role: string) => Buffer.byteLength((await read(role)).text);
  expect(await bytesOf("agent-worker")).toBeLessThanOrEqual(60_000);
  const whole = Buffer.byteLength((await world.call("GET", "/openapi.json")).text);
  for (const role of ["agent-lead", "agent-main"]) expect(await bytesOf(role)).toBeLessThan(whole / 6);
});

test("times in an agent's document are described by their format, without a pattern, even those that may be null", async () => {
  const { text, body } = await read("agent-worker");
  expect(body.components.schemas.Task.properties.due_at).toEqual({ type: ["string", "null"], format: "date-time" });
  expect(text).not.toContain("d{4}-");
});

test("what an agent sends is described in full in its document", async () => {
  const { paths, components } = (await read("agent-worker")).body;
  expect(paths["/api/v1/agent/boards/{board_id}/tasks/{task_id}"].patch.requestBody).toBeDefined();
  for (const [name, field] of Object.entries(components.schemas.TaskUpdate.properties as Record<string, { description: string }>))
    expect([name, field.description]).toEqual([name, expect.stringMatching(/\S/)]);
});

test("an unknown role is refused", async () => {
  const answer = await read("admin");
  expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["query", "role"]]);
});
