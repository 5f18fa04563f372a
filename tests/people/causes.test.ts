import { scheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { stopHost } from "../support/provisioning.ts";
import { accept, reply, startReceiver } from "../support/receiver.ts";
import { addTask } from "../support/task.ts";
import { agentTaskPath } from "../support/task-rules.ts";
import type { Tenant } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** How far the clock is ahead at the start, so that the causes of a test happen within one day in UTC. */
const AHEAD = DAY - (Date.now() % DAY);

const host = await setup(startFakeGateway({ token: "test-token-123", dialect: "2026.9.6" }));
const receiver = await setup(startReceiver());
receiver.answer = (request, response) => (request.url === "/gone" ? reply(410) : accept)(request, response);
const world = await setupWorld({ clock: () => new Date(Date.now() + AHEAD) });

async function send(method: string, path: string, who: { token: string } | { agent: string }, body: object = {}) {
  const answer = await world.call(method, path, { ...who, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
}

const report = ({ worker }: Tenant, input_tokens: number) =>
  send("POST", "/api/v1/agent/usage", { agent: worker.token }, { entries: [{ key: crypto.randomUUID(), input_tokens }] });

const addBudget = ({ owner, board_id }: Tenant, fields: object) =>
  send("POST", "/api/v1/budgets", owner, { scope: "board", scope_id: board_id, period: "day", ...fields });

async function loseRun(home: Tenant): Promise<void> {
  const { id } = await addTask(world, home);
  await send("PUT", `${agentTaskPath(home, id)}/lease`, { agent: home.worker.token });
  world.elapse(HOUR);
  await scheduled.lifecycle(world.context());
}

async function goSilent({ worker }: Tenant): Promise<void> {
  await send("POST", "/api/v1/agent/heartbeat", { agent: worker.token });
  world.elapse(11 * MINUTE);
  await scheduled.lifecycle(world.context());
}

async function probe(): Promise<void> {
  await scheduled.probe(world.context());
  world.elapse(MINUTE);
  await world.drain();
}

async function loseHost(): Promise<void> {
  await host.start();
  await probe();
  await stopHost(world, host);
  await probe();
}

/** Sends an event to a receiver that no longer exists, which switches its subscription off. */
async function loseDelivery({ owner, board_id }: Tenant): Promise<void> {
  const path = `/api/v1/boards/${board_id}/subscriptions`;
  const [known] = (await world.call("GET", path, { token: owner.token })).body.items;
  if (known) await send("PATCH", `${path}/${known.id}`, owner, { active: true });
  else await send("POST", path, owner, { url: receiver.url.replace("events", "gone"), event_types: ["task.created"] });
  await send("POST", `/api/v1/boards/${board_id}/tasks`, owner, { title: "Paint the fence" });
}

interface Cause {
  type: string;
  notified: string[];
  often: "each time" | "once a day";
  /** The event that subscriptions get, if it has another name. */
  event?: string;
  /** The id of the subject, if the cause has further subjects. */
  subjectOf?: (home: Tenant) => string;
  begin?: (home: Tenant) => Promise<unknown>;
  happen: (home: Tenant) => Promise<unknown>;
}

const ADMINS = ["admin", "creator"];
const CAUSES: Cause[] = [
  { type: "run.failed", event: "run.expired", notified: ["creator", "follower"], often: "each time", happen: loseRun },
  { type: "agent.silent", notified: ADMINS, often: "once a day", subjectOf: ({ worker }) => worker.id, happen: goSilent },
  { type: "gateway.down", notified: ADMINS, often: "once a day", happen: loseHost },
  { type: "delivery.dead", notified: ADMINS, often: "once a day", happen: loseDelivery },
  {
    type: "budget.warned",
    notified: ADMINS,
    often: "once a day",
    begin: (home) => addBudget(home, { limit: { total_tokens: 100 }, warn_at: 0.4 }),
    happen: (home) => report(home, 45),
  },
  {
    type: "budget.exhausted",
    notified: ADMINS,
    often: "once a day",
    begin: (home) => addBudget(home, { limit: { total_tokens: 50 } }),
    happen: (home) => report(home, 60),
  },
];

/** The number of notifications after a first cause, after a second on the same day, and after a third on the next day. */
const TOTALS = { "each time": [1, 2, 3], "once a day": [1, 1, 2] };

const titled = CAUSES.map((cause) => ({ ...cause, people: cause.notified.join(" and ") }));

test.each(titled)("$type notifies $people $often, and a subscription of the organization", async (cause) => {
  const { type, event = type, notified, often, subjectOf, begin, happen } = cause;
  const home = await world.tenant(`creator ${type}`, host.url);
  const follower = await world.member(`follower ${type}`, home, "member", { read: true });
  const people = {
    admin: await world.member(`admin ${type}`, home, "admin", { read: true }),
    creator: home.owner,
    follower,
    member: await world.member(`member ${type}`, home, "member", { read: true }),
  };
  await send("PUT", `/api/v1/boards/${home.board_id}/follow`, follower);
  const url = `${receiver.url}/${type}`;
  await send("POST", "/api/v1/subscriptions", home.owner, { url, event_types: [event] });
  await begin?.(home);
  const isAbout = (subject_id: string) => !subjectOf || subject_id === subjectOf(home);
  for (const [index, total] of TOTALS[often].entries()) {
    if (index === 2) world.elapse(DAY);
    await happen(home);
    await world.drain();
    const numbers: Record<string, number> = {};
    for (const [name, person] of Object.entries(people)) {
      const { items } = (await world.call("GET", "/api/v1/users/me/inbox", { token: person.token })).body;
      const shown = items.filter((item: { type: string; subject_id: string }) => item.type === type && isAbout(item.subject_id));
      numbers[name] = shown.length;
    }
    const expected = Object.fromEntries(Object.keys(people).map((name) => [name, notified.includes(name) ? total : 0]));
    expect(numbers, `after cause ${index + 1}`).toEqual(expected);
    const events = receiver.messages.filter(({ path, json }) => path.endsWith(type) && isAbout(json.data.subject.id));
    expect(events, `after cause ${index + 1}`).toHaveLength(total);
  }
});
