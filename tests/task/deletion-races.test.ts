import { setTimeout as pause } from "node:timers/promises";
import {
  activity_events,
  approvals,
  boards,
  tag_assignments,
  tags,
  task_dependencies,
  task_transitions,
  tasks,
} from "@board/core/schema/all-tables";
import { and, eq, inArray, isNull } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Answer } from "../support/http.ts";
import {
  addRaceBoard,
  expectOnly,
  openRaceFixture,
  pick,
  findTask,
  sendStaggered,
  type Send,
  randomSubset,
  statuses,
  createMany,
} from "../support/task-races.ts";
import { STATUSES } from "../support/task-rules.ts";
import { setup } from "../support/fixtures.ts";

const { world, home } = await setup(openRaceFixture());

test("a task deleted during changes, comments and approval requests is gone with all its records", async () => {
  const crew = await addRaceBoard(world, home, 1);
  for (let round = 0; round < 15; round++) {
    const [gone, other, dependent] = (await crew.tasks(3)) as [string, string, string];
    const [another] = (await crew.tasks(1)) as [string];
    await crew.patch(dependent, { depends_on_task_ids: [gone] });
    const { id: approval_id } = (await crew.ask([gone, other])).body;
    const answers = await sendStaggered(
      [
        () => crew.remove(gone),
        () => crew.patch(gone, { title: "Changed", comment: "Changed" }),
        () => crew.patch(gone, { status: "done" }),
        () => crew.patch(gone, { status: "in_progress", comment: "Mine" }, { agent: crew.workers[0]!.token }),
        () => crew.patch(another, { depends_on_task_ids: [gone] }),
        () => crew.create({ title: "New", dependencies: [gone] }),
        () => crew.decide(approval_id, "approved"),
        () => crew.ask([another, gone]),
        ...createMany(6, () => () => crew.comment(gone)),
      ],
      30,
    );
    expectOnly(answers, [200, 404, 409]);
    expect([answers[0]!.status, answers[6]!.status]).toEqual([200, 200]);
    expect(await findTask(world, gone)).toBeUndefined();
    const [approval] = await world.db.select().from(approvals).where(eq(approvals.id, approval_id));
    expect(approval).toMatchObject({ status: "approved", task_id: other });
  }
  const ofNoTask = and(eq(activity_events.board_id, crew.board_id), isNull(activity_events.task_id));
  expect(await world.db.$count(activity_events, and(ofNoTask, eq(activity_events.event_type, "task.comment")))).toBe(0);
  expect(await world.db.$count(activity_events, and(ofNoTask, eq(activity_events.event_type, "task.deleted")))).toBe(15);
  const removals = and(eq(task_transitions.board_id, crew.board_id), isNull(task_transitions.to_status));
  expect(await world.db.$count(task_transitions, removals)).toBe(15);
});

test("tasks of a dependency chain are deleted at once without deadlock, while others on the chain move", async () => {
  const crew = await addRaceBoard(world, home, 0);
  for (let round = 0; round < 15; round++) {
    const chain = await crew.tasks(6);
    if (round % 2) chain.reverse();
    const links = chain.slice(1).map((task_id, index) => ({ task_id, depends_on_task_id: chain[index]!, position: 0 }));
    await world.db.insert(task_dependencies).values(links.map((link) => ({ ...link, board_id: crew.board_id })));
    const [kept, ...others] = chain as [string, ...string[]];
    const moves = ["done", "inbox"].map((status) => () => crew.patch(kept, { status }));
    expect(statuses(await sendStaggered([...others.map((id) => () => crew.remove(id)), ...moves], 20))).toEqual(
      Array(7).fill(200),
    );
  }
});

test("a tag that is deleted while it is added to tasks is removed from all tasks or reported missing", async () => {
  const crew = await addRaceBoard(world, home, 0);
  const { organization_id } = home;
  for (let round = 0; round < 10; round++) {
    const rows = createMany(2, (index) => ({
      organization_id,
      name: `Tag ${index}`,
      slug: crypto.randomUUID(),
      color: "000000",
    }));
    const [removedTag, kept] = (await world.db.insert(tags).values(rows).returning()).map(({ id }) => id) as [string, string];
    const ids = await crew.tasks(3);
    for (const id of ids.slice(1)) await crew.patch(id, { tag_ids: [removedTag] });
    const lists = [[kept, removedTag], [kept], [removedTag, kept]];
    const changes = ids.flatMap((id) => lists.map((tag_ids) => () => crew.patch(id, { tag_ids })));
    const removal = () => world.call("DELETE", `/api/v1/tags/${removedTag}`, crew.person);
    const [removed, ...answers] = await sendStaggered([removal, ...changes], 30);
    expect(removed!.status).toBe(200);
    for (const { status, body } of answers)
      expect([status, body.detail?.missing_tag_ids]).toEqual(status === 200 ? [200, undefined] : [404, [removedTag]]);
    const assigned = await world.db.select().from(tag_assignments).where(inArray(tag_assignments.task_id, ids));
    expect(assigned.map(({ tag_id }) => tag_id)).toEqual(ids.map(() => kept));
  }
});

test("deleting a board while its tasks are worked on deletes everything and causes no server error", async () => {
  for (let round = 1; round <= 5; round++) {
    const crew = await addRaceBoard(world, home, 1);
    const ids = await crew.tasks(5);
    const worker = { agent: crew.workers[0]!.token };
    const work: Send[] = [
      () => crew.patch(pick(ids), { status: pick(STATUSES) }),
      () => crew.patch(pick(ids), { depends_on_task_ids: randomSubset(ids, 2) }, crew.lead),
      () => crew.patch(pick(ids), { status: "in_progress", comment: "Mine" }, worker),
      () => crew.create({ title: "New", dependencies: randomSubset(ids, 2) }, crew.lead),
      () => crew.create({ title: "New", status: "done" }),
      () => crew.comment(pick(ids), worker),
      () => crew.remove(pick(ids)),
      () => crew.ask(randomSubset(ids, 2)),
    ];
    let running = true;
    const answers: Answer[] = [];
    const workers = work.map(async (send) => {
      while (running) answers.push(await send());
    });
    await pause(round * 40);
    const removed = await world.call("DELETE", `/api/v1/boards/${crew.board_id}`, crew.person);
    await pause(30);
    running = false;
    await Promise.all(workers);
    expect(removed.status).toBe(200);
    // Tokens of agents of a deleted board are refused.
    expectOnly(answers, [200, 401, 403, 404, 409, 422]);
    for (const table of [tasks, task_transitions, task_dependencies, activity_events, approvals])
      expect(await world.db.$count(table, eq(table.board_id, crew.board_id))).toBe(0);
    expect(await world.db.$count(boards, eq(boards.id, crew.board_id))).toBe(0);
  }
});
