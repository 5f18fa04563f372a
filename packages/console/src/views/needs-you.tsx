import type { ComponentChildren } from "preact";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toBoard, toTask, toView } from "../route.ts";
import { boardName, boards, canWrite } from "../session.ts";
import { ApprovalRow } from "../task/approvals.tsx";
import type { Budget, Job } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { scopeName, spentText } from "../usage/scope.ts";
import { readNeeds, type WorkRow } from "./needs.ts";

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
          {row.by}, {boardName(row.board_id)}:{" "}
          {row.at === null ? (
            "never seen"
          ) : (
            <>
              {text} <Time at={row.at} />
            </>
          )}
        </span>
      </div>
    </div>
  );
}

function Spent({ budget }: { budget: Budget }) {
  const { scope, on_limit, resets_at } = budget;
  return (
    <div class="row">
      <div class="grow">
        <strong dir="auto">{scopeName(budget)}</strong>
        <span class="muted">
          {scope}: {spentText(budget)}.{" "}
          {on_limit === "stop" ? "No agent gets work under it until its limit is raised" : "Its limit only warns; work goes on"}
          {resets_at && (
            <>
              , begins again <Time at={resets_at} />
            </>
          )}
        </span>
      </div>
    </div>
  );
}

export function NeedsYou() {
  const { data, error, reload } = useResource(
    readNeeds,
    [boards.value?.length],
    ({ type }) => type !== "memory" && type !== "comment" && type !== "run",
  );
  const redrive = async (job: Job) => {
    const params = { path: { job_id: job.id } };
    if (await attempt("The job was not queued again", () => api.post("/api/v1/jobs/{job_id}/redrive", { params })))
      await reload();
  };
  const redriveAll = async () => {
    const act = async () => {
      const { redriven } = await api.post("/api/v1/jobs/redrive", { body: {} });
      showInfo(redriven === 1 ? "1 job is queued again." : `${redriven} jobs are queued again.`);
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
        <Empty title="Nothing needs you.">
          Approvals, work to review, spent budgets, failed deliveries and silent agents appear here.
        </Empty>
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
          <Group title="Spent budgets" count={data.budgets.length} action={<a href={toView("usage")}>All budgets</a>}>
            {data.budgets.map((budget) => (
              <Spent key={budget.id} budget={budget} />
            ))}
          </Group>
          <Group title="Stopped work" count={data.stopped.length}>
            {data.stopped.map((row) => (
              <Work key={row.id} row={row} text="stopped" />
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
                      {job.attempts === 1 ? "1 attempt" : `${job.attempts} attempts`},{" "}
                      {job.board_id ? boardName(job.board_id) : "no board"}, given up{" "}
                      <Time at={job.finished_at ?? job.created_at} />
                    </span>
                  </span>
                  <span class="text" dir="auto">
                    {job.last_error ?? "No reason is stored."}
                  </span>
                </div>
                <div class="actions">
                  <button type="button" onClick={() => redrive(job)}>
                    Redrive
                  </button>
                  <Confirm
                    label="Delete"
                    question="Its work will not be done."
                    confirm="Delete the job"
                    failure="The job was not deleted"
                    act={() => api.delete("/api/v1/jobs/{job_id}", { params: { path: { job_id: job.id } } })}
                    onDone={reload}
                  />
                </div>
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
