import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  changeTask,
  headersOf,
  link,
  noticesFrom,
  openTeam,
  readTask,
  setRules,
  STATUSES,
  type StoredNotice,
  taskPath,
  type Team,
  type Who,
} from "./support/task-rules.ts";
import { addTask, type TaskRow } from "./support/task.ts";
import type { World } from "./support/world.ts";

let world: World;
let team: Team;
let owner: Who;
let worker: Who;
let lead: Who;
let main: Who;
let told: () => Promise<StoredNotice[]>;

beforeAll(async () => {
  ({ world, team, owner, worker, lead, main } = await openTeam());
});
afterAll(() => world.close());
beforeEach(async () => {
  await setRules(world, team);
  told = await noticesFrom(world, team);
});

const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, team, { title: "Sweep", ...fields });
/** What the given task's change tells to whom, as session key and header. */
async function change(who: Who, task: TaskRow, body: object): Promise<string[]> {
  const since = await noticesFrom(world, team);
  await changeTask(world, who, task, body);
  return headersOf(await since());
}
async function create(who: Who, body: object): Promise<[TaskRow, StoredNotice[]]> {
  const since = await noticesFrom(world, team);
  const path = `/api/v1${"agent" in who ? "/agent" : ""}/boards/${team.board_id}/tasks`;
  const made = await world.call("POST", path, { ...who, body: { title: "Sweep", ...body } });
  if (made.status !== 200) throw new Error(made.text);
  return [await readTask(world, made.body.id), await since()];
}
const to = (one: { session_key: string }, ...headers: string[]) => headers.map((header) => `${one.session_key} ${header}`);
const lines = (header: string, status: string, task: TaskRow, ...more: unknown[]) => [
  header,
  "Board: home board",
  "Task: Sweep",
  `Task ID: ${task.id}`,
  `Status: ${status}`,
  ...more,
  "",
  expect.stringMatching(/^Take action: \S/),
];
const only = (notices: StoredNotice[]): StoredNotice => {
  expect(notices).toHaveLength(1);
  return notices[0]!;
};

describe("a new task", () => {
  test("of a person is told to the lead, of the lead to nobody", async () => {
    const [task, notices] = await create(owner, { description: " As it\nstands ", status: "blocked" });
    const notice = only(notices);
    expect(notice.message.split("\n")).toEqual(lines("NEW TASK ADDED", "blocked", task, "Description: As it stands"));
    expect(notice).toMatchObject({ session_key: team.lead.session_key, label: "Lead", deliver: false });
    const about = { board_id: team.board_id, task_id: task.id, agent_id: team.lead.id };
    expect(notice).toMatchObject({
      sent: { event_type: "task.lead_notified", ...about },
      failed: { event_type: "task.lead_notify_failed", ...about },
    });
    expect((await create(lead, {}))[1]).toEqual([]);
  });

  test("is told to whoever it is for", async () => {
    for (const status of STATUSES) {
      const [task, notices] = await create(lead, { status, assigned_agent_id: team.worker.id });
      const notice = only(notices);
      expect(notice.message.split("\n")).toEqual(lines("TASK ASSIGNED", status, task));
      const about = { board_id: team.board_id, task_id: task.id, agent_id: team.worker.id };
      expect(notice).toMatchObject({
        session_key: team.worker.session_key,
        sent: { event_type: "task.assignee_notified", ...about },
        failed: { event_type: "task.assignee_notify_failed", ...about },
      });
    }
    const headers = async (body: object) => headersOf((await create(owner, body))[1]);
    expect(await headers({ assigned_agent_id: team.main.id })).toEqual(
      [...to(team.lead, "NEW TASK ADDED"), ...to(team.main, "TASK ASSIGNED")].toSorted(),
    );
    expect(await headers({ assigned_agent_id: team.lead.id })).toEqual(to(team.lead, "NEW TASK ADDED", "TASK ASSIGNED"));
    expect(await headers({ assigned_agent_id: team.lead.id, status: "review" })).toEqual(
      to(team.lead, "NEW TASK ADDED", "TASK READY FOR LEAD REVIEW"),
    );
  });
});

