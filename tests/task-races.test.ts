import { activity_events, task_dependencies } from "@board/core/db/schema";
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "./support/http.ts";
import {
  addCrew,
  circles,
  deadlocks,
  expectOnly,
  finishesOf,
  movesOf,
  openRaces,
  pick,
  readTask,
  scatter,
  type Send,
  some,
  statuses,
  times,
  worksInVain,
} from "./support/task-races.ts";
import { STATUSES } from "./support/task-rules.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;

const UNFINISHED = STATUSES.filter((status) => status !== "done");

beforeAll(async () => {
  const races = await openRaces();
  ({ world, home } = races);
  return races.close;
});

const codeOf = ({ body }: Answer) => body.detail.code;

describe("claiming", () => {
  const CLAIMS = [() => ({ status: "in_progress" }), (id: string) => ({ assigned_agent_id: id })];

  test.each([2, 20])("of %i agents that claim one task at once one gets it, and the others learn why not", async (size) => {
    const { workers, tasks: add, patch } = await addCrew(world, home, size);
    const codes = new Set<string>();
    for (const [round, task_id] of (await add(size === 2 ? 30 : 10)).entries()) {
      const claim = (index: number) => () => {
        const { id, token } = workers[index]!;
        return patch(task_id, pick(CLAIMS)(id), { agent: token });
      };
      const answers = await scatter(times(size, claim), round % 2 ? 25 : 0);
      const won = answers.flatMap(({ status }, index) => (status === 200 ? [workers[index]!.id] : []));
      expect(won).toEqual([(await readTask(world, task_id))!.assigned_agent_id]);
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        codes.add(codeOf(answer));
        expect(answer.status).toBe(codeOf(answer) === "task_already_claimed" ? 409 : 403);
      }
      expect((await movesOf(world, task_id)).length).toBeLessThanOrEqual(1);
    }
    expect(codes).toContain("task_already_claimed");
    expect(["task_already_claimed", "task_assignee_mismatch"]).toEqual(expect.arrayContaining([...codes]));
  });

  test("on one connection too", async () => {
    const embedded = await createWorld();
    try {
      const { workers, tasks: add, patch } = await addCrew(embedded, await embedded.tenant("embedded"), 2);
      for (const task_id of await add(3)) {
        const claims = workers.map(({ token }) => patch(task_id, { status: "in_progress" }, { agent: token }));
        const answers = (await Promise.all(claims)).toSorted((a, b) => a.status - b.status);
        expect(statuses(answers)).toEqual([200, 409]);
        expect(codeOf(answers[1]!)).toBe("task_already_claimed");
        expect((await readTask(embedded, task_id))!.assigned_agent_id).toBe(answers[0]!.body.assigned_agent_id);
      }
    } finally {
      await embedded.close();
    }
  });
});

