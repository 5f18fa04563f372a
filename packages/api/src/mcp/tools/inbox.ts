import { type Agent, agent } from "@board/core/context/actor";
import { authorText } from "@board/core/context/author";
import { acknowledge, getInbox, Inbox, InboxQuery } from "@board/core/inbox/inbox";
import { COMMENTS, TakeNextTask, takeNextTask } from "@board/core/task/lease/next";
import { HeldLease } from "@board/core/task/lease/lease";
import { Id } from "@board/core/values/wire";
import * as z from "zod";
import { AuthorView } from "../author-view.ts";
import { CommentView, commentsText, moreComments, toCommentView } from "../comment-view.ts";
import { fenced } from "../fenced.ts";
import { beginningOfMessage, cutMessage } from "../limits.ts";
import { taskRowsText, taskText, TaskView, toTaskView } from "../task-view.ts";
import { parseInput, tool, toQuery } from "../tool.ts";

const { has_work, tasks, counts, next_check_seconds } = Inbox.shape;
const messages = z.array(Inbox.shape.messages.element.extend({ author: AuthorView }));

export const checkInbox = tool({
  title: "Check the inbox",
  name: "check_inbox",
  description: "Everything that waits for you. Call it first in a turn; without work, end the turn.",
  as: agent,
  idempotent: true,
  input: z.object({ ack_through: Id.optional(), wait: z.int().optional(), limit: z.int().optional() }),
  about: { ack_through: "Last message that you have acted on", wait: "Seconds, up to 20" },
  output: z.object({ has_work, messages, tasks, counts, next_check_seconds }),
  async run(ctx, { ack_through, ...query }, signal) {
    const checked = toQuery(InboxQuery, query);
    if (ack_through !== undefined) await acknowledge(ctx, { through: ack_through });
    const found = await getInbox(ctx, checked, signal);
    const { has_work, tasks, counts, next_check_seconds } = found.inbox;
    const messages = found.inbox.messages.map((message) => {
      return { ...message, author: found.authors.get(message.id) ?? null, text: cutMessage(message.text, WAY) };
    });
    return { data: { has_work, messages, tasks, counts, next_check_seconds }, text: inboxText(found, ctx.actor) };
  },
});

const WAY = "GET /api/v1/agent/inbox";

function inboxText({ inbox, authors }: Awaited<ReturnType<typeof getInbox>>, { is_board_lead }: Agent): string {
  const { has_work, messages, tasks, counts, next_check_seconds } = inbox;
  if (!has_work) return `No work. Check again in ${next_check_seconds} seconds.`;
  const last = messages.at(-1);
  const waiting = is_board_lead ? counts.review : counts.mine;
  return [
    "You have work.",
    ...messages.flatMap((message) => {
      const { id, kind, text, task_id, created_at } = message;
      const about = task_id === null ? "" : ` about task ${task_id}`;
      const author = authorText(authors.get(id) ?? null);
      return fenced(`Message ${id} (${kind}) from ${author}${about}, ${created_at}`, beginningOfMessage(text, WAY));
    }),
    ...(last ? [`Unread messages: ${counts.messages}. When you have acted on these, send ack_through ${last.id}.`] : []),
    ...(is_board_lead
      ? taskRowsText("Tasks in review, to be read with get_task and moved with update_task", tasks)
      : taskRowsText("Your tasks, which next_task hands to you", tasks)),
    ...(waiting > tasks.length ? [`${tasks.length} of ${waiting} tasks are shown.`] : []),
    ...(counts.approvals_decided > 0 ? [`Approvals decided since you acknowledged: ${counts.approvals_decided}.`] : []),
    ...(counts.free > 0
      ? [`Free tasks: ${counts.free}. ${is_board_lead ? "Assign them or leave them." : "Call next_task."}`]
      : []),
  ].join("\n");
}

export const nextTask = tool({
  title: "Take the next task",
  name: "next_task",
  description: "Takes the best task for you and starts it under a lease, or renews yours. Send its fence with later writes.",
  as: agent,
  input: TakeNextTask.partial(),
  about: { tags: "Slugs", lease_seconds: "Default 900; comments renew it", parallel: "Take another although you hold one" },
  output: z.object({
    task: TaskView.nullable(),
    lease: HeldLease.nullable(),
    comments: z.array(CommentView),
    retry_after_seconds: z.int(),
  }),
  async run(ctx, input) {
    const next = await takeNextTask(ctx, parseInput(TakeNextTask, input), COMMENTS + 1);
    const { lease, retry_after_seconds, reason, budget_ids } = next;
    const task = next.task && toTaskView(next.task);
    const latest = next.comments.slice(-COMMENTS);
    const comments = latest.map(toCommentView);
    const more = moreComments(next.comments, COMMENTS);
    const text = next.task
      ? [...taskText(next.task, ctx.actor), ...commentsText(latest), ...more].join("\n")
      : `${reason ? "The budget is spent, so there is no task" : "No task"}. Ask again in ${retry_after_seconds} seconds.`;
    const facts = { ...(more.length > 0 && { more }), ...(reason && { reason, budget_ids }) };
    return { data: { task, lease, comments, retry_after_seconds, ...facts }, text };
  },
});