describe("a new assignee", () => {
  test("is told, whoever assigned it and whatever the status", async () => {
    for (const status of STATUSES)
      for (const who of [owner, lead])
        expect(await change(who, await add({ status }), { assigned_agent_id: team.worker.id })).toEqual(
          to(team.worker, "TASK ASSIGNED"),
        );
    const taken = await add({ assigned_agent_id: team.worker.id, status: "in_progress" });
    expect(await change(owner, taken, { assigned_agent_id: team.second.id })).toEqual(to(team.second, "TASK ASSIGNED"));
    expect(await change(owner, taken, { assigned_agent_id: team.main.id })).toEqual(to(team.main, "TASK ASSIGNED"));
  });

  test("is not told of what it took itself, nor of what it had already", async () => {
    for (const [who, self] of [
      [worker, team.worker],
      [main, team.main],
    ] as const) {
      for (const status of ["in_progress", "blocked", "done"]) expect(await change(who, await add(), { status })).toEqual([]);
      expect(await change(who, await add(), { assigned_agent_id: self.id })).toEqual([]);
    }
    const held = await add({ assigned_agent_id: team.worker.id });
    for (const who of [owner, lead])
      expect(await change(who, held, { assigned_agent_id: team.worker.id, status: "in_progress" })).toEqual([]);
    expect(await change(owner, held, { title: "Mop", priority: "high", status: "done" })).toEqual([]);
  });

  test("that is the lead is asked to review what comes to review", async () => {
    const task = await add({ assigned_agent_id: team.worker.id, status: "in_progress" });
    await changeTask(world, worker, task, { status: "review" });
    const notice = only(await told());
    expect(notice.message.split("\n")).toEqual(lines("TASK READY FOR LEAD REVIEW", "review", task));
    expect(notice.message.split("\n").at(-1)).toContain("review the deliverables");
    expect(notice).toMatchObject({
      session_key: team.lead.session_key,
      sent: { event_type: "task.assignee_notified" },
      failed: { event_type: "task.assignee_notify_failed" },
    });
    expect(await change(owner, await add(), { status: "review" })).toEqual(to(team.lead, "TASK READY FOR LEAD REVIEW"));
    expect(await change(lead, await add(), { status: "review" })).toEqual([]);
    expect(await change(owner, await add(), { assigned_agent_id: team.lead.id })).toEqual(to(team.lead, "TASK ASSIGNED"));
    const other = await add({ status: "review", assigned_agent_id: team.lead.id });
    expect(await change(owner, other, { assigned_agent_id: team.worker.id })).toEqual(to(team.worker, "TASK ASSIGNED"));
  });
});

describe("a task that is free in the inbox again", () => {
  test("is told to the lead", async () => {
    const task = await add({ assigned_agent_id: team.worker.id, status: "in_progress", description: "D" });
    await changeTask(world, worker, task, { status: "inbox" });
    const notice = only(await told());
    expect(notice.message.split("\n")).toEqual(lines("TASK BACK IN INBOX", "inbox", task, "Description: D"));
    const about = { board_id: team.board_id, task_id: task.id, agent_id: team.lead.id };
    expect(notice).toMatchObject({
      session_key: team.lead.session_key,
      sent: { event_type: "task.lead_unassigned_notified", ...about },
      failed: { event_type: "task.lead_unassigned_notify_failed", ...about },
    });
  });

  test("is told from whichever status and assignee it came, unless the lead did it", async () => {
    const back = to(team.lead, "TASK BACK IN INBOX");
    for (const status of STATUSES.filter((one) => one !== "inbox"))
      for (const assigned_agent_id of [null, team.worker.id])
        for (const [who, wanted] of [
          [owner, back],
          [worker, back],
          [lead, []],
        ] as const)
          expect(await change(who, await add({ status, assigned_agent_id }), { status: "inbox" })).toEqual(wanted);
    const held = { assigned_agent_id: team.worker.id };
    expect(await change(owner, await add(held), { assigned_agent_id: null })).toEqual(back);
    expect(await change(lead, await add(held), { assigned_agent_id: null })).toEqual([]);
  });

  test("is not told when it was one before, is somebody's, or is free elsewhere", async () => {
    expect(await change(owner, await add(), { title: "Mop" })).toEqual([]);
    expect(await change(owner, await add(), { status: "in_progress" })).toEqual([]);
    const held = { assigned_agent_id: team.worker.id, status: "in_progress" } as const;
    expect(await change(owner, await add(held), { assigned_agent_id: null })).toEqual([]);
    expect(await change(owner, await add(held), { status: "inbox", assigned_agent_id: team.second.id })).toEqual(
      to(team.second, "TASK ASSIGNED"),
    );
  });

  test("is told when a person's change put it there because it waits", async () => {
    const task = await add({ assigned_agent_id: team.worker.id, status: "in_progress" });
    await link(world, task, [await add()]);
    expect(await change(owner, task, { assigned_agent_id: team.second.id })).toEqual(to(team.lead, "TASK BACK IN INBOX"));
  });
});

