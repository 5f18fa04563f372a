import type { Endpoint } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actAs } from "./support/main-agent.ts";
import { addTask } from "./support/task.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

/** Generated from the route table: every operation against callers who must not get through. */
let world: World;
let home: Tenant;
let stranger: Tenant;
let member: Person;
/** Main agents of the two organizations' gateways, and of another gateway of the home organization. */
let mains: Record<"home" | "stranger" | "other", { token: string }>;
/** What stands in a path for each placeholder: rows of the home organization. */
let known: Record<string, string>;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
  stranger = await world.tenant("stranger");
  member = await world.person("member");
  const member_id = await world.join(member, home.organization_id, "member");
  const { token } = home.owner;
  const gateway = { name: "Other host", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents" };
  const other = (await world.call("POST", "/api/v1/gateways", { token, body: gateway })).body;
  mains = {
    home: await actAs(world, home.gateway_id),
    stranger: await actAs(world, stranger.gateway_id),
    other: await actAs(world, other.id),
  };
  const webhook = (await world.call("POST", `/api/v1/boards/${home.board_id}/webhooks`, { token, body: { description: "x" } }))
    .body;
  const posted = (await world.call("POST", webhook.endpoint_path, { body: { secret: "of home" } })).body;
  const sync = await world.call("POST", `/api/v1/gateways/${home.gateway_id}/templates/sync`, {
    token,
    headers: { prefer: "respond-async" },
  });
  known = {
    run_id: sync.body.run_id,
    board_id: home.board_id,
    gateway_id: home.gateway_id,
    agent_id: home.worker.id,
    webhook_id: webhook.id,
    payload_id: posted.payload_id,
    member_id,
    invite_id: (await world.call("POST", "/organizations/me/invites", { token, body: { invited_email: "guest@example.com" } }))
      .body.id,
    group_id: (await world.call("POST", "/api/v1/board-groups", { token, body: { name: "Group" } })).body.id,
    task_id: (await addTask(world, home)).id,
    skill_id: (await world.call("POST", "/api/skills/marketplace", { token, body: { source_url: "https://example.com/skill" } }))
      .body.id,
    pack_id: (await world.call("POST", "/api/skills/packs", { token, body: { source_url: "https://github.com/acme/pack" } })).body
      .id,
    tag_id: (await world.call("POST", "/api/tags", { token, body: { name: "Tag" } })).body.id,
    approval_id: (
      await world.call("POST", `/api/v1/boards/${home.board_id}/approvals`, {
        token,
        body: { action_type: "Deploy", description: "It is ready" },
      })
    ).body.id,
    field_id: (
      await world.call("POST", "/organizations/me/custom-fields", {
        token,
        body: { field_key: "field", board_ids: [home.board_id] },
      })
    ).body.id,
  };
});
afterAll(() => world.close());

const operations = endpoints.flatMap((endpoint) =>
  endpoint.paths.map((path) => ({ title: `${endpoint.method} ${path}`, endpoint, path })),
);
const having = (which: (endpoint: Endpoint, path: string) => boolean) =>
  operations.filter(({ endpoint, path }) => which(endpoint, path));

/** Bad on purpose: whoever must not get through is told so before anything about the input. */
const badBody = ({ method, spec }: Endpoint) => (method === "GET" || !spec.body ? {} : { raw: "{" });
const fill = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => known[name] ?? "x");
const needsSignIn = ({ spec }: Endpoint) => spec.as.users || spec.as.agents;
const forUsers = ({ spec }: Endpoint) => spec.as.users;
const forAgents = ({ spec }: Endpoint) => spec.as.agents;
const forMains = ({ spec }: Endpoint) => spec.as.name === "MAIN";
/** An agent of the home organization, or of the other one, that the operation is for. */
const agentFor = (endpoint: Endpoint, whose: "home" | "stranger") =>
  forMains(endpoint) ? mains[whose].token : (whose === "home" ? home : stranger).lead.token;
/** A session key is no id: it names what is on a host, and any text can be one. Nor is a soul's name, which is the same for all. */
const hasId = (_endpoint: Endpoint, path: string) => /\{(?!(?:session_id|handle|slug)\})/.test(path);

test.each(having(needsSignIn))(
  "$title: without a credential 401, before the path and the body are looked at",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), badBody(endpoint));
    expect([answer.status, answer.body]).toEqual([401, { detail: "Not authenticated" }]);
  },
);

test.each(having(needsSignIn))("$title: with an unknown token 401", async ({ endpoint, path }) => {
  const unknown = "x".repeat(43);
  for (const credential of [{ token: unknown }, { agent: unknown }])
    expect((await world.call(endpoint.method, fill(path), { ...badBody(endpoint), ...credential })).status).toBe(401);
});

test.each(having((endpoint) => needsSignIn(endpoint) && !forAgents(endpoint)))(
  "$title: an agent's token 401",
  async ({ endpoint, path }) => {
    for (const credential of [{ agent: home.lead.token }, { token: home.lead.token }])
      expect((await world.call(endpoint.method, fill(path), { ...badBody(endpoint), ...credential })).status).toBe(401);
  },
);

