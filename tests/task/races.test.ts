import { activity_events, task_dependencies } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import type { Answer } from "../support/http.ts";
import {
  addRaceBoard,
  listDependencyCycles,
  countDeadlocks,
  expectOnly,
  countCompletions,
  listMoves,
  openRaceFixture,
  pick,
  findTask,
  sendStaggered,
  type Send,
  randomSubset,
  statuses,
  createMany,
  listBlockedTasksInWork,
} from "../support/task-races.ts";
import { STATUSES } from "../support/task-rules.ts";
import { createWorld } from "../support/world.ts";

const UNFINISHED = STATUSES.filter((status) => status !== "done");

const { world, home } = await setup(openRaceFixture());

const codeOf = ({ body }: Answer) => body.detail.code;

describe("concurrent claims", () => {
  const CLAIMS = [() => ({ status: "in_progress" }), (id: string) => ({ assigned_agent_id: id })];

  test.each([2, 20])(
    "one of %i agents that claim a task at once gets it, and the others get 409 task_already_claimed",
    async (size) => {
      const { workers, tasks: add, patch } = await addRaceBoard(world, home, size);
      for (const [round, task_id] of (await add(size === 2 ? 30 : 10)).entries()) {
        const claim = (index: number) => () => {
          const { id, token } = workers[index]!;
          return patch(task_id, pick(CLAIMS)(id), { agent: token });
        };
        const answers = await sendStaggered(createMany(size, claim), round % 2 ? 25 : 0);
        const won = answers.flatMap(({ status }, index) => (status === 200 ? [workers[index]!.id] : []));
        expect(won).toEqual([(await findTask(world, task_id))!.assigned_agent_id]);
        for (const answer of answers.filter(({ status }) => status !== 200))
          expect([answer.status, codeOf(answer)]).toEqual([409, "task_already_claimed"]);
        expect((await listMoves(world, task_id)).length).toBeLessThanOrEqual(1);
      }
    },
  );

  test("one of two agents that claim a task at once gets it, also on a single database connection", async () => {
    const embedded = await createWorld();
    try {
      const { workers, tasks: add, patch } = await addRaceBoard(embedded, await embedded.tenant("embedded"), 2);
      for (const task_id of await add(3)) {
        const claims = workers.map(({ token }) => patch(task_id, { status: "in_progress" }, { agent: token }));
        const answers = (await Promise.all(claims)).toSorted((a, b) => a.status - b.status);
        expect(statuses(answers)).toEqual([200, 409]);
        expect(codeOf(answers[1]!)).toBe("task_already_claimed");
        expect((await findTask(embedded, task_id))!.assigned_agent_id).toBe(answers[0]!.body.assigned_agent_id);
      }
    } finally {
      await embedded.close();
    }
  });
});

