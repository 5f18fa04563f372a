import { expect, test } from "vitest";
import { decideApproval, requestApproval } from "../support/approval.ts";
import { setupWorld } from "../support/fixtures.ts";
import type { Person, Tenant } from "../support/world.ts";

const world = await setupWorld();
const MINUTE_MS = 60_000;

interface Team {
  home: Tenant;
  watcher: Person;
  admin: Person;
}

/** Adds a board with a person who follows it, its creator, and another admin. */
async function addTeam(name: string, escalate_after_minutes: number | null = 30): Promise<Team> {
  const home = await world.tenant(name);
  const watcher = await world.member(`${name}-watcher`, home, "member", { write: true });
  const admin = await world.member(`${name}-admin`, home, "admin", { write: true });
  await send("PUT", `/api/v1/boards/${home.board_id}/follow`, watcher);
  await send("DELETE", `/api/v1/boards/${home.board_id}/follow`, home.owner);
  await send("PATCH", `/api/v1/boards/${home.board_id}`, home.owner, { escalate_after_minutes });
  return { home, watcher, admin };
}

async function send(method: string, path: string, { token }: Person, body?: object): Promise<void> {
  const answer = await world.call(method, path, { token, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBe(200);
}

const countAsked = async ({ token }: Person): Promise<number> =>
  (await world.call("GET", "/api/v1/users/me/inbox", { token })).body.items.filter(({ type }: { type: string }) =>
    ["approval.requested", "question.asked"].includes(type),
  ).length;

/** Lets time pass, and returns how often the follower, the board's creator and the admin were asked. */
async function countsAfter({ home, watcher, admin }: Team, minutes: number): Promise<number[]> {
  world.elapse(minutes * MINUTE_MS);
  await world.drain();
  return [await countAsked(watcher), await countAsked(home.owner), await countAsked(admin)];
}

test("an approval that nobody decides goes to one group of people after the other, and to each group once", async () => {
  const team = await addTeam("slow");
  await requestApproval(world, team.home);
  expect(await countsAfter(team, 0)).toEqual([1, 0, 0]);
  expect(await countsAfter(team, 29)).toEqual([1, 0, 0]);
  expect(await countsAfter(team, 2)).toEqual([1, 1, 0]);
  expect(await countsAfter(team, 31)).toEqual([1, 1, 1]);
  expect(await countsAfter(team, 300)).toEqual([1, 1, 1]);
});

test("a question that nobody answers also goes to the next group of people", async () => {
  const team = await addTeam("asked");
  await requestApproval(world, team.home, { action_type: "question", text: "Blue or green?", options: ["Blue", "Green"] });
  await countsAfter(team, 0);
  expect(await countsAfter(team, 31)).toEqual([1, 1, 0]);
});

test("a group is skipped if everybody in it was asked before", async () => {
  const team = await addTeam("overlap");
  await send("PUT", `/api/v1/boards/${team.home.board_id}/follow`, team.home.owner);
  await requestApproval(world, team.home);
  expect(await countsAfter(team, 0)).toEqual([1, 1, 0]);
  expect(await countsAfter(team, 31)).toEqual([1, 1, 1]);
});

test("a decided approval goes to no further group, and a reopened one starts with the first group again", async () => {
  const team = await addTeam("decided");
  const { id } = await requestApproval(world, team.home);
  await countsAfter(team, 0);
  expect((await decideApproval(world, team.home, id, "approved")).status).toBe(200);
  expect(await countsAfter(team, 20)).toEqual([1, 0, 0]);
  expect((await decideApproval(world, team.home, id, "pending")).status).toBe(200);
  expect(await countsAfter(team, 15)).toEqual([2, 0, 0]);
  expect(await countsAfter(team, 16)).toEqual([2, 0, 0]);
  // The person who reopened it is not asked, so the admin is the next.
  expect(await countsAfter(team, 16)).toEqual([2, 0, 1]);
});

test("a board without escalation asks no further group, even if escalation is switched off while an approval waits", async () => {
  const off = await addTeam("off", null);
  const switched = await addTeam("switched");
  for (const { home } of [off, switched]) await requestApproval(world, home);
  await world.drain();
  await send("PATCH", `/api/v1/boards/${switched.home.board_id}`, switched.home.owner, { escalate_after_minutes: null });
  for (const team of [off, switched]) expect(await countsAfter(team, 120)).toEqual([1, 0, 0]);
});

test("other alerts of the organization are sent while an escalation waits", async () => {
  const team = await addTeam("busy");
  await requestApproval(world, team.home);
  await countsAfter(team, 0);
  await requestApproval(world, team.home);
  expect(await countsAfter(team, 1)).toEqual([2, 0, 0]);
});

test.each([0, -1, 43_201, 1.5, "soon"])("a board cannot escalate after %s minutes", async (escalate_after_minutes) => {
  const home = await world.tenant(`refused ${escalate_after_minutes}`);
  const { token } = home.owner;
  const answer = await world.call("PATCH", `/api/v1/boards/${home.board_id}`, { token, body: { escalate_after_minutes } });
  expect(answer.status).toBe(422);
});