test.each(having((endpoint) => needsSignIn(endpoint) && !forUsers(endpoint)))(
  "$title: a person's token 401",
  async ({ endpoint, path }) => {
    expect((await world.call(endpoint.method, fill(path), { ...badBody(endpoint), token: home.owner.token })).status).toBe(401);
  },
);

test.each(having((endpoint) => endpoint.spec.as.name.startsWith("ADMIN")))(
  "$title: a plain member 403, before the input",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), {
      ...badBody(endpoint),
      token: member.token,
    });
    expect([answer.status, answer.body]).toEqual([403, { detail: "Forbidden" }]);
  },
);

test.each(having((endpoint, path) => forUsers(endpoint) && hasId(endpoint, path)))(
  "$title: another organization's owner 404, whatever the input",
  async ({ endpoint, path }) => {
    for (const input of [badBody(endpoint), endpoint.spec.body ? { body: {} } : {}])
      for (const query of endpoint.spec.query ? ["", "?limit=zero"] : [""]) {
        const answer = await world.call(endpoint.method, fill(path) + query, { ...input, token: stranger.owner.token });
        expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
      }
  },
);

test.each(having((endpoint, path) => forUsers(endpoint) && path.includes("{board_id}")))(
  "$title: a member without a grant 404",
  async ({ endpoint, path }) => {
    expect((await world.call(endpoint.method, fill(path), { ...badBody(endpoint), token: member.token })).status).toBe(404);
  },
);

test.each(having((endpoint, path) => forAgents(endpoint) && hasId(endpoint, path)))(
  "$title: another organization's agent 404, whatever the input",
  async ({ endpoint, path }) => {
    for (const input of [badBody(endpoint), endpoint.spec.body ? { body: {} } : {}])
      expect((await world.call(endpoint.method, fill(path), { ...input, agent: agentFor(endpoint, "stranger") })).status).toBe(
        404,
      );
  },
);

test.each(having(forMains))("$title: a lead and a worker 403, before the path and the input", async ({ endpoint, path }) => {
  for (const agent of [home.lead.token, home.worker.token]) {
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), { ...badBody(endpoint), agent });
    expect([answer.status, answer.body.detail]).toEqual([
      403,
      { code: "forbidden", message: "Only the gateway main agent can perform this action" },
    ]);
  }
});

test.each(having((endpoint, path) => forMains(endpoint) && path.includes("{board_id}")))(
  "$title: the main agent of another gateway of the organization 403",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, fill(path), { ...badBody(endpoint), agent: mains.other.token });
    expect([answer.status, answer.body.code]).toEqual([403, "forbidden"]);
  },
);

test.each(having((endpoint, path) => forAgents(endpoint) && !forMains(endpoint) && path.includes("{board_id}")))(
  "$title: an agent of another board of the organization 403",
  async ({ endpoint, path }) => {
    const board = await world.call("POST", "/api/v1/boards", {
      token: home.owner.token,
      body: { name: "Other", description: "Other", gateway_id: home.gateway_id },
    });
    const other = await world.call("POST", "/api/v1/agents", {
      token: home.owner.token,
      body: { name: "Other", board_id: board.body.id, is_board_lead: true },
    });
    const answer = await world.call(endpoint.method, fill(path), { ...badBody(endpoint), agent: other.body.auth_token });
    expect([answer.status, answer.body]).toEqual([
      403,
      { detail: { code: "forbidden", message: "Board access denied" }, code: "forbidden", retryable: false },
    ]);
  },
);

/** What is not there is deleted already. */
const REPEATABLE = "DELETE /api/v1/agents/{agent_id}";

test.each(having((endpoint, path) => needsSignIn(endpoint) && hasId(endpoint, path)))(
  "$title: an id of nothing 404, no id at all 422",
  async ({ endpoint, path }) => {
    const credential = forUsers(endpoint) ? { token: home.owner.token } : { agent: agentFor(endpoint, "home") };
    const absent = path.replaceAll(/\{\w+\}/g, () => crypto.randomUUID());
    const missed = `${endpoint.method} ${path}` === REPEATABLE ? 200 : 404;
    expect((await world.call(endpoint.method, absent, { ...badBody(endpoint), ...credential })).status).toBe(missed);
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), {
      ...badBody(endpoint),
      ...credential,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]).toMatchObject({ type: "uuid_parsing", loc: ["path", expect.any(String)] });
  },
);

test("no answer and no log line of all this shows a secret", () => {
  const secrets = [home, stranger].flatMap((tenant) => [tenant.owner.token, tenant.lead.token, tenant.worker.token]);
  secrets.push(...Object.values(mains).map(({ token }) => token));
  const lines = JSON.stringify(world.log);
  expect(secrets.filter((secret) => lines.includes(secret))).toEqual([]);
});