describe("concurrent dependency edits", () => {
  /** In a ring, each task depends on the next one. Dependencies that are not in `stored` are added concurrently. */
  test.each([
    { size: 2, stored: [] as number[] },
    { size: 3, stored: [] },
    { size: 4, stored: [1, 3] },
  ])("one of the concurrent edits that would close a cycle of $size tasks is refused", async ({ size, stored }) => {
    const crew = await addRaceBoard(world, home, 0);
    for (let round = 0; round < 20; round++) {
      const ring = await crew.tasks(size);
      const edit = (index: number) => () =>
        crew.patch(ring[index]!, { depends_on_task_ids: [ring[(index + 1) % size]] }, pick([crew.person, crew.lead]));
      for (const index of stored) await edit(index)();
      const edits = ring.flatMap((_, index) => (stored.includes(index) ? [] : [edit(index)]));
      const answers = await sendStaggered(edits, round % 2 ? 10 : 0);
      expect(statuses(answers)).toEqual([...edits.slice(1).map(() => 200), 409]);
      const refused = answers.find(({ status }) => status === 409)!;
      expect(refused.text).toContain("Dependency cycle detected. Remove the cycle before saving.");
    }
    expect(await listDependencyCycles(world, crew.board_id)).toEqual([]);
  });

  test("many concurrent dependency edits create no cycle", async () => {
    const crew = await addRaceBoard(world, home, 0);
    for (let round = 0; round < 5; round++) {
      const ids = await crew.tasks(6);
      const edit = (index: number) => () => {
        const task_id = ids[index % ids.length]!;
        const others = ids.filter((id) => id !== task_id);
        return crew.patch(task_id, { depends_on_task_ids: randomSubset(others, 2) }, pick([crew.person, crew.lead]));
      };
      expectOnly(await sendStaggered(createMany(24, edit), 20), [200, 409]);
    }
    expect(await world.db.$count(task_dependencies, eq(task_dependencies.board_id, crew.board_id))).toBeGreaterThan(0);
    expect(await listDependencyCycles(world, crew.board_id)).toEqual([]);
  });

  test("a task that is started, restarted or created while its dependency is reopened does not stay assigned, in progress or in review", async () => {
    const crew = await addRaceBoard(world, home, 2);
    const [first, second] = crew.workers as [(typeof crew.workers)[0], (typeof crew.workers)[0]];
    const outcomes = new Set<number>();
    for (let round = 0; round < 25; round++) {
      const [dependency] = (await crew.tasks(1, { status: "done" })) as [string];
      const [free, started, linked, working] = (await crew.tasks(4)) as [string, string, string, string];
      const [finished, reviewed] = (await crew.tasks(2, { status: "done", assigned_agent_id: first.id })) as [string, string];
      const links = [free, started, working, finished, reviewed].map((task_id) => ({ task_id, position: 0 }));
      const { board_id } = crew;
      await world.db
        .insert(task_dependencies)
        .values(links.map((link) => ({ ...link, board_id, depends_on_task_id: dependency })));
      await crew.patch(working, { status: "review" }, { agent: second.token });
      const answers = await sendStaggered(
        [
          () => crew.patch(dependency, { status: pick(UNFINISHED) }),
          () => crew.patch(free, { assigned_agent_id: first.id }),
          () => crew.patch(started, { status: "in_progress" }, { agent: second.token }),
          () => crew.patch(finished, { status: "in_progress" }, { agent: first.token }),
          () => crew.patch(reviewed, { status: "review", assigned_agent_id: second.id }, crew.lead),
          () => crew.patch(linked, { depends_on_task_ids: [dependency], assigned_agent_id: second.id }, crew.lead),
          () => crew.create({ title: "New", depends_on_task_ids: [dependency], assigned_agent_id: first.id }, crew.lead),
        ],
        round % 5 === 0 ? 0 : 30,
      );
      expectOnly(answers, [200, 409]);
      expect(answers[0]!.status).toBe(200);
      // Reopening and the assignment by a person are always accepted. Of the others, some must win the race and some lose it.
      for (const { status } of answers.slice(2)) outcomes.add(status);
      expect(await listBlockedTasksInWork(world, board_id)).toEqual([]);
    }
    expect(outcomes).toEqual(new Set([200, 409]));
  });
});

describe("concurrent approvals", () => {
  test("a task is completed only with an approval of its current work, under concurrent decisions and moves", async () => {
    const crew = await addRaceBoard(world, home, 1, { require_approval_for_done: true });
    let finished = 0;
    for (let round = 0; round < 8; round++) {
      const [task_id] = (await crew.tasks(1)) as [string];
      const names = ["A", "B"];
      const ids: string[] = [];
      for (const name of names) {
        const { id } = (await crew.ask([task_id], name)).body;
        await crew.decide(id, "rejected");
        ids.push(id);
      }
      const work: Send[] = [
        ...createMany(8, () => () => crew.patch(task_id, { status: "done" })),
        ...createMany(4, () => () => crew.patch(task_id, { status: pick(UNFINISHED) })),
        ...ids.flatMap((id) => ["approved", "rejected", "approved", "pending"].map((status) => () => crew.decide(id, status))),
        () => crew.ask([task_id], "C"),
      ];
      expectOnly(await sendStaggered(work, 60), [200, 409]);
      const { all, unapproved } = await countCompletions(world, task_id);
      expect(unapproved).toBe(0);
      finished += all;
    }
    expect(finished).toBeGreaterThan(0);
  });
});

