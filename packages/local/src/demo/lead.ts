import type { Task } from "@board/client/api";
import { ApiError } from "@board/client/error";
import { answerTo, flawOf } from "./knowledge.ts";
import { judge, type Plan, tagOf } from "./rules.ts";
import type { Agent } from "./setting.ts";
import { type Stage, wait } from "./stage.ts";
import { type Wake, wakes } from "./wake.ts";
import { appear, change, comment, lastWords, move, readTask, sendHeartbeat } from "./work.ts";

/** As much of a payload as the lead is willing to read. */
const MAX_CHARS = 1_500;
/** A model thinks for longer; this is for the eye. */
const THINKING_MS = 500;

/** The lead as it goes through the story. */
interface Mind {
  stage: Stage;
  me: Agent;
  /** It has learned that its board wants an approval before a task is done. */
  asks_first: boolean;
}

/** The lead sleeps until its gateway has a message for it, then takes a turn; one turn after the other. */
export async function playLead(stage: Stage, me: Agent): Promise<void> {
  const mind: Mind = { stage, me, asks_first: false };
  const waking = wakes(stage, me.session_key);
  await appear(stage, me);
  for await (const wake of waking) {
    await sendHeartbeat(me);
    if (wake) await takeTurn(mind, wake);
  }
}

async function takeTurn(mind: Mind, { header, payload, task_ids, decision }: Wake): Promise<void> {
  const { stage, me } = mind;
  if (payload) return readPost(mind, payload);
  // What comes with a task for review is read at the review.
  if (header === "NEW TASK COMMENT") return;
  await wait(stage, THINKING_MS);
  for (const id of task_ids) {
    const task = await readTask(me, id);
    if (header === "NEW TASK ADDED") await label(mind, task);
    if (header === "TASK MENTION") await comment(stage, me, id, answerTo(await lastWords(me, id)), "answers in");
    if (header === "TASK READY FOR LEAD REVIEW") await review(mind, task);
    if (header === "APPROVAL RESOLVED" && decision === "approved") await move(stage, me, task, "done");
    if (header === "APPROVAL RESOLVED" && decision === "rejected") await sendBack(mind, task, "not approved, find a cheaper way");
  }
}

async function readPost({ stage, me }: Mind, { id, webhook_id }: NonNullable<Wake["payload"]>): Promise<void> {
  const { screen, tally } = stage;
  const { payload } = await me.api.get("/api/v1/agent/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}", {
    params: { path: { board_id: me.board_id, webhook_id, payload_id: id }, query: { max_chars: MAX_CHARS } },
  });
  const length = typeof payload === "string" ? payload.length : JSON.stringify(payload).length;
  screen.tell(me.who, `reads ${length === MAX_CHARS ? "the first " : ""}${length} characters`);
  await wait(stage, THINKING_MS);
  const { tasks, note } = judge(payload);
  if (note) {
    await me.api.post("/api/v1/agent/boards/{board_id}/memory", {
      params: boardOf(me),
      body: { content: note.text, tags: [...note.tags, `payload:${id}`] },
    });
    tally.noted();
    screen.tell(me.who, `notes: ${note.text}`);
  }
  await makeTasks(stage, me, tasks, id);
  tally.handled(id);
}

const boardOf = ({ board_id }: Agent) => ({ path: { board_id } });

const listTags = (me: Agent) => me.api.get("/api/v1/agent/boards/{board_id}/tags", { params: boardOf(me) });

/** The payload is named in each, so that the work can be traced back to what caused it. */
async function makeTasks(stage: Stage, me: Agent, plans: Plan[], payload_id: string): Promise<void> {
  if (plans.length === 0) return;
  const { screen, tally } = stage;
  const fellows = (await me.api.get("/api/v1/agent/agents")).items;
  const tags = await listTags(me);
  let before: Task | undefined;
  for (const plan of plans) {
    const worker = fellows.find(({ name }) => name === plan.for);
    const task = await me.api.post("/api/v1/agent/boards/{board_id}/tasks", {
      params: boardOf(me),
      body: {
        title: plan.title,
        description: `${plan.description}\nPayload ${payload_id}`,
        priority: plan.priority,
        tag_ids: tags.filter(({ slug }) => plan.tags.includes(slug)).map(({ id }) => id),
        assigned_agent_id: worker?.id ?? null,
        depends_on_task_ids: plan.follows && before ? [before.id] : [],
      },
    });
    tally.seen(task, payload_id);
    const labels = [task.priority, ...task.tags.map(({ name }) => name)].join(", ");
    const whose = worker ? `for ${worker.name}` : task.is_blocked ? `after ${tally.numberOf(before!.id)}` : "free";
    screen.tell(me.who, `makes ${tally.numberOf(task.id)} ${task.title} (${labels}) ${whose}`);
    before = task;
  }
}

/** A person's task is sorted in. */
async function label({ stage, me }: Mind, task: Task): Promise<void> {
  const tag = (await listTags(me)).find(({ slug }) => slug === tagOf(task.title));
  if (!tag) return;
  await change(stage, me, task, { tag_ids: [tag.id] });
  stage.screen.tell(me.who, `tags ${stage.tally.numberOf(task.id)} with ${tag.name}`);
}

async function review(mind: Mind, task: Task): Promise<void> {
  const { stage, me } = mind;
  const result = await lastWords(me, task.id);
  const flaw = flawOf(task.title, result);
  if (flaw) return sendBack(mind, task, flaw);
  if (mind.asks_first) return askForApproval(mind, task, result);
  try {
    await move(stage, me, task, "done");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const number = stage.tally.numberOf(task.id);
    stage.screen.tell(me.who, `moves ${number} to done → ${error.status}, which is your rule at work:`, true);
    stage.screen.tell(me.who, error.message);
    mind.asks_first = true;
    await askForApproval(mind, task, result);
  }
}

/** The service itself gives it back to whoever handed it over. */
async function sendBack({ stage, me }: Mind, task: Task, why: string): Promise<void> {
  await move(stage, me, task, "inbox", why);
}

async function askForApproval({ stage, me }: Mind, task: Task, result: string): Promise<void> {
  const { screen, tally } = stage;
  await me.api.post("/api/v1/agent/boards/{board_id}/approvals", {
    params: boardOf(me),
    body: { action_type: "task.done", description: result, task_id: task.id, confidence: 90 },
  });
  tally.asked();
  screen.tell(me.who, `asks you to approve ${tally.numberOf(task.id)}: ${result}`);
}
