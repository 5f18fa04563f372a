import { agent } from "@board/core/actor";
import { acknowledge, getInbox, Inbox, InboxQuery } from "@board/core/inbox/inbox";
import { TakeNextTask, takeNextTask } from "@board/core/task/next";
import { HeldLease } from "@board/core/task/lease";
import { Id } from "@board/core/wire";
import * as z from "zod";
import { CommentView, commentsText, toCommentView } from "../comment-view.ts";
import { cut } from "../limits.ts";
import { taskLine, taskText, TaskView, toTaskView } from "../task-view.ts";
import { parseInput, tool, toQuery } from "../tool.ts";

const { has_work, messages, tasks, counts, next_check_seconds } = Inbox.shape;

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
    const { inbox } = await getInbox(ctx, checked, signal);
    const { has_work, tasks, counts, next_check_seconds } = inbox;
    const messages = inbox.messages.map((message) => ({ ...message, text: cut(message.text, "GET /api/v1/agent/inbox") }));
    const text = [
      has_work ? "You have work." : `No work. Check again in ${next_check_seconds} seconds.`,
      ...messages.map(({ id, kind, text }) => `Message ${id} (${kind}): ${text}`),
      ...tasks.map(taskLine),
      ...(counts.free > 0 ? [`Free tasks: ${counts.free}. Call next_task.`] : []),
    ];
    return { data: { has_work, messages, tasks, counts, next_check_seconds }, text: text.join("\n") };
  },
});

export const nextTask = tool({
  title: "Take the next task",
  name: "next_task",
  description:
    "Takes the best task for you, starts it and gives you a lease. Send its fence with later writes. Not while you work on one.",
  as: agent,
  input: TakeNextTask.partial(),
  about: { tags: "Slugs", lease_seconds: "Default 900; comments renew it" },
  output: z.object({
    task: TaskView.nullable(),
    lease: HeldLease.nullable(),
    comments: z.array(CommentView),
    retry_after_seconds: z.int(),
  }),
  async run(ctx, input) {
    const next = await takeNextTask(ctx, parseInput(TakeNextTask, input));
    const { lease, retry_after_seconds } = next;
    const task = next.task && toTaskView(next.task);
    const comments = next.comments.map(toCommentView);
    const text = task
      ? [taskText(task), ...commentsText(comments)].join("\n")
      : `No task. Ask again in ${retry_after_seconds} seconds.`;
    return { data: { task, lease, comments, retry_after_seconds }, text };
  },
});
