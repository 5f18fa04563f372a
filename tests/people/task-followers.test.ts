import { organization_members, users } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();
const home = renew((n) => world.tenant(`tenant ${n}`));

const pathOf = (task_id: string) => `/api/v1/boards/${home.board_id}/tasks/${task_id}`;
const named = async (subject: string, preferred_name: string): Promise<Person> => {
  const person = await world.member(`${subject} of ${home.organization_id}`, home, "member", { read: true, write: true });
  const done = await world.call("PATCH", "/api/v1/users/me", { token: person.token, body: { preferred_name } });
  expect(done.status).toBe(200);
  return person;
};
const follow = (person: Person, task_id: string, method: "PUT" | "DELETE" = "PUT") =>
  world.call(method, `${pathOf(task_id)}/follow`, { token: person.token });
const read = async (task_id: string) => {
  const { status, body } = await world.call("GET", `${pathOf(task_id)}/followers`, { token: home.owner.token });
  expect(status).toBe(200);
  return [body.total, body.followers.map(({ name }: { name: string }) => name)];
};

test("the followers of a task are its creator, its commenters and people who follow it, by name, without people who stopped", async () => {
  const [zoe, ann, bob] = [await named("zoe", "Zoë"), await named("ann", "ann"), await named("bob", "Bob")];
  const made = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { token: bob.token, body: { title: "Paint" } });
  const task_id: string = made.body.id;
  expect(await read(task_id)).toEqual([1, ["Bob"]]);
  await follow(zoe, task_id);
  await world.call("POST", `${pathOf(task_id)}/comments`, { token: ann.token, body: { content: "Which colour?" } });
  await world.call("POST", `${pathOf(task_id)}/comments`, { agent: home.worker.token, body: { content: "Blue" } });
  expect(await read(task_id)).toEqual([3, ["ann", "Bob", "Zoë"]]);
  await follow(bob, task_id, "DELETE");
  expect(await read(task_id)).toEqual([2, ["ann", "Zoë"]]);
  // A person who follows the board is notified about all its tasks, and is not listed as a follower of each task.
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: bob.token });
  expect(await read(task_id)).toEqual([2, ["ann", "Zoë"]]);
});

test("people who lost access to the board, and keys, are not among the followers of a task", async () => {
  const { id: task_id } = await addTask(world, home);
  const gone = await named("gone", "Gone");
  await follow(gone, task_id);
  const key = await world.call("POST", "/api/v1/keys", { token: home.owner.token, body: { name: "Program", access: "write" } });
  const said = await world.call("POST", `${pathOf(task_id)}/comments`, { token: key.body.key, body: { content: "Hello" } });
  expect(said.status).toBe(200);
  expect(await read(task_id)).toEqual([1, ["Gone"]]);
  const [user] = await world.db.select().from(users).where(eq(users.auth_subject, gone.subject));
  await world.db
    .update(organization_members)
    .set({ all_boards_read: false, all_boards_write: false })
    .where(and(eq(organization_members.user_id, user!.id), eq(organization_members.organization_id, home.organization_id)));
  expect(await read(task_id)).toEqual([0, []]);
});

test("at most 50 followers are listed, and all are counted", async () => {
  const { id: task_id } = await addTask(world, home);
  for (let n = 0; n < 52; n++) await follow(await named(`p${n}`, `Person ${n}`), task_id);
  const [total, names] = await read(task_id);
  expect([total, names.length]).toEqual([52, 50]);
});
