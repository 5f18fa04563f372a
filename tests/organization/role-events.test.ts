import { activity_events } from "@board/core/schema/all-tables";
import { and, asc, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { createGuest, createInviteCalls, emailOf } from "./invite-calls.ts";
import { renew, setupWorld } from "../support/fixtures.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();

const home = renew(() => world.tenant(`home-${crypto.randomUUID()}`));
const guest = renew(() => createGuest(world));

const { call, accept, invite, userOf } = createInviteCalls("/organizations", () => ({ world, home }));
const setRole = (member_id: string, role: string) => call(home.owner, "PATCH", `/me/members/${member_id}`, { role });
const events = () =>
  world.db
    .select({ message: activity_events.message, user_id: activity_events.user_id, board_id: activity_events.board_id })
    .from(activity_events)
    .where(and(eq(activity_events.organization_id, home.organization_id), eq(activity_events.event_type, "member.role_changed")))
    .orderBy(asc(activity_events.seq));
const idOf = async (person: Person) => (await userOf(person)).id;

test("each change of a member's role is an event that names the member, both roles and who changed it", async () => {
  const member_id = await world.join(guest, home.organization_id, "member");
  for (const role of ["admin", "owner", "member"]) expect((await setRole(member_id, role)).status).toBe(200);
  const user_id = await idOf(home.owner);
  const roles = ["member to admin", "admin to owner", "owner to member"];
  expect(await events()).toEqual(
    roles.map((change) => ({ message: `Role of ${guest.subject} changed from ${change}.`, user_id, board_id: null })),
  );
});

test("a change of a role that changes nothing or is refused is not recorded as an event", async () => {
  const member_id = await world.join(guest, home.organization_id, "member");
  expect((await setRole(member_id, "member")).status).toBe(200);
  const own = (await call(home.owner, "GET", "/me/member")).body.id;
  expect((await setRole(own, "member")).status).toBe(422);
  expect(await events()).toEqual([]);
});

test("a role that an invite gives is an event that names the person who sent it", async () => {
  const joined = (await invite(emailOf(guest), { role: "admin" })).body;
  const other = await createGuest(world);
  const raised = (await invite(emailOf(other), { role: "owner" })).body;
  await world.join(other, home.organization_id, "member");
  expect((await accept(guest, joined.token)).status).toBe(200);
  expect((await accept(other, raised.token)).status).toBe(200);
  const by = `by an invite from ${home.owner.subject}`;
  expect(await events()).toEqual([
    { message: `Role of ${guest.subject} changed from none to admin ${by}.`, user_id: await idOf(guest), board_id: null },
    { message: `Role of ${other.subject} changed from member to owner ${by}.`, user_id: await idOf(other), board_id: null },
  ]);
});

test("an invite that does not raise the role of a member is not recorded as an event", async () => {
  const { token } = (await invite(emailOf(guest), { role: "member" })).body;
  await world.join(guest, home.organization_id, "admin");
  expect((await accept(guest, token)).status).toBe(200);
  expect(await events()).toEqual([]);
});

test("owners and admins see changes of roles in the activity list, and other members do not", async () => {
  const member_id = await world.join(guest, home.organization_id, "member");
  await setRole(member_id, "admin");
  const list = (person: Person) => world.call("GET", "/api/v1/activity", { token: person.token });
  const shown = {
    event_type: "member.role_changed",
    action: "updated",
    route_name: "activity",
    actor_id: await idOf(home.owner),
  };
  expect((await list(guest)).body.items).toContainEqual(expect.objectContaining(shown));
  await setRole(member_id, "member");
  expect((await list(guest)).status).toBe(403);
});
