import type { Actor, Admin, Agent, Lead, Member, User } from "@board/core/context/actor";
import { AgentRead, getAgent, toAgent } from "@board/core/agent/agent";
import { getAgentForLead } from "@board/core/agent/lookup";
import { Approval } from "@board/core/approval/approval";
import { getApproval } from "@board/core/approval/list";
import { Board, getBoard } from "@board/core/board/board";
import { Budget } from "@board/core/budget/budget";
import { getBudget } from "@board/core/budget/store";
import type { CallerContext, Context } from "@board/core/context/context";
import { Gateway, getGateway } from "@board/openclaw/gateway/gateway";
import { getTag, Tag } from "@board/core/tag/tag";
import { getTask } from "@board/core/task/list";
import { Task } from "@board/core/task/task";
import { getTaskDetail, TaskDetail } from "@board/core/task/task-detail";
import { getWebhook, Webhook } from "@board/core/webhook/webhook";
import type { Conditional } from "../endpoint.ts";

/** Declares a resource whose PATCH and DELETE accept If-Match: the row to lock, and the reads that return the resource. */
const define = <A extends Actor, P>(resource: Conditional<A, P>) => resource;

interface OnBoard {
  board_id: string;
}
type TaskParams = OnBoard & { task_id: string };
const task = { schema: Task, read: (ctx: CallerContext, p: TaskParams) => getTask(ctx, p.board_id, p.task_id) };

export const taskResource = define<User | Agent, TaskParams>({ table: "tasks", id: "task_id", representations: [task] });

/** Agents read a task with details, but a write returns it without them, so the ETags of both forms are accepted. */
export const agentTaskResource = define<Agent, TaskParams>({
  table: "tasks",
  id: "task_id",
  representations: [{ schema: TaskDetail, read: (ctx, p) => getTaskDetail(ctx, p.board_id, p.task_id) }, task],
});

export const boardResource = define<User, OnBoard>({
  table: "boards",
  id: "board_id",
  representations: [{ schema: Board, read: (ctx, p) => getBoard(ctx, p.board_id) }],
});

export const agentResource = define<Admin, { agent_id: string }>({
  table: "agents",
  id: "agent_id",
  representations: [{ schema: AgentRead, read: (ctx, p) => getAgent(ctx, p.agent_id) }],
});

export const boardAgentResource = define<Lead, OnBoard & { agent_id: string }>({
  table: "agents",
  id: "agent_id",
  representations: [{ schema: AgentRead, read: (ctx, p) => readBoardAgent(ctx, p.board_id, p.agent_id) }],
});

const readBoardAgent = async (ctx: Context<Lead>, board_id: string, agent_id: string) =>
  toAgent((await getAgentForLead(ctx, board_id, agent_id)).agent, ctx.now());

export const approvalResource = define<User | Agent, OnBoard & { approval_id: string }>({
  table: "approvals",
  id: "approval_id",
  representations: [{ schema: Approval, read: (ctx, p) => getApproval(ctx, p.board_id, p.approval_id, "read") }],
});

export const webhookResource = define<User, OnBoard & { webhook_id: string }>({
  table: "board_webhooks",
  id: "webhook_id",
  representations: [{ schema: Webhook, read: (ctx, p) => getWebhook(ctx, p.board_id, p.webhook_id, "read") }],
});

export const tagResource = define<Member, { tag_id: string }>({
  table: "tags",
  id: "tag_id",
  representations: [{ schema: Tag, read: (ctx, p) => getTag(ctx, p.tag_id) }],
});

export const budgetResource = define<Member, { budget_id: string }>({
  table: "budgets",
  id: "budget_id",
  representations: [{ schema: Budget, read: (ctx, p) => getBudget(ctx, p.budget_id) }],
});

export const gatewayResource = define<Admin, { gateway_id: string }>({
  table: "gateways",
  id: "gateway_id",
  representations: [{ schema: Gateway, read: (ctx, p) => getGateway(ctx, p.gateway_id) }],
});