describe("concurrent requests of all kinds", () => {
  test("concurrent requests get documented statuses, leave consistent rows and cause no deadlock", async () => {
    const crew = await addRaceBoard(world, home, 2);
    const before = await countDeadlocks(world);
    for (let round = 0; round < 4; round++) {
      const ids = await crew.tasks(7);
      const asked: string[] = [];
      const workers = crew.workers.map(({ token }) => ({ agent: token }));
      const manager = () => pick([crew.person, crew.lead]);
      const anyone = () => pick([crew.person, crew.lead, ...workers]);
      // Unassigned, because a lead may not send an assignee for a task in the inbox that the same change blocks.
      const links = () => ({ depends_on_task_ids: randomSubset(ids, 3), assigned_agent_id: null });
      const work: Send[] = [
        ...createMany(20, () => () => crew.patch(pick(ids), { status: pick(STATUSES) }, anyone())),
        ...createMany(10, () => () => crew.patch(pick(ids), { status: "done" })),
        ...createMany(15, () => () => crew.patch(pick(ids), links(), manager())),
        ...createMany(5, () => () => crew.patch(pick(ids), { dependencies: randomSubset(ids, 2), status: pick(STATUSES) })),
        ...createMany(5, () => () => crew.patch(pick(ids), { assigned_agent_id: pick(crew.workers).id }, manager())),
        ...createMany(5, () => () => crew.create({ title: "New", dependencies: randomSubset(ids, 3), status: pick(STATUSES) })),
        ...createMany(5, () => () => crew.comment(pick(ids), anyone())),
        ...createMany(10, () => async () => {
          const answer = await crew.ask(randomSubset(ids, 3));
          if (answer.status === 200) asked.push(answer.body.id);
          return answer;
        }),
        ...createMany(15, () => async () => {
          const id = pick(asked);
          return crew.decide(id ?? crypto.randomUUID(), pick(["approved", "rejected", "pending"]));
        }),
        ...createMany(2, () => () => crew.remove(pick(ids))),
      ];
      expectOnly(await sendStaggered(work, 150), [200, 403, 404, 409, 422]);
      expect(await listBlockedTasksInWork(world, crew.board_id)).toEqual([]);
      expect(await listDependencyCycles(world, crew.board_id)).toEqual([]);
    }
    expect(await countDeadlocks(world)).toBe(before);
  });

  test("every move of a task is recorded once and in order, including moves caused by other tasks", async () => {
    const crew = await addRaceBoard(world, home, 0);
    for (let round = 0; round < 8; round++) {
      const ids = await crew.tasks(3);
      const [dependency, dependent, other] = ids as [string, string, string];
      await crew.patch(dependent, { depends_on_task_ids: [dependency] });
      const work: Send[] = [
        ...createMany(20, () => () => crew.patch(other, { status: pick(STATUSES) })),
        ...createMany(6, () => () => crew.patch(dependent, { status: pick(["in_progress", "review", "blocked"]) })),
        ...createMany(8, () => () => crew.patch(dependency, { status: pick(["done", "done", "inbox"]) })),
      ];
      expectOnly(await sendStaggered(work, 20), [200]);
      for (const id of ids) {
        const { status } = (await findTask(world, id))!;
        const path = ["inbox", ...(await listMoves(world, id)).map((move) => move.split(">")[1]!)];
        expect(await listMoves(world, id)).toEqual(path.slice(1).map((to, index) => `${path[index]}>${to}`));
        expect(path.at(-1)).toBe(status);
        const statusEvents = and(eq(activity_events.task_id, id), eq(activity_events.event_type, "task.status_changed"));
        expect(await world.db.$count(activity_events, statusEvents)).toBe(path.length - 1);
      }
    }
  });
});

test("a task can be moved and deleted while new tasks keep depending on it", async () => {
  const crew = await addRaceBoard(world, home, 0);
  const [dependency] = (await crew.tasks(1)) as [string];
  let running = true;
  const writers = createMany(16, async () => {
    while (running)
      expect([200, 404]).toContain((await crew.create({ title: "Waits", depends_on_task_ids: [dependency] })).status);
  });
  const answers: Answer[] = [];
  for (const status of createMany(20, (index) => STATUSES[index % STATUSES.length]!))
    answers.push(await crew.patch(dependency, { status }));
  answers.push(await crew.remove(dependency));
  running = false;
  await Promise.all(writers);
  expectOnly(answers, [200]);
});
