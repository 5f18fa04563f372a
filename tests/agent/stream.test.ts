import { setTimeout as pause } from "node:timers/promises";
import { agents, boards, organization_members } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { describe, expect, test, vi } from "vitest";
import { addBoard } from "../support/board.ts";
import { grantRead } from "../support/feed.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { listen, type Listener } from "../support/sse.ts";

const POLL_MS = 20;
const STREAM = "/api/v1/agents/stream";

/** Each test has a separate organization. */
const { world, home } = await setupTenants({ streams: { poll_ms: POLL_MS } });

const follow = (query = "", token = home.owner.token, last?: string) =>
  listen((target, init) => world.app.request(target, init), STREAM + query, { token, last });
const manage = async (method: string, path: string, body?: object) =>
  (await world.call(method, `/api/v1/agents${path}`, { token: home.owner.token, body })).body;
const rename = (name: string, id = home.worker.id) => manage("PATCH", `/${id}`, { name });
const show = (id: string) => manage("GET", `/${id}`);
const shown = (listener: Listener) => listener.events().map(({ data }) => data.agent);
const names = (listener: Listener) => shown(listener).map(({ name }) => name);
const isVisible = (listener: Listener, id: string) => shown(listener).some((agent) => agent.id === id);
/** Waits long enough for several polls, which would send unexpected events. */
const fewPolls = () => pause(POLL_MS * 6);
const beat = (agent: { token: string }) => world.call("POST", "/api/v1/agent/heartbeat", { agent: agent.token });

