/** These tests are generated from the route table. They send every operation with credentials that must be refused. */
import type { Endpoint } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { channels } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask } from "../support/task.ts";
import { seedSubscription } from "../support/seed-subscription.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const stranger = await world.tenant("stranger");
const member = await world.person("member");
const member_id = await world.join(member, home.organization_id, "member");
/** An admin with the right to read all boards. */
const reader = await world.person("reader");
await world.join(reader, home.organization_id, "admin", { read: true });
const { token } = home.owner;
const gateway = { name: "Other host", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents" };
const other = (await world.call("POST", "/api/v1/gateways", { token, body: gateway })).body;
/** Main agents of the two organizations' gateways, and of another gateway of the home organization. */
const mains: Record<"home" | "stranger" | "other", { token: string }> = {
  home: await actAsMainAgent(world, home.gateway_id),
  stranger: await actAsMainAgent(world, stranger.gateway_id),
  other: await actAsMainAgent(world, other.id),
};
/** The lead of another board in the home organization. */
const lead = { name: "Other", board_id: (await addBoard(world, home)).board_id, is_board_lead: true };
const neighbour = (await world.call("POST", "/api/v1/agents", { token, body: lead })).body;
const webhook = (await world.call("POST", `/api/v1/boards/${home.board_id}/webhooks`, { token, body: { description: "x" } }))
  .body;
const posted = (await world.call("POST", webhook.endpoint_path, { body: { secret: "of home" } })).body;
const sync = await world.call("POST", `/api/v1/gateways/${home.gateway_id}/templates/sync`, {
  token,
  headers: { prefer: "respond-async" },
});
const me = (await world.call("GET", "/api/v1/users/me", { token })).body;
const [channel] = await world.db
  .insert(channels)
  .values({ user_id: me.id, type: "push", address_digest: "home" })
  .returning({ id: channels.id });
/** The value for each placeholder of a path: ids of rows of the home organization. */
const pathValues: Record<string, string> = {
  run_id: sync.body.run_id,
  board_id: home.board_id,
  gateway_id: home.gateway_id,
  agent_id: home.worker.id,
  webhook_id: webhook.id,
  payload_id: posted.payload_id,
  job_id: (await world.call("GET", "/api/v1/jobs?kind=webhook.notify", { token })).body.items[0].id,
  ...(await seedSubscription(world, home)),
  member_id,
  invite_id: (await world.call("POST", "/organizations/me/invites", { token, body: { invited_email: "guest@example.com" } })).body
    .id,
  group_id: (await world.call("POST", "/api/v1/board-groups", { token, body: { name: "Group" } })).body.id,
  task_id: (await addTask(world, home)).id,
  skill_id: (await world.call("POST", "/api/skills/marketplace", { token, body: { source_url: "https://example.com/skill" } }))
    .body.id,
  pack_id: (await world.call("POST", "/api/skills/packs", { token, body: { source_url: "https://github.com/acme/pack" } })).body
    .id,
  channel_id: channel!.id,
  tag_id: (await world.call("POST", "/api/tags", { token, body: { name: "Tag" } })).body.id,
  key_id: (await world.call("POST", "/api/v1/users/me/keys", { token, body: { name: "Key", access: "read" } })).body.id,
  budget_id: (await world.call("POST", "/api/v1/budgets", { token, body: { scope: "organization", limit: { runs: 9 } } })).body
    .id,
  artifact_id: (
    await world.call("POST", `/api/v1/boards/${home.board_id}/tasks/${(await addTask(world, home)).id}/artifacts`, {
      token,
      body: { name: "log.txt", content: "bG9n" },
    })
  ).body.id,
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

const operations = endpoints.flatMap((endpoint) =>
  endpoint.paths.map((path) => ({ title: `${endpoint.method} ${path}`, endpoint, path })),
);
const having = (which: (endpoint: Endpoint, path: string) => boolean) =>
  operations.filter(({ endpoint, path }) => which(endpoint, path));

/** Returns an invalid body, because a client without access must be refused before its input is validated. */
const invalidBody = ({ method, spec }: Endpoint) => (method === "GET" || !spec.body ? {} : { raw: "{" });
const fill = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => pathValues[name] ?? "x");
const needsSignIn = ({ spec }: Endpoint) => spec.as.users || spec.as.agents;
const forUsers = ({ spec }: Endpoint) => spec.as.users;
const forAgents = ({ spec }: Endpoint) => spec.as.agents;
const forMains = ({ spec }: Endpoint) => spec.as.name === "MAIN";
/** Returns the token of an agent that may call the operation, from the home organization or from the stranger's. */
const agentFor = (endpoint: Endpoint, whose: "home" | "stranger") =>
  forMains(endpoint) ? mains[whose].token : (whose === "home" ? home : stranger).lead.token;
/** Checks whether a path has an id. Session keys, which a host defines, and soul names, which are global, do not count as ids. */
const hasId = (_endpoint: Endpoint, path: string) => /\{(?!(?:session_id|handle|slug)\})/.test(path);

test.each(having(needsSignIn))(
  "$title: a request without a credential gets 401 before the path and the body are validated",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), invalidBody(endpoint));
    expect([answer.status, answer.body]).toEqual([401, { detail: "Not authenticated" }]);
  },
);

test.each(having(needsSignIn))("$title: an unknown token gets 401", async ({ endpoint, path }) => {
  const unknown = "x".repeat(43);
  for (const credential of [{ token: unknown }, { agent: unknown }])
    expect((await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), ...credential })).status).toBe(401);
});

test.each(having((endpoint) => needsSignIn(endpoint) && !forAgents(endpoint)))(
  "$title: an agent's token gets 401",
  async ({ endpoint, path }) => {
    for (const credential of [{ agent: home.lead.token }, { token: home.lead.token }])
      expect((await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), ...credential })).status).toBe(401);
  },
);

