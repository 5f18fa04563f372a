import { endpoints } from "@board/api/groups";
import { isRepeatable } from "@board/api/edge/idempotency";
import { agents, organization_members } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import type { Answer, CallOptions } from "../support/http.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { inputOf } from "../proofs/tenancy/access-rules.ts";
import { createTenancyFixture } from "../proofs/tenancy/tenancy-fixture.ts";

let keys = 0;

const world = await setupWorld();
const fixture = await setup(createTenancyFixture(world));
const home = await world.tenant("another");
const writer = await world.person("writer");
const member_id = await world.join(writer, fixture.known.organization_id!, "member", { write: true });

const repeatable = endpoints.filter(isRepeatable);
const fill = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => fixture.known[name] ?? crypto.randomUUID());
const setWrite = (all_boards_write: boolean) =>
  world.db
    .update(organization_members)
    .set({ all_boards_write, all_boards_read: false })
    .where(eq(organization_members.id, member_id));
const essence = ({ status, text }: Answer) => [status, text];

describe("a person who has lost access to the board", () => {
  beforeEach(() => setWrite(true));

  const ofBoards = repeatable.filter(({ spec, paths }) => spec.as.users && /\{(board|group)_id\}/.test(paths[0]!));
  test.each(ofBoards.map((endpoint) => [endpoint.paths[0]!, endpoint] as const))(
    "a person who has lost access to the board gets the same refusal for a repeated POST %s as for a new one",
    async (path, endpoint) => {
      const { body, query } = inputOf(endpoint);
      const send = (key: string) =>
        world.call("POST", fill(path) + (query ? `?${query(fixture.known)}` : ""), {
          token: writer.token,
          body: body?.(fixture.known),
          headers: { "idempotency-key": key },
        });
      const key = `of a writer ${++keys}`;
      await send(key);
      await setWrite(false);
      const [again, fresh] = [await send(key), await send(`${key} later`)];
      expect([403, 404]).toContain(again.status);
      expect(essence(again)).toEqual(essence(fresh));
      expect(again.headers.get("idempotent-replayed")).toBe(null);
    },
  );
});

describe("an admin who has lost the role or the membership", () => {
  // These operations belong to the person and not to an organization.
  const OWN = [
    "/api/v1/auth/bootstrap",
    "/organizations",
    "/organizations/invites/accept",
    "/api/v1/users/me/inbox/read",
    "/api/v1/users/me/push",
    "/api/v1/users/me/channels/{channel_id}/test",
  ];
  const ofOrganization = repeatable.filter(({ spec, paths }) => spec.as.users && !OWN.includes(paths[0]!));
  test.each(ofOrganization.map((endpoint) => [endpoint.paths[0]!, endpoint] as const))(
    "an admin who has lost the role or the membership gets no stored answer of POST %s",
    async (path, endpoint) => {
      const admin = await world.person(`admin ${++keys}`);
      const id = await world.join(admin, fixture.known.organization_id!, "admin");
      const { body, query } = inputOf(endpoint);
      const send = (key: string) =>
        world.call("POST", fill(path) + (query ? `?${query(fixture.known)}` : ""), {
          token: admin.token,
          body: body?.(fixture.known),
          headers: { "idempotency-key": key },
        });
      await send("of an admin");
      const member = eq(organization_members.id, id);
      await world.db.update(organization_members).set({ role: "member" }).where(member);
      const [demoted, fresh] = [await send("of an admin"), await send("of a member")];
      const isRefused = fresh.status === 403 || fresh.status === 404;
      expect(essence(demoted)).toEqual(essence(isRefused ? fresh : demoted));
      await world.db.delete(organization_members).where(member);
      // Keys are stored per organization. Without the membership, the request has another organization, where the key is new.
      const removed = await send("of an admin");
      expect([403, 404, 409, 422]).toContain(removed.status);
      expect(removed.headers.get("idempotent-replayed")).toBe(null);
    },
  );
});

test("a person who has regained access to the board gets the stored answer", async () => {
  await setWrite(true);
  const send = () =>
    world.call("POST", `/api/v1/boards/${fixture.known.board_id}/tasks`, {
      token: writer.token,
      body: { title: "Kept" },
      headers: { "idempotency-key": "kept" },
    });
  const first = await send();
  await setWrite(false);
  expect((await send()).status).toBe(404);
  await setWrite(true);
  const again = await send();
  expect(essence(again)).toEqual(essence(first));
  expect(again.headers.get("idempotent-replayed")).toBe("true");
});

test("an agent that was moved to another board does not get stored answers of its former board", async () => {
  const { board_id } = await addBoard(world, home, "Next");
  const path = `/api/v1/agent/boards/${home.board_id}/memory`;
  const send = (options: CallOptions = {}) =>
    world.call("POST", path, {
      agent: home.worker.token,
      body: { content: "Said" },
      headers: { "idempotency-key": "moved" },
      ...options,
    });
  expect((await send()).status).toBe(200);
  await world.db.update(agents).set({ board_id }).where(eq(agents.id, home.worker.id));
  expect((await send()).status).toBe(403);
});

test("an operation that calls another server checks the rights to its path before it answers a repeated request", () => {
  const unchecked = repeatable.filter(({ spec, paths }) => spec.calls_out && paths[0]!.includes("_id}") && !spec.authorize);
  // The session in this path is not a row of the service; the host decides about it.
  expect(unchecked.map(({ paths }) => paths[0])).toEqual(["/api/v1/gateway/sessions/{session_id}/message"]);
});

test("a repeated answer has no secret and names the fields that it omits", async () => {
  const send = (body: object, path: string) =>
    world.call("POST", path, { token: home.owner.token, body, headers: { "idempotency-key": "secret" } });
  const receiver = { url: "https://93.184.215.14/events" };
  for (const [path, body, field] of [
    ["/api/v1/agents", { name: "Keeper", board_id: home.board_id, is_board_lead: false }, "auth_token"],
    ["/api/v1/subscriptions", receiver, "secret"],
    [`/api/v1/boards/${home.board_id}/subscriptions`, receiver, "secret"],
  ] as const) {
    const first = await send(body, path);
    const again = await send(body, path);
    expect([path, first.status, first.body[field]]).toEqual([path, 200, expect.stringMatching(/.{20}/)]);
    expect(first.headers.get("idempotent-omitted")).toBe(null);
    expect(again.body).toEqual({ ...first.body, [field]: null });
    expect(again.headers.get("idempotent-omitted")).toBe(field);
  }
});
