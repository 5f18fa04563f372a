/** Tests how a person reviews the diff of an agent and sends the task back. */
import { agents } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import {
  addWorker,
  changeTask,
  headersOf,
  openTeamFixture,
  recordNotices,
  setRules,
  type StoredNotice,
  taskPath,
} from "../support/task-rules.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { base64 } from "./artifact-fixture.ts";

const { world, team, owner, worker, lead } = await setup(openTeamFixture());
let readNotices: () => Promise<StoredNotice[]>;

beforeEach(() => setRules(world, team));

const addInReview = async (): Promise<TaskRow> => {
  const task = await addTask(world, team, { title: "Sweep" });
  await changeTask(world, worker, task, { status: "in_progress" });
  await changeTask(world, worker, task, { status: "review", comment: "Finished, I think" });
  readNotices = await recordNotices(world, team);
  return task;
};
const addDiff = async (task: TaskRow): Promise<string> => {
  const body = { name: "fix.diff", content_type: "text/x-diff", content: base64("+a\n") };
  return (await world.call("POST", `${taskPath(team, task.id)}/artifacts`, { ...worker, body })).body.id;
};
const post = (task: TaskRow, body: object, who: object = owner) =>
  world.call("POST", `${taskPath(team, task.id)}/comments`, { ...who, body });
const sendBack = (task: TaskRow, body: object = {}, who: object = owner) =>
  world.call("POST", `${taskPath(team, task.id)}/send-back`, { ...who, body });

test("a comment points to a line of a diff and is returned with it", async () => {
  const task = await addInReview();
  const artifact_id = await addDiff(task);
  const anchor = { artifact_id, path: "src/a.ts", line: 12, side: "old" };
  const posted = await post(task, { content: "Why?", anchor });
  expect(posted.body.anchor).toEqual(anchor);
  const { items } = (await world.call("GET", `${taskPath(team, task.id)}/comments`, owner)).body;
  expect(items.map((comment: { anchor: unknown }) => comment.anchor)).toEqual([null, anchor]);
  const whole = await post(task, { content: "Nice", anchor: { artifact_id, path: "src/b.ts", line: 1 } });
  expect(whole.body.anchor).toEqual({ artifact_id, path: "src/b.ts", line: 1, side: "new" });
  expect((await post(task, { content: "All", anchor: { artifact_id } })).body.anchor).toMatchObject({ path: null, line: null });
});

test("an anchor in an artifact of another task, or a line without a path, is refused", async () => {
  const task = await addInReview();
  const elsewhere = await addDiff(await addInReview());
  const artifact_id = await addDiff(task);
  for (const anchor of [
    { artifact_id: elsewhere },
    { artifact_id: crypto.randomUUID() },
    { artifact_id, line: 1 },
    { artifact_id, path: "a.ts", side: "old" },
    { artifact_id, path: "a.ts", line: 0 },
  ])
    expect((await post(task, { content: "Why?", anchor })).status).toBe(422);
});

test("the message about a comment names the file and line that it points to", async () => {
  const task = await addTask(world, team, { assigned_agent_id: team.worker.id });
  const artifact_id = await addDiff(task);
  readNotices = await recordNotices(world, team);
  await post(task, { content: "Why?", anchor: { artifact_id, path: "src/a.ts", line: 12 } });
  const [notice] = await readNotices();
  expect(notice!.message).toContain(`\nAbout: src/a.ts, line 12 after the change, artifact ${artifact_id}\nComment:\n`);
});

test("a task that is sent back is in progress again for its agent, which gets one message with all comments of the review", async () => {
  const task = await addInReview();
  const artifact_id = await addDiff(task);
  await post(task, { content: "This leaks.", anchor: { artifact_id, path: "src/a.ts", line: 12 } });
  await post(task, { content: "Tests are missing." }, lead);
  const sent = await sendBack(task, { comment: "Please fix both." });
  expect(sent.body).toMatchObject({ status: "in_progress", assigned_agent_id: team.worker.id });
  const notices = (await readNotices()).filter(({ session_key }) => session_key === team.worker.session_key);
  expect(headersOf(notices)).toEqual([`${team.worker.session_key} CHANGES REQUESTED`]);
  const { message } = notices[0]!;
  expect(message).toMatch(/src\/a\.ts, line 12 after the change[^]*This leaks\.[^]*Tests are missing\.[^]*Please fix both\./);
  expect(message).not.toContain("Finished, I think");
});

test("of many comments, the message has the newest ones and says how many more are on the task", async () => {
  const task = await addInReview();
  for (let n = 1; n <= 52; n++) await post(task, { content: `Remark ${n} ${"x".repeat(200)}` });
  await sendBack(task, { comment: "Last word." });
  const [notice] = (await readNotices()).filter(({ message }) => message.includes("CHANGES REQUESTED"));
  const quoted = [...notice!.message.matchAll(/Remark (\d+) /g)].map(([, n]) => Number(n));
  const first = quoted[0]!;
  expect(quoted).toEqual(Array.from({ length: 52 - first + 1 }, (_, index) => first + index));
  expect(quoted.length).toBeGreaterThan(30);
  expect(notice!.message).toContain("Last word.");
  expect(notice!.message).toContain(`${first - 1} earlier comments are on the task.`);
});

test("a task that is not in review, or that no agent handed in, is not sent back", async () => {
  const waiting = await addTask(world, team);
  expect((await sendBack(waiting)).status).toBe(409);
  const unsubmitted = await addTask(world, team, { status: "review" });
  expect((await sendBack(unsubmitted)).status).toBe(409);
  const named = await sendBack(unsubmitted, { assigned_agent_id: team.worker.id });
  expect(named.body).toMatchObject({ status: "in_progress", assigned_agent_id: team.worker.id });
  expect((await sendBack(unsubmitted)).status).toBe(409);
});

test("a task whose agent is gone is sent back only to an agent that the request names", async () => {
  const leaver = await addWorker(world, team, "Leaver");
  const task = await addTask(world, team);
  await changeTask(world, { agent: leaver.token }, task, { status: "in_progress" });
  await changeTask(world, { agent: leaver.token }, task, { status: "review" });
  await world.db.delete(agents).where(eq(agents.id, leaver.id));
  const { status, body } = await sendBack(task);
  expect([status, body.detail]).toEqual([
    409,
    "The agent that handed in the task is no longer on the board. Name the agent that should do the work.",
  ]);
  const named = await sendBack(task, { assigned_agent_id: team.worker.id });
  expect(named.body).toMatchObject({ status: "in_progress", assigned_agent_id: team.worker.id });
});

test("the message about a task that a person sends back without a comment says that there is no comment, and names no lead", async () => {
  await sendBack(await addInReview());
  const [notice] = (await readNotices()).filter(({ message }) => message.includes("CHANGES REQUESTED"));
  expect(notice!.message).toContain(
    "\nRequested changes:\nChanges are requested, but there is no comment; ask in a comment on the task.\n",
  );
});