describe("work sent back by the lead", () => {
  const handed = async () => {
    const task = await add({ description: "D" });
    await changeTask(world, worker, task, { status: "in_progress" });
    await changeTask(world, worker, task, { status: "review", comment: "Finished, I think" });
    told = await noticesFrom(world, team);
    return task;
  };
  const post = (who: Who, task: TaskRow, content: string) =>
    world.call("POST", `${taskPath(team, task.id)}/comments`, { ...who, body: { content } });
  /** What the worker is told. */
  const textOf = (notices: StoredNotice[]) =>
    notices.filter(({ message }) => message.startsWith("CHANGES REQUESTED\n")).map(({ message }) => message.split("\n"));
  const quoted = (...said: string[]) => [
    expect.stringMatching(/^--- BEGIN MESSAGE [0-9a-f]{16} ---$/),
    ...said,
    expect.stringMatching(/^--- END MESSAGE [0-9a-f]{16} ---$/),
  ];
  const requested = (task: TaskRow, ...said: unknown[]) =>
    lines("CHANGES REQUESTED", "inbox", task, "Description: D", "Requested changes:", ...said);

  test("is told to whoever did it, with the lead's comment", async () => {
    const task = await handed();
    await changeTask(world, lead, task, { status: "inbox", comment: "The corners,\nplease" });
    const rework = (await told()).filter(({ message }) => message.startsWith("CHANGES REQUESTED\n"));
    expect(textOf(rework)).toEqual([requested(task, ...quoted("The corners,", "please"))]);
    const about = { board_id: team.board_id, task_id: task.id, agent_id: team.worker.id };
    expect(only(rework)).toMatchObject({
      session_key: team.worker.session_key,
      sent: { event_type: "task.rework_notified", ...about },
      failed: { event_type: "task.rework_notify_failed", ...about },
    });
  });

  test("quotes the last thing that the lead said in this review, and nobody else", async () => {
    const task = await handed();
    await post(lead, task, "Looking");
    await post(lead, task, "The corners");
    await post(worker, task, "Which ones?");
    await post(owner, task, "All of them");
    await changeTask(world, lead, task, { status: "inbox" });
    expect(textOf(await told())).toEqual([requested(task, ...quoted("The corners"))]);
  });

  test("does not quote an earlier review, and says so when this one said nothing", async () => {
    const task = await handed();
    await changeTask(world, lead, task, { status: "inbox", comment: "The corners" });
    await changeTask(world, worker, task, { status: "in_progress" });
    await changeTask(world, worker, task, { status: "review" });
    told = await noticesFrom(world, team);
    await changeTask(world, lead, task, { status: "inbox" });
    expect(textOf(await told())).toEqual([requested(task, expect.stringMatching(/^\w.* no comment/))]);
    expect(headersOf(await told())).toEqual(to(team.worker, "CHANGES REQUESTED"));
  });

  test("is told once, also to a worker that had kept the task", async () => {
    const task = await handed();
    await changeTask(world, owner, task, { assigned_agent_id: team.worker.id });
    expect(await change(lead, task, { status: "inbox" })).toEqual(to(team.worker, "CHANGES REQUESTED"));
  });

  test("by a person is an ordinary assignment, and for nobody it is told to nobody", async () => {
    const given = { status: "inbox", assigned_agent_id: team.worker.id };
    expect(await change(owner, await handed(), given)).toEqual(to(team.worker, "TASK ASSIGNED"));
    expect(await change(lead, await add({ status: "review" }), { status: "inbox" })).toEqual([]);
    expect(await change(lead, await handed(), { status: "in_progress", assigned_agent_id: team.worker.id })).toEqual(
      to(team.worker, "TASK ASSIGNED"),
    );
  });
});

describe("a comment with a change", () => {
  test("is told as a posted one is: to whom it mentions, else to the assignee, never to its author", async () => {
    const held = { assigned_agent_id: team.worker.id, status: "in_progress" } as const;
    expect(await change(owner, await add(held), { comment: "Well?" })).toEqual(to(team.worker, "NEW TASK COMMENT"));
    expect(await change(owner, await add(held), { comment: "@second: well?", title: "Mop" })).toEqual(
      to(team.second, "TASK MENTION"),
    );
    expect(await change(worker, await add(held), { comment: "Well", status: "in_progress" })).toEqual([]);
    expect(await change(worker, await add(held), { comment: "There", status: "review" })).toEqual(
      to(team.lead, "NEW TASK COMMENT", "TASK READY FOR LEAD REVIEW"),
    );
    expect(await change(owner, await add(), { comment: "Yours", assigned_agent_id: team.second.id })).toEqual(
      to(team.second, "NEW TASK COMMENT", "TASK ASSIGNED"),
    );
  });
});

test("what is told of a task stays in its lines and is cut", async () => {
  const rude = { title: "one\u2028two", description: `a\r\nb\tc${"x".repeat(600)}` };
  const [, notices] = await create(owner, rude);
  const text = only(notices).message.split("\n");
  expect([text.length, text[2]]).toEqual([8, "Task: one two"]);
  expect(text[5]).toMatch(/^Description: a b cx+\.\.\.$/);
  expect(text[5]!.length).toBeLessThanOrEqual("Description: ".length + 500);
  expect(only((await create(owner, { description: " \n " }))[1]).message).not.toContain("Description");
});
