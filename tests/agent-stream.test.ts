import { setTimeout as pause } from "node:timers/promises";
import { agents, boards, organization_members } from "@board/core/db/schema";
import { scheduled } from "@board/core/schedule";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { addBoard } from "./support/board.ts";
import { grant } from "./support/feed.ts";
import { actAs } from "./support/main-agent.ts";
import { tenantsOfOneWorld } from "./support/office.ts";
import { skipProvisioning } from "./support/skip-provisioning.ts";
import { listen, type Listener } from "./support/sse.ts";
import type { Tenant, World } from "./support/world.ts";

const POLL_MS = 20;
const STREAM = "/api/v1/agents/stream";

let world: World;
/** An organization of its own for each test. */
let home: Tenant;

const openTenant = tenantsOfOneWorld({ streams: { poll_ms: POLL_MS } });
beforeEach(async () => {
  ({ world, home } = await openTenant());
});

const follow = (query = "", token = home.owner.token, last?: string) =>
  listen((target, init) => world.app.request(target, init), STREAM + query, { token, last });
const manage = async (method: string, path: string, body?: object) =>
  (await world.call(method, `/api/v1/agents${path}`, { token: home.owner.token, ...(body ? { body } : {}) })).body;
const rename = (name: string, id = home.worker.id) => manage("PATCH", `/${id}`, { name });
const show = (id: string) => manage("GET", `/${id}`);
const shown = (listener: Listener) => listener.events().map(({ data }) => data.agent);
const names = (listener: Listener) => shown(listener).map(({ name }) => name);
const isVisible = (listener: Listener, id: string) => shown(listener).some((agent) => agent.id === id);
/** Long enough for polls that would bring more. */
const fewPolls = () => pause(POLL_MS * 6);
const beat = (agent: { token: string }) => world.call("POST", "/api/v1/agent/heartbeat", { agent: agent.token });