describe("events of the agent stream", () => {
  test("an event of the agent stream contains the agent as it is read by id, and the path of the stream is not taken for an agent id", async () => {
    const listener = await follow();
    expect([listener.status, listener.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    await rename("Renamed");
    const [event] = await listener.waitForEvents(1);
    expect(event).toMatchObject({
      event: "agent",
      data: { agent: { id: home.worker.id, name: "Renamed", board_id: home.board_id } },
    });
    expect(event!.data).toEqual({ agent: await show(home.worker.id) });
    for (const secret of [home.worker.token, "token_hash", "lookup"]) expect(listener.text).not.toContain(secret);
    await listener.close();
  });

  test("the agent stream sends one event per change, and none when no visible field has changed", async () => {
    await beat(home.worker);
    const listener = await follow();
    for (const name of ["One", "One", "Two"]) await rename(name);
    await manage("PATCH", `/${home.worker.id}`, {});
    await listener.waitForEvents(1);
    await fewPolls();
    const after = shown(listener).length;
    expect(names(listener).at(-1)).toBe("Two");
    // Answering a wake-up changes no visible field, and a second request within 30 seconds does not update `last_seen_at`.
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

  test("the agent stream sends an event when an agent is created, comes online by a request or goes offline because it is silent", async () => {
    const listener = await follow();
    const created = await manage("POST", "", { name: "Born", board_id: home.board_id });
    await skipProvisioning(world.db);
    const own = () => shown(listener).filter(({ id }) => id === created.id);
    const waitForOwnEvents = (count: number) => vi.waitUntil(() => own().length >= count, { timeout: 10_000, interval: 5 });
    await waitForOwnEvents(1);
    await beat({ token: created.auth_token });
    await waitForOwnEvents(2);
    world.elapse(9 * 60_000);
    await beat({ token: created.auth_token });
    await waitForOwnEvents(3);
    world.elapse(11 * 60_000);
    await fewPolls();
    expect(own()).toHaveLength(3);
    // Clients already see it offline; the sweep stores that status, which sends an event.
    await scheduled.lifecycle(world.context());
    await waitForOwnEvents(4);
    await fewPolls();
    expect(own().map(({ status }) => status)).toEqual(["provisioning", "online", "online", "offline"]);
    expect(own().at(-1)).toEqual(await show(created.id));
    await listener.close();
  });

  test("a deleted agent causes no event, and the agent stream continues", async () => {
    const listener = await follow();
    await manage("DELETE", `/${home.worker.id}`);
    await fewPolls();
    expect(listener.events()).toEqual([]);
    await rename("Still here", home.lead.id);
    await listener.waitForEvents(1);
    expect(names(listener)).toEqual(["Still here"]);
    await listener.close();
  });
});

describe("agents that a stream includes", () => {
  test("an agent stream contains the agents of the active organization, including main agents, or only the agents of one board", async () => {
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    const second = await addBoard(world, home, "Second");
    const main = await actAsMainAgent(world, home.gateway_id);
    const [all, boardOnly] = [await follow(), await follow(`?board_id=${home.board_id}`)];
    await beat(abroad.worker);
    await beat(await actAsMainAgent(world, abroad.gateway_id));
    await beat(second.agent);
    await beat(main);
    await beat(home.worker);
    await Promise.all([all.waitForEvents(3), boardOnly.waitForEvents(1)]);
    await fewPolls();
    expect(shown(all).map(({ id }) => id)).toEqual([second.agent.id, main.id, home.worker.id]);
    expect(shown(all).map(({ is_gateway_main }) => is_gateway_main)).toEqual([false, true, false]);
    expect(shown(boardOnly).map(({ id }) => id)).toEqual([home.worker.id]);
    await Promise.all([all.close(), boardOnly.close()]);
  });

  test("the agent stream of an admin contains the agents of readable boards and the main agents", async () => {
    const second = await addBoard(world, home, "Second");
    const main = await actAsMainAgent(world, home.gateway_id);
    const person = await world.person(`admin of ${home.owner.subject}`);
    const member_id = await world.join(person, home.organization_id, "admin");
    const listener = await follow("", person.token);
    const everything = async () => {
      world.elapse(60_000);
      for (const agent of [home.worker, second.agent, main]) await beat(agent);
    };
    await everything();
    await listener.waitForEvents(1);
    await fewPolls();
    expect(shown(listener).map(({ id }) => id)).toEqual([main.id]);
    await grantRead(world, member_id, [second.board_id]);
    await everything();
    await listener.waitForEvents(3);
    await fewPolls();
    expect(isVisible(listener, home.worker.id)).toBe(false);
    expect(isVisible(listener, second.agent.id)).toBe(true);
    await listener.close();
  });

  test("an agent stream of an unknown board is 404, and an invalid query is 422", async () => {
    for (const [query, status] of [
      [`?board_id=${crypto.randomUUID()}`, 404],
      ["?board_id=x", 422],
      ["?since=soon", 422],
    ])
      expect([query, (await world.call("GET", `${STREAM}${query}`, { token: home.owner.token })).status]).toEqual([
        query,
        status,
      ]);
  });

  test("an agent stream ends without further events when its reader is no longer an admin or its board is deleted", async () => {
    const { board_id } = await addBoard(world, home, "Going");
    const person = await world.person(`demoted of ${home.owner.subject}`);
    const member_id = await world.join(person, home.organization_id, "admin", { read: true });
    const [demoted, ofDeletedBoard] = [await follow("", person.token), await follow(`?board_id=${board_id}`)];
    await world.db.update(organization_members).set({ role: "member" }).where(eq(organization_members.id, member_id));
    await world.db.delete(boards).where(eq(boards.id, board_id));
    await rename("Secret");
    await Promise.all([demoted.waitForEnd(), ofDeletedBoard.waitForEnd()]);
    expect([demoted.text, ofDeletedBoard.text]).toEqual(["", ""]);
  });
});

describe("where the agent stream starts", () => {
  test("a resumed stream sends each agent changed since the last event, in its current state", async () => {
    const first = await follow();
    await rename("One");
    await first.waitForEvents(1);
    await first.close();
    await rename("Two");
    await rename("Three");
    await rename("Leader", home.lead.id);
    const second = await follow("", home.owner.token, first.lastId());
    await second.waitForEvents(2);
    await fewPolls();
    expect(names(second)).toEqual(["Three", "Leader"]);
    await second.close();
  });

  test("the parameter since of the agent stream selects agents that were last changed at or after that time", async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
    const stamp = (id: string, updated_at: Date) => world.db.update(agents).set({ updated_at }).where(eq(agents.id, id));
    await stamp((await actAsMainAgent(world, home.gateway_id)).id, at(0));
    await stamp(home.lead.id, at(0));
    await stamp(home.worker.id, at(1));
    const listener = await follow("?since=2026-01-01T12:00:01Z");
    await listener.waitForEvents(1);
    await rename("Leader", home.lead.id);
    await listener.waitForEvents(2);
    await fewPolls();
    expect(names(listener)).toEqual(["Worker", "Leader"]);
    await listener.close();
  });
});