describe("dependencies", () => {
  /** In a ring each task depends on the next one; what is not stored before is edited at once. */
  test.each([
    { size: 2, stored: [] as number[] },
    { size: 3, stored: [] },
    { size: 4, stored: [1, 3] },
  ])("of edits that together close a circle of $size tasks one is refused", async ({ size, stored }) => {
    const crew = await addCrew(world, home, 0);
    for (let round = 0; round < 20; round++) {
      const ring = await crew.tasks(size);
      const edit = (index: number) => () =>
        crew.patch(ring[index]!, { depends_on_task_ids: [ring[(index + 1) % size]] }, pick([crew.person, crew.lead]));
      for (const index of stored) await edit(index)();
      const edits = ring.flatMap((_, index) => (stored.includes(index) ? [] : [edit(index)]));
      const answers = await scatter(edits, round % 2 ? 10 : 0);
      expect(statuses(answers)).toEqual([...edits.slice(1).map(() => 200), 409]);
      const refused = answers.find(({ status }) => status === 409)!;
      expect(refused.text).toContain("Dependency cycle detected. Remove the cycle before saving.");
    }
    expect(await circles(world, crew.board_id)).toEqual([]);
  });

  test("no number of edits at once makes a circle", async () => {
    const crew = await addCrew(world, home, 0);
    for (let round = 0; round < 5; round++) {
      const ids = await crew.tasks(6);
      const edit = (index: number) => () => {
        const task_id = ids[index % ids.length]!;
        const others = ids.filter((id) => id !== task_id);
        return crew.patch(task_id, { depends_on_task_ids: some(others, 2) }, pick([crew.person, crew.lead]));
      };
      expectOnly(await scatter(times(24, edit), 20), [200, 409]);
    }
    expect(await world.db.$count(task_dependencies, eq(task_dependencies.board_id, crew.board_id))).toBeGreaterThan(0);
    expect(await circles(world, crew.board_id)).toEqual([]);
  });

  test("whatever starts, restarts, is made or is linked while its dependency is reopened does not go on without it", async () => {
    const crew = await addCrew(world, home, 2);
    const [first, second] = crew.workers as [(typeof crew.workers)[0], (typeof crew.workers)[0]];
    const outcomes = new Set<number>();
    for (let round = 0; round < 25; round++) {
      const [dependency] = (await crew.tasks(1, { status: "done" })) as [string];
      const [free, started, linked, working] = (await crew.tasks(4)) as [string, string, string, string];
      const [finished, over] = (await crew.tasks(2, { status: "done", assigned_agent_id: first.id })) as [string, string];
      const links = [free, started, working, finished, over].map((task_id) => ({ task_id, position: 0 }));
      const { board_id } = crew;
      await world.db
        .insert(task_dependencies)
        .values(links.map((link) => ({ ...link, board_id, depends_on_task_id: dependency })));
      await crew.patch(working, { status: "review" }, { agent: second.token });
      const answers = await scatter(
        [
          () => crew.patch(dependency, { status: pick(UNFINISHED) }),
          () => crew.patch(free, { assigned_agent_id: first.id }),
          () => crew.patch(started, { status: "in_progress" }, { agent: second.token }),
          () => crew.patch(finished, { status: "in_progress" }, { agent: first.token }),
          () => crew.patch(over, { status: "review", assigned_agent_id: second.id }, crew.lead),
          () => crew.patch(linked, { depends_on_task_ids: [dependency], assigned_agent_id: second.id }, crew.lead),
          () => crew.create({ title: "New", depends_on_task_ids: [dependency], assigned_agent_id: first.id }, crew.lead),
        ],
        round % 5 === 0 ? 0 : 30,
      );
      expectOnly(answers, [200, 409]);
      expect(answers[0]!.status).toBe(200);
      for (const { status } of answers) outcomes.add(status);
      expect(await worksInVain(world, board_id)).toEqual([]);
    }
    expect(outcomes).toEqual(new Set([200, 409]));
  });
});

describe("approvals", () => {
  test("a task is done only by an approval of the present work, whatever is decided and moved at once", async () => {
    const crew = await addCrew(world, home, 1, { require_approval_for_done: true });
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
        ...times(8, () => () => crew.patch(task_id, { status: "done" })),
        ...times(4, () => () => crew.patch(task_id, { status: pick(UNFINISHED) })),
        ...ids.flatMap((id) => ["approved", "rejected", "approved", "pending"].map((status) => () => crew.decide(id, status))),
        () => crew.ask([task_id], "C"),
      ];
      expectOnly(await scatter(work, 60), [200, 409]);
      const { all, unapproved } = await finishesOf(world, task_id);
      expect(unapproved).toBe(0);
      finished += all;
    }
    expect(finished).toBeGreaterThan(0);
  });
});