describe("an event", () => {
  test("is the agent as it is shown, and its address is not an agent's", async () => {
    const listener = await follow();
    expect([listener.status, listener.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    await rename("Renamed");
    const [event] = await listener.receives(1);
    expect(event).toMatchObject({
      event: "agent",
      data: { agent: { id: home.worker.id, name: "Renamed", board_id: home.board_id } },
    });
    expect(event!.data).toEqual({ agent: await show(home.worker.id) });
    for (const secret of [home.worker.token, "token_hash", "lookup"]) expect(listener.text).not.toContain(secret);
    await listener.close();
  });

  test("comes once for a change, and not at all when nothing shown has changed", async () => {
    await beat(home.worker);
    const listener = await follow();
    for (const name of ["One", "One", "Two"]) await rename(name);
    await manage("PATCH", `/${home.worker.id}`, {});
    await listener.receives(1);
    await fewPolls();
    const after = shown(listener).length;
    expect(names(listener).at(-1)).toBe("Two");
    // A wake-up that is answered is nobody's business; seen a moment ago, the agent is seen no later.
    const own = eq(agents.id, home.worker.id);
    const { updated_at } = (await world.db.select().from(agents).where(own))[0]!;
    for (const answer of [() => beat(home.worker), () => manage("POST", `/${home.worker.id}/heartbeat`, { status: "online" })]) {
      await world.db.update(agents).set({ wake_attempts: 1, checkin_deadline_at: new Date(), updated_at }).where(own);
      await answer();
      expect(await world.db.select().from(agents).where(own)).toMatchObject([{ wake_attempts: 0, updated_at }]);
    }
    const fresh = await follow("", home.owner.token, listener.lastId());
    await fewPolls();
    expect([shown(listener).length, shown(fresh)]).toEqual([after, []]);
    await Promise.all([listener.close(), fresh.close()]);
  });

  test("tells of an agent's life: made, online when it is heard from, offline when it went quiet", async () => {
    const listener = await follow();
    const made = await manage("POST", "", { name: "Born", board_id: home.board_id });
    await skipProvisioning(world.db);
    const own = () => shown(listener).filter(({ id }) => id === made.id);
    const tells = (count: number) => vi.waitUntil(() => own().length >= count, { timeout: 10_000, interval: 5 });
    await tells(1);
    await beat({ token: made.auth_token });
    await tells(2);
    world.elapse(9 * 60_000);
    await beat({ token: made.auth_token });
    await tells(3);
    world.elapse(11 * 60_000);
    await fewPolls();
    expect(own()).toHaveLength(3);
    // By time alone it is shown as offline already; the sweep stores that, and so the stream tells it.
    await scheduled.lifecycle(world.context());
    await tells(4);
    await fewPolls();
    expect(own().map(({ status }) => status)).toEqual(["provisioning", "online", "online", "offline"]);
    expect(own().at(-1)).toEqual(await show(made.id));
    await listener.close();
  });

  test("comes for none that is deleted, and the stream goes on", async () => {
    const listener = await follow();
    await manage("DELETE", `/${home.worker.id}`);
    await fewPolls();
    expect(listener.events()).toEqual([]);
    await rename("Still here", home.lead.id);
    await listener.receives(1);
    expect(names(listener)).toEqual(["Still here"]);
    await listener.close();
  });
});

describe("whose agents", () => {
  test("are those of the active organization, with the main agents, or those of one board without them", async () => {
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    const second = await addBoard(world, home, "Second");
    const main = await actAs(world, home.gateway_id);
    const [all, one] = [await follow(), await follow(`?board_id=${home.board_id}`)];
    await beat(abroad.worker);
    await beat(await actAs(world, abroad.gateway_id));
    await beat(second.agent);
    await beat(main);
    await beat(home.worker);
    await Promise.all([all.receives(3), one.receives(1)]);
    await fewPolls();
    expect(shown(all).map(({ id }) => id)).toEqual([second.agent.id, main.id, home.worker.id]);
    expect(shown(all).map(({ is_gateway_main }) => is_gateway_main)).toEqual([false, true, false]);
    expect(shown(one).map(({ id }) => id)).toEqual([home.worker.id]);
    await Promise.all([all.close(), one.close()]);
  });

  test("are those on boards that are open to the admin, and the main agents", async () => {
    const second = await addBoard(world, home, "Second");
    const main = await actAs(world, home.gateway_id);
    const person = await world.person(`admin of ${home.owner.subject}`);
    const member_id = await world.join(person, home.organization_id, "admin");
    const listener = await follow("", person.token);
    const everything = async () => {
      world.elapse(60_000);
      for (const agent of [home.worker, second.agent, main]) await beat(agent);
    };
    await everything();
    await listener.receives(1);
    await fewPolls();
    expect(shown(listener).map(({ id }) => id)).toEqual([main.id]);
    await grant(world, member_id, [second.board_id]);
    await everything();
    await listener.receives(3);
    await fewPolls();
    expect(isVisible(listener, home.worker.id)).toBe(false);
    expect(isVisible(listener, second.agent.id)).toBe(true);
    await listener.close();
  });

  test("are told to admins only, and of boards that they may read", async () => {
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    const [plain, admin] = [
      await world.person(`plain of ${home.owner.subject}`),
      await world.person(`limited of ${home.owner.subject}`),
    ];
    await world.join(plain, home.organization_id, "member", { read: true });
    await world.join(admin, home.organization_id, "admin");
    const status = async (query: string, token: string) => (await world.call("GET", STREAM + query, { token })).status;
    expect([
      await status("", plain.token),
      await status("", home.lead.token),
      await status(`?board_id=${home.board_id}`, admin.token),
      await status(`?board_id=${abroad.board_id}`, home.owner.token),
      await status(`?board_id=${crypto.randomUUID()}`, home.owner.token),
      await status("?board_id=x", home.owner.token),
      await status("?since=soon", home.owner.token),
    ]).toEqual([403, 401, 404, 404, 404, 422, 422]);
  });

  test("are told no longer to whom is no admin any more, nor of a board that is gone", async () => {
    const { board_id } = await addBoard(world, home, "Going");
    const person = await world.person(`demoted of ${home.owner.subject}`);
    const member_id = await world.join(person, home.organization_id, "admin", { read: true });
    const [demoted, going] = [await follow("", person.token), await follow(`?board_id=${board_id}`)];
    await world.db.update(organization_members).set({ role: "member" }).where(eq(organization_members.id, member_id));
    await world.db.delete(boards).where(eq(boards.id, board_id));
    await rename("Secret");
    await Promise.all([demoted.ends(), going.ends()]);
    expect([demoted.text, going.text]).toEqual(["", ""]);
  });
});

describe("where it starts", () => {
  test("after the last event that the client has, with each agent that has changed since as it is now", async () => {
    const first = await follow();
    await rename("One");
    await first.receives(1);
    await first.close();
    await rename("Two");
    await rename("Three");
    await rename("Leader", home.lead.id);
    const second = await follow("", home.owner.token, first.lastId());
    await second.receives(2);
    await fewPolls();
    expect(names(second)).toEqual(["Three", "Leader"]);
    await second.close();
  });

  test("with what was changed at or after since, by the last change", async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
    const stamp = (id: string, updated_at: Date) => world.db.update(agents).set({ updated_at }).where(eq(agents.id, id));
    await stamp((await actAs(world, home.gateway_id)).id, at(0));
    await stamp(home.lead.id, at(0));
    await stamp(home.worker.id, at(1));
    const listener = await follow("?since=2026-01-01T12:00:01Z");
    await listener.receives(1);
    await rename("Leader", home.lead.id);
    await listener.receives(2);
    await fewPolls();
    expect(names(listener)).toEqual(["Worker", "Leader"]);
    await listener.close();
  });
});