test.each(having((endpoint) => needsSignIn(endpoint) && !forUsers(endpoint)))(
  "$title: a person's token gets 401",
  async ({ endpoint, path }) => {
    expect((await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), token: home.owner.token })).status).toBe(
      401,
    );
  },
);

test.each(having((endpoint) => endpoint.spec.as.name.startsWith("ADMIN")))(
  "$title: a member without the admin role gets 403 before the input is validated",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), {
      ...invalidBody(endpoint),
      token: member.token,
    });
    expect([answer.status, answer.body]).toEqual([403, { detail: "Forbidden" }]);
  },
);

test.each(having((endpoint, path) => forUsers(endpoint) && hasId(endpoint, path)))(
  "$title: another organization's owner gets 404 for any input",
  async ({ endpoint, path }) => {
    for (const input of [invalidBody(endpoint), endpoint.spec.body ? { body: {} } : {}])
      for (const query of endpoint.spec.query ? ["", "?limit=zero"] : [""]) {
        const answer = await world.call(endpoint.method, fill(path) + query, { ...input, token: stranger.owner.token });
        expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
      }
  },
);

test.each(having((endpoint, path) => forUsers(endpoint) && path.includes("{board_id}")))(
  "$title: a member without access to the board gets 404 before the input is validated",
  async ({ endpoint, path }) => {
    expect((await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), token: member.token })).status).toBe(404);
  },
);

/**
 * Paths for what belongs to the reading person: what they follow, which files of a diff they have reviewed, and how they look at a
 * board. Changing these needs no write access.
 */
const isOwnNote = (path: string) => /\/(?:follow|reviewed-files|saved-views)$/.test(path);

test.each(
  having(({ method, spec }, path) => method !== "GET" && spec.as.users && path.includes("{board_id}") && !isOwnNote(path)),
)("$title: a person who may only read the board gets 403 before the input is validated", async ({ endpoint, path }) => {
  const answer = await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), token: reader.token });
  expect([answer.status, answer.body]).toEqual([403, { detail: "Board access denied" }]);
});

test.each(having(({ spec }) => spec.as.name === "LEAD" || spec.as.name === "ADMIN or LEAD"))(
  "$title: a worker and a main agent get 403 before the path and the input are validated",
  async ({ endpoint, path }) => {
    for (const agent of [home.worker.token, mains.home.token]) {
      const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), { ...invalidBody(endpoint), agent });
      expect([answer.status, answer.body.detail]).toEqual([
        403,
        { code: "forbidden", message: "Only board leads can perform this action" },
      ]);
    }
  },
);

test.each(having((endpoint, path) => forAgents(endpoint) && hasId(endpoint, path)))(
  "$title: another organization's agent gets 404 for any input",
  async ({ endpoint, path }) => {
    for (const input of [invalidBody(endpoint), endpoint.spec.body ? { body: {} } : {}])
      expect((await world.call(endpoint.method, fill(path), { ...input, agent: agentFor(endpoint, "stranger") })).status).toBe(
        404,
      );
  },
);

test.each(having(forMains))(
  "$title: a lead and a worker get 403 before the path and the input are validated",
  async ({ endpoint, path }) => {
    for (const agent of [home.lead.token, home.worker.token]) {
      const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), { ...invalidBody(endpoint), agent });
      expect([answer.status, answer.body.detail]).toEqual([
        403,
        { code: "forbidden", message: "Only the gateway main agent can perform this action" },
      ]);
    }
  },
);

test.each(having((endpoint, path) => forMains(endpoint) && path.includes("{board_id}")))(
  "$title: the main agent of another gateway in the organization gets 403",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), agent: mains.other.token });
    expect([answer.status, answer.body.code]).toEqual([403, "forbidden"]);
  },
);

test.each(having((endpoint, path) => forAgents(endpoint) && !forMains(endpoint) && path.includes("{board_id}")))(
  "$title: an agent of another board in the organization gets 403",
  async ({ endpoint, path }) => {
    const answer = await world.call(endpoint.method, fill(path), { ...invalidBody(endpoint), agent: neighbour.auth_token });
    expect([answer.status, answer.body]).toEqual([
      403,
      { detail: { code: "forbidden", message: "Board access denied" }, code: "forbidden", retryable: false },
    ]);
  },
);

/** The deletion that also succeeds for an id that does not exist. */
const REPEATABLE = "DELETE /api/v1/agents/{agent_id}";

test.each(having((endpoint, path) => needsSignIn(endpoint) && hasId(endpoint, path)))(
  "$title: an unknown id gets 404, and a malformed id gets 422",
  async ({ endpoint, path }) => {
    const credential = forUsers(endpoint) ? { token: home.owner.token } : { agent: agentFor(endpoint, "home") };
    const absent = path.replaceAll(/\{\w+\}/g, () => crypto.randomUUID());
    const missed = `${endpoint.method} ${path}` === REPEATABLE ? 200 : 404;
    expect((await world.call(endpoint.method, absent, { ...invalidBody(endpoint), ...credential })).status).toBe(missed);
    const answer = await world.call(endpoint.method, path.replaceAll(/\{\w+\}/g, "no-id"), {
      ...invalidBody(endpoint),
      ...credential,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]).toMatchObject({ type: "uuid_parsing", loc: ["path", expect.any(String)] });
  },
);

test("no answer and no log line of these requests shows a secret", () => {
  const secrets = [home, stranger].flatMap((tenant) => [tenant.owner.token, tenant.lead.token, tenant.worker.token]);
  secrets.push(...Object.values(mains).map(({ token }) => token));
  const lines = JSON.stringify(world.log);
  expect(secrets.filter((secret) => lines.includes(secret))).toEqual([]);
});
