import { memo } from "preact/compat";
import { toTask, withSameQuery } from "../route.ts";
import type { Agent, Task, TaskRun } from "../types.ts";
import { toDollars, toShort } from "../ui/figures.ts";
import { Avatar, isPresent } from "../ui/parts.tsx";
import { Duration, isPast, Time, toRelative } from "../ui/time.tsx";

/** Longer titles are cut on the card. The story shows the whole title. */
const MAX_TITLE = 200;

interface Props {
  task: Task;
  agent: Agent | undefined;
  /** The name of the agent that submitted the work for review. */
  submitter: string | undefined;
  blockers: number;
  isNew: boolean;
}

function Due({ at }: { at: string }) {
  return (
    <span class={isPast(at) ? "badge danger" : "badge"}>
      due <Time at={at} />
    </span>
  );
}

function Lease({ at }: { at: string }) {
  return (
    <span class={isPast(at) ? "badge danger" : "badge"}>{isPast(at) ? "lease expired" : `lease ends ${toRelative(at)}`}</span>
  );
}

/** The colours of the states of a run. The other states have none. */
const RUN_LOOKS: Partial<Record<TaskRun["status"], string>> = { running: "accent", stopped: "danger", expired: "danger" };

/** Describes the usage of all runs of a task. A figure that no agent reported is left out, because it is unknown and not zero. */
const usedBy = ({ total_tokens, cost_usd }: Task["usage"]): string =>
  [...(total_tokens > 0 ? [`${toShort(total_tokens)} tokens`] : []), ...(cost_usd === null ? [] : [toDollars(cost_usd)])].join(
    " · ",
  );

/** Shows how the latest run ended, and how long it took. */
function Run({ run: { status, started_at, ended_at } }: { run: TaskRun }) {
  return (
    <span class={`badge ${RUN_LOOKS[status] ?? ""}`}>
      {status === "running" ? "running " : `run ${status} after `}
      <Duration from={started_at} to={ended_at} />
    </span>
  );
}

export const Card = memo(function Card({ task, agent, submitter, blockers, isNew }: Props) {
  const { id, board_id, title, priority, due_at, lease, tags, assignee, run, usage, approvals_pending_count: approvals } = task;
  const isOpen = task.status !== "done";
  const isShown = priority !== "medium" && isOpen;
  const used = usedBy(usage);
  return (
    <a class={isNew ? "card arrived" : "card"} href={withSameQuery(toTask(board_id, id))} data-task={id} draggable={false}>
      <span class="card-title" dir="auto">
        {title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE)} …` : title}
      </span>
      {(used || run || (isOpen && (isShown || due_at || blockers > 0 || lease || submitter || approvals > 0))) && (
        <span class="badges">
          {run && <Run run={run} />}
          {isShown && <span class={`badge priority ${priority === "high" ? "danger" : ""}`}>{priority}</span>}
          {isOpen && blockers > 0 && <span class="badge warning">blocked by {blockers}</span>}
          {isOpen && approvals > 0 && <span class="badge accent">needs approval</span>}
          {isOpen && due_at && <Due at={due_at} />}
          {isOpen && lease && <Lease at={lease.expires_at} />}
          {isOpen && submitter && <span class="badge">handed in by {submitter}</span>}
          {used && <span class="badge">{used}</span>}
        </span>
      )}
      {(tags.length > 0 || assignee) && (
        <span class="card-foot">
          <span class="badges">
            {tags.map((tag) => (
              <span key={tag.id} class="tag">
                <svg class="dot" viewBox="0 0 8 8" aria-hidden="true">
                  <circle cx="4" cy="4" r="4" fill={`#${tag.color}`} />
                </svg>
                {tag.name}
              </span>
            ))}
          </span>
          {assignee && (
            <span class="assignee">
              <Avatar name={assignee} agent={agent} />
              <span class="assignee-name">{assignee}</span>
              {agent && <span class="visually-hidden">{isPresent(agent) ? ", online" : `, ${agent.status}`}</span>}
            </span>
          )}
        </span>
      )}
    </a>
  );
});
