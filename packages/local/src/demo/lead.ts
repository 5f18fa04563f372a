import type { InboxMessage } from "@board/client/api";
import { createClient } from "@board/client/client";
import { ApiError } from "@board/client/error";
import type { Demo } from "./demo.ts";
import { ANSWER, findFlaw, judge, type TaskPlan } from "./judgement.ts";
import type { DemoBoard } from "./set-up.ts";

/** A short pause, so that the log can be followed. A model would take longer. */
const THINKING_MS = 500;
const BOARD = "/api/v1/agent/boards/{board_id}";
const TASK = `${BOARD}/tasks/{task_id}` as const;

/** Runs the lead, which reads its inbox with the typed client and acknowledges each message once it is handled. */
export async function runLead(demo: Demo, { board_id, agents, tag_ids }: DemoBoard): Promise<never> {
  const api = createClient({ url: demo.url, agent_token: agents.Iris.token, signal: demo.signal });
  const board = { path: { board_id } };
  const taskOf = (task_id: string) => ({ path: { board_id, task_id } });
  const say = (what: string, strong?: boolean) => demo.say("Iris", what, strong);
  /** Set once the lead has learned that tasks need an approval before they are done. */
  let knows_rule = false;

  async function handlePayload(text: string): Promise<void> {
    // The service writes the ids into lines that come before the sender's text.
    const idAfter = (pattern: RegExp) => pattern.exec(text)![1]!;
    const path = { board_id, webhook_id: idAfter(/^Webhook ID: (\S+)$/m), payload_id: idAfter(/^Payload ID: (\S+)$/m) };
    const post = demo.posts.get(path.payload_id)!;
    say(`reads the ${post.subject}, ${((performance.now() - post.at) / 1000).toFixed(1)} s after the post`);
    const { payload } = await api.get(`${BOARD}/webhooks/{webhook_id}/payloads/{payload_id}`, { params: { path } });
    const judgement = judge(typeof payload === "string" ? payload : JSON.stringify(payload));
    if (typeof judgement === "string") {
      await api.post(`${BOARD}/memory`, { params: board, body: { content: `${post.subject}: ${judgement}` } });
      say(`notes: ${judgement}`);
    } else await createTasks(judgement, path.payload_id);
    post.handled++;
  }

  /** Creates tasks whose descriptions name the payload, so that work can be traced back to its cause. */
  async function createTasks(plans: TaskPlan[], payload_id: string): Promise<void> {
    let previous: string | undefined;
    for (const { title, tags, worker, waits_for_previous } of plans) {
      const body = {
        title,
        description: `Payload ${payload_id}`,
        priority: worker ? "high" : "medium",
        tag_ids: tags.map((tag) => tag_ids[tag]),
        assigned_agent_id: worker ? agents[worker].id : null,
        depends_on_task_ids: waits_for_previous && previous ? [previous] : [],
      };
      const { id } = await api.post(`${BOARD}/tasks`, { params: board, body });
      const order = waits_for_previous && previous ? ` after ${demo.label(previous)}` : "";
      say(`creates ${demo.label(id)} ${title} (${body.priority}, ${tags.join(", ")}) for ${worker ?? "any worker"}${order}`);
      previous = id;
    }
  }

  async function finish(task_id: string): Promise<void> {
    await api.patch(TASK, { params: taskOf(task_id), body: { status: "done" } });
    demo.done_tasks++;
    say(`moves ${demo.label(task_id)} to done`, true);
  }

  async function sendBack(task_id: string, comment: string): Promise<void> {
    await api.patch(TASK, { params: taskOf(task_id), body: { status: "inbox", comment } });
    say(`moves ${demo.label(task_id)} to inbox: ${comment}`);
  }

  async function review(task_id: string): Promise<void> {
    const { comments } = await api.get(TASK, { params: taskOf(task_id) });
    const result = comments.at(-1)?.content ?? "";
    const flaw = findFlaw(result);
    if (flaw) return sendBack(task_id, flaw);
    if (!knows_rule) {
      const refusal: unknown = await finish(task_id).catch((error: unknown) => error);
      if (!(refusal instanceof ApiError)) throw refusal;
      say(`moves ${demo.label(task_id)} to done → ${refusal.status}, because of your rule: ${refusal.message}`, true);
      knows_rule = true;
    }
    const body = { action_type: "task.done", description: result, task_id, confidence: 90 };
    await api.post(`${BOARD}/approvals`, { params: board, body });
    say(`asks you to approve ${demo.label(task_id)}: ${result}`);
  }

  async function answer(task_id: string): Promise<void> {
    await api.post(`${TASK}/comments`, { params: taskOf(task_id), body: { content: ANSWER } });
    say(`answers in ${demo.label(task_id)}: ${ANSWER}`);
  }

  async function handle({ kind, text, task_id: id }: InboxMessage): Promise<void> {
    if (kind === "webhook.received") return handlePayload(text);
    if (id === null) return;
    if (kind === "task.mention") return answer(id);
    if (kind === "task.review") return review(id);
    if (kind === "task.returned") return say(`learns that ${demo.label(id)} is free again: its lease has ended`, true);
    if (kind !== "approval.resolved") return;
    return /^Decision: approved$/m.test(text) ? finish(id) : sendBack(id, "not approved, find a cheaper way");
  }

  for (;;) {
    const { messages } = await api.get("/api/v1/agent/inbox", { params: { query: { wait: 20 } } });
    // A message that was not acknowledged is returned again by the next call.
    const [message] = demo.lead_is_offline ? [] : messages;
    if (message) {
      await demo.wait(THINKING_MS);
      await handle(message);
      await api.post("/api/v1/agent/inbox/ack", { body: { through: message.id } });
    }
    // While a task is in review, the inbox answers at once, so the lead pauses here.
    else await demo.wait(THINKING_MS);
  }
}