describe("everything at once", () => {
  test("every request is answered by the rules, what is stored makes sense, and nobody waits in a circle", async () => {
    const crew = await addCrew(world, home, 2);
    const before = await deadlocks(world);
    for (let round = 0; round < 4; round++) {
      const ids = await crew.tasks(7);
      const asked: string[] = [];
      const workers = crew.workers.map(({ token }) => ({ agent: token }));
      const manager = () => pick([crew.person, crew.lead]);
      const anybody = () => pick([crew.person, crew.lead, ...workers]);
      // Without an assignee: a lead may leave it to a task in the inbox that it makes wait.
      const links = () => ({ depends_on_task_ids: some(ids, 3), assigned_agent_id: null });
      const work: Send[] = [
        ...times(20, () => () => crew.patch(pick(ids), { status: pick(STATUSES) }, anybody())),
        ...times(10, () => () => crew.patch(pick(ids), { status: "done" })),
        ...times(15, () => () => crew.patch(pick(ids), links(), manager())),
        ...times(5, () => () => crew.patch(pick(ids), { dependencies: some(ids, 2), status: pick(STATUSES) })),
        ...times(5, () => () => crew.patch(pick(ids), { assigned_agent_id: pick(crew.workers).id }, manager())),
        ...times(5, () => () => crew.create({ title: "New", dependencies: some(ids, 3), status: pick(STATUSES) })),
        ...times(5, () => () => crew.comment(pick(ids), anybody())),
        ...times(10, () => async () => {
          const answer = await crew.ask(some(ids, 3));
          if (answer.status === 200) asked.push(answer.body.id);
          return answer;
        }),
        ...times(15, () => async () => {
          const id = pick(asked);
          return crew.decide(id ?? crypto.randomUUID(), pick(["approved", "rejected", "pending"]));
        }),
        ...times(2, () => () => crew.remove(pick(ids))),
      ];
      expectOnly(await scatter(work, 150), [200, 403, 404, 409, 422]);
      expect(await worksInVain(world, crew.board_id)).toEqual([]);
      expect(await circles(world, crew.board_id)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(before);
  });

  test("every move of a task is recorded once, in order, also those that others cause", async () => {
    const crew = await addCrew(world, home, 0);
    for (let round = 0; round < 8; round++) {
      const ids = await crew.tasks(3);
      const [dependency, dependent, other] = ids as [string, string, string];
      await crew.patch(dependent, { depends_on_task_ids: [dependency] });
      const work: Send[] = [
        ...times(20, () => () => crew.patch(other, { status: pick(STATUSES) })),
        ...times(6, () => () => crew.patch(dependent, { status: pick(["in_progress", "review", "blocked"]) })),
        ...times(8, () => () => crew.patch(dependency, { status: pick(["done", "done", "inbox"]) })),
      ];
      expectOnly(await scatter(work, 20), [200]);
      for (const id of ids) {
        const { status } = (await readTask(world, id))!;
        const path = ["inbox", ...(await movesOf(world, id)).map((move) => move.split(">")[1]!)];
        expect(await movesOf(world, id)).toEqual(path.slice(1).map((to, index) => `${path[index]}>${to}`));
        expect(path.at(-1)).toBe(status);
        const told = and(eq(activity_events.task_id, id), eq(activity_events.event_type, "task.status_changed"));
        expect(await world.db.$count(activity_events, told)).toBe(path.length - 1);
      }
    }
  });
});

test("a task can be moved and deleted while more and more tasks come to wait for it", async () => {
  const crew = await addCrew(world, home, 0);
  const [wanted] = (await crew.tasks(1)) as [string];
  let going = true;
  const writers = times(16, async () => {
    while (going) expect([200, 404]).toContain((await crew.create({ title: "Waits", depends_on_task_ids: [wanted] })).status);
  });
  const answers: Answer[] = [];
  for (const status of times(20, (index) => STATUSES[index % STATUSES.length]!))
    answers.push(await crew.patch(wanted, { status }));
  answers.push(await crew.remove(wanted));
  going = false;
  await Promise.all(writers);
  expectOnly(answers, [200]);
});
