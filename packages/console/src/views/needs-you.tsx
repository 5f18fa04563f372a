import type { ComponentChildren } from "preact";
import { api, isStatus } from "../api.ts";
import { useResource } from "../resource.ts";
import { toBoard, toTask, toView } from "../route.ts";
import { boardName, boards, canWrite, isAdmin } from "../session.ts";
import { ApprovalRow } from "../task/approvals.tsx";
import type { Agent, Approval, Gateway, Job, Task } from "../types.ts";
import { Empty, isPresent, Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { readEachBoard } from "./boards.ts";

type ListedTask = Pick<Task, "id" | "board_id" | "title" | "status" | "assigned_agent_id">;

interface WorkRow {
  id: string;
  board_id: string;
  title: string;
  /** The name of the agent that works on the task or submitted it. */
  by: string;
  at: string;
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
}

const LIMIT = 200;

async function readNeeds(signal: AbortSignal): Promise<Needs> {
  const [approvals, open, agents, jobs, gateways] = await Promise.all([
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
    forAdmin(() => api.get("/api/v1/agents", { params: { query: { limit: LIMIT } }, signal })),
    forAdmin(() => api.get("/api/v1/jobs", { params: { query: { status: "dead", limit: 50 } }, signal })),
    forAdmin(() => api.get("/api/v1/gateways", { params: { query: { limit: LIMIT } }, signal })),
  ]);
  const work = open.filter(({ status }) => status === "in_progress");
  const known = new Map(agents.map((agent) => [agent.id, agent]));
  const leads = new Map(agents.flatMap((agent) => (agent.is_board_lead ? [[agent.board_id, agent]] : [])));
  const toRow = ({ id, board_id, title }: ListedTask, agent_id: string | null, at: string): WorkRow => {
    const by = agent_id === null ? "A person" : (known.get(agent_id)?.name ?? "An agent");
    return { id, board_id, title, by, at };
  };
  // A member who cannot read agents sees no leads. An unknown assignee is then taken for the lead, who reviews submitted work.
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
      return isSilent(agent) && !isForPeople(task) ? [toRow(task, agent.id, agent.last_seen_at ?? task.updated_at)] : [];
    }),
    expired: work
      .filter(({ lease }) => lease && Date.parse(lease.expires_at) < Date.now())
      .map((task) => toRow(task, task.assigned_agent_id, task.lease!.expires_at)),
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

function Group({
  title,
  count,
  action,
  children,
}: {
  title: string;
  count: number;
  action?: ComponentChildren;
  children: ComponentChildren;
}) {
  if (count === 0) return null;
  return (
    <section>
      <div class="view-intro">
        <h2>
          {title} <span class="count">{count}</span>
        </h2>
        {action}
      </div>
      <div class="rows">{children}</div>
    </section>
  );
}

function Work({ row, text }: { row: WorkRow; text: string }) {
  return (
    <div class="row">
      <div class="grow">
        <a href={toTask(row.board_id, row.id)} dir="auto">
          {row.title}
        </a>
        <span class="muted">
          {row.by}, {boardName(row.board_id)}: {text} <Time at={row.at} />
        </span>
      </div>
    </div>
  );
}

export function NeedsYou() {
  const { data, error, reload } = useResource(
    readNeeds,
    [boards.value?.length],
    ({ type }) => type !== "memory" && type !== "comment",
  );
  const redrive = async (job: Job) => {
    const params = { path: { job_id: job.id } };
    if (await attempt("The job was not queued again", () => api.post("/api/v1/jobs/{job_id}/redrive", { params })))
      await reload();
  };
  const redriveAll = async () => {
    const act = async () => {
      const { redriven } = await api.post("/api/v1/jobs/redrive", { body: {} });
      showInfo(`${redriven} jobs are queued again.`);
    };
    if (await attempt("The jobs were not queued again", act)) await reload();
  };
  const total = data ? Object.values(data).reduce((sum, list: unknown[]) => sum + list.length, 0) : 0;
  return (
    <main class="view">
      <h1>Needs you</h1>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="what needs you" />}
      {data && total === 0 && (
        <Empty title="Nothing needs you.">Approvals, work to review, failed deliveries and silent agents appear here.</Empty>
      )}
      {data && (
        <>
          <Group title="Approvals" count={data.approvals.length}>
            {data.approvals.map((approval) => (
              <div class="row" key={approval.id}>
                <div class="grow">
                  <ApprovalRow approval={approval} mayWrite={canWrite(approval.board_id)} onDecided={reload} />
                  <span class="muted">
                    <a href={toBoard(approval.board_id)}>{boardName(approval.board_id)}</a>
                    {approval.task_ids.map((id, index) => (
                      <span key={id}>
                        {", "}
                        <a href={toTask(approval.board_id, id)} dir="auto">
                          {approval.task_titles[index] ?? "task"}
                        </a>
                      </span>
                    ))}
                  </span>
                </div>
              </div>
            ))}
          </Group>
          <Group title="Work to review" count={data.reviews.length}>
            {data.reviews.map((row) => (
              <Work key={row.id} row={row} text="handed in" />
            ))}
          </Group>
          <Group
            title="Failed deliveries and jobs"
            count={data.jobs.length}
            action={
              <button type="button" onClick={redriveAll}>
                Redrive all
              </button>
            }
          >
            {data.jobs.map((job) => (
              <div class="row" key={job.id}>
                <div class="grow">
                  <span class="row-head">
                    <strong>{job.kind}</strong>
                    <span class="muted">
                      {job.attempts} attempts, {job.board_id ? boardName(job.board_id) : "no board"}, given up{" "}
                      <Time at={job.finished_at ?? job.created_at} />
                    </span>
                  </span>
                  <span class="text" dir="auto">
                    {job.last_error ?? "No reason is stored."}
                  </span>
                </div>
                <button type="button" onClick={() => redrive(job)}>
                  Redrive
                </button>
              </div>
            ))}
          </Group>
          <Group title="Gateways that do not answer" count={data.gateways.length}>
            {data.gateways.map((gateway) => (
              <div class="row" key={gateway.id}>
                <div class="grow">
                  <strong dir="auto">{gateway.name}</strong>
                  <span class="text" dir="auto">
                    {gateway.last_error ?? "It was not reached yet."}
                  </span>
                </div>
              </div>
            ))}
          </Group>
          <Group title="Silent agents with work" count={data.waiting.length} action={<a href={toView("agents")}>All agents</a>}>
            {data.waiting.map((row) => (
              <Work key={row.id} row={row} text="last seen" />
            ))}
          </Group>
          <Group title="Expired leases" count={data.expired.length}>
            {data.expired.map((row) => (
              <Work key={row.id} row={row} text="expired" />
            ))}
          </Group>
        </>
      )}
    </main>
  );
}
