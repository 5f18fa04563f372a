import { api, isStatus } from "../api.ts";
import { isAdmin } from "../session.ts";
import type { Agent, Approval, Budget, Gateway, Job, Task } from "../types.ts";
import { isPresent } from "../ui/parts.tsx";
import { readBudgets } from "../usage/read.ts";
import { readEachBoard } from "./boards.ts";

type ListedTask = Pick<Task, "id" | "board_id" | "title" | "status" | "assigned_agent_id">;

export interface WorkRow {
  id: string;
  board_id: string;
  title: string;
  /** The name of the agent that works on the task or submitted it. */
  by: string;
  /** Null for an agent that was never seen. */
  at: string | null;
}

interface Needs {
  approvals: Approval[];
  jobs: Job[];
  gateways: Gateway[];
  /** Submitted work on boards without a lead. */
  reviews: WorkRow[];
  /** Work of absent agents, and work that absent leads should review. */
  waiting: WorkRow[];
  /** Tasks whose lease has ended. */
  expired: WorkRow[];
  /** Tasks in the inbox whose last run was stopped by a person or a budget. */
  stopped: WorkRow[];
  budgets: Budget[];
}

const LIMIT = 200;

export async function readNeeds(signal: AbortSignal): Promise<Needs> {
  const [approvals, open, inbox, agents, jobs, gateways, budgets] = await Promise.all([
    readEachBoard((board_id) =>
      api.get("/api/v1/boards/{board_id}/approvals", {
        params: { path: { board_id }, query: { status: "pending", limit: LIMIT } },
        signal,
      }),
    ),
    readEachBoard((board_id) =>
      api.get("/api/v1/boards/{board_id}/tasks", {
        params: { path: { board_id }, query: { status: "in_progress,review", limit: LIMIT } },
        signal,
      }),
    ),
    readEachBoard((board_id) =>
      api.get("/api/v1/boards/{board_id}/tasks", {
        params: { path: { board_id }, query: { status: "inbox", limit: LIMIT } },
        signal,
      }),
    ),
    forAdmin(() => api.get("/api/v1/agents", { params: { query: { limit: LIMIT } }, signal })),
    forAdmin(() => api.get("/api/v1/jobs", { params: { query: { status: "dead", limit: 50 } }, signal })),
    forAdmin(() => api.get("/api/v1/gateways", { params: { query: { limit: LIMIT } }, signal })),
    readBudgets(signal),
  ]);
  const work = open.filter(({ status }) => status === "in_progress");
  const known = new Map(agents.map((agent) => [agent.id, agent]));
  const leads = new Map(agents.flatMap((agent) => (agent.is_board_lead ? [[agent.board_id, agent]] : [])));
  const toRow = ({ id, board_id, title }: ListedTask, agent_id: string | null, at: string | null): WorkRow => {
    const by = agent_id === null ? "A person" : (known.get(agent_id)?.name ?? "An agent");
    return { id, board_id, title, by, at };
  };
  // Members cannot read agents, so to them no board seems to have a lead. They are shown only submitted work without an assignee,
  // because an unknown assignee may be the lead, which reviews the work.
  const isForPeople = ({ status, board_id, assigned_agent_id: id }: ListedTask) =>
    status === "review" && !leads.has(board_id) && (id === null || known.has(id));
  const isSilent = (agent: Agent | undefined): agent is Agent => agent !== undefined && !isPresent(agent);
  return {
    approvals: approvals.toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1)),
    jobs,
    gateways: gateways.filter((gateway) => gateway.kind === "openclaw" && !gateway.connected),
    reviews: open.filter(isForPeople).map((task) => toRow(task, task.submitted_by_agent_id, task.updated_at)),
    waiting: open.flatMap((task) => {
      const agent = known.get(task.assigned_agent_id ?? "") ?? (task.status === "review" ? leads.get(task.board_id) : undefined);
      return isSilent(agent) && !isForPeople(task) ? [toRow(task, agent.id, agent.last_seen_at)] : [];
    }),
    expired: work
      .filter(({ lease }) => lease && Date.parse(lease.expires_at) < Date.now())
      .map((task) => toRow(task, task.assigned_agent_id, task.lease!.expires_at)),
    stopped: inbox.filter(({ run }) => run?.status === "stopped").map((task) => toRow(task, task.run!.agent_id, task.updated_at)),
    budgets: budgets.items.filter(({ state }) => state === "exhausted"),
  };
}

/** Reads a list that only owners and admins may read. It is empty for others. */
async function forAdmin<T>(read: () => Promise<{ items: T[] }>): Promise<T[]> {
  if (!isAdmin.value) return [];
  try {
    return (await read()).items;
  } catch (error) {
    if (isStatus(error, 403)) return [];
    throw error;
  }
}
