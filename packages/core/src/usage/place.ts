import { and, eq, sql } from "drizzle-orm";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedWhere, valuesOf } from "../lists/filter.ts";
import { createStatementCache } from "../db/prepared.ts";
import { boardsOfAgent } from "../organization/access.ts";
import { boards } from "../schema/board.sql.ts";
import { runs } from "../schema/run.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import type { UsageEntry } from "./entry.ts";

/** Where an entry is counted. For usage of a main agent without a task, there is no board either. */
export interface Place {
  board_id: string | null;
  board_name: string | null;
  task_id: string | null;
  task_title: string | null;
  run_id: string | null;
}

type PlaceRow = Place & { board_id: string; board_name: string };
type Named = Pick<UsageEntry, "run_id" | "task_id" | "key">;

/**
 * Finds where to count each entry, among the boards and runs of the agent. An entry with a task belongs to the agent's latest run
 * on the task. If an entry has a task or run that is not the agent's, all entries are refused, so that the request can be
 * corrected and repeated.
 */
export async function listPlaces(ctx: Context<Agent>, entries: readonly Named[]): Promise<Place[]> {
  const { board_id } = ctx.actor;
  const rows = await readPlaces(ctx, entries);
  const idle: Place = {
    board_id,
    task_id: null,
    task_title: null,
    run_id: null,
    board_name: rows.find((row) => row.task_id === null)?.board_name ?? null,
  };
  return entries.map((entry) => {
    if (entry.run_id === null && entry.task_id === null) return idle;
    const found = rows.find((row) =>
      entry.run_id === null ? row.task_id === entry.task_id && row.is_latest : row.run_id === entry.run_id,
    );
    if (!found || (entry.task_id !== null && found.task_id !== entry.task_id)) throw unknownPlaceError(entry);
    const { is_latest: _is_latest, ...place } = found;
    return place;
  });
}

function unknownPlaceError({ key, run_id, task_id }: Named): DomainError {
  const ofRun = task_id === null ? "run_id is not one of your runs" : "run_id is not one of your runs on this task";
  const problem = run_id === null ? "task_id is not a task on your boards" : ofRun;
  return new DomainError(
    "invalid",
    `In the entry "${key}", ${problem}. No entry was counted; send all again. Without run_id and task_id, it is idle use.`,
    { fields: { code: "usage_place_unknown", key } },
  );
}

/** Returns where usage of a run is counted, even if the agent has left the board of the run. Throws `not_found`. */
export async function readPlaceOfRun({ db, actor }: Context<Agent>, run_id: string): Promise<Place> {
  const [place] = await db
    .select({
      board_id: boards.id,
      board_name: boards.name,
      task_id: tasks.id,
      task_title: tasks.title,
      run_id: runs.id,
    })
    .from(runs)
    .innerJoin(tasks, eq(tasks.id, runs.task_id))
    .innerJoin(boards, eq(boards.id, runs.board_id))
    .where(and(eq(runs.id, run_id), eq(runs.agent_id, actor.agent_id), eq(boards.organization_id, actor.organization_id)));
  if (!place) throw notFound();
  return place;
}

async function readPlaces({ db, actor }: Context<Agent>, entries: readonly Named[]) {
  const ofAgent = boardsOfAgent(actor);
  const idsOf = (name: "run_id" | "task_id") => [...new Set(entries.flatMap((entry) => entry[name] ?? []))];
  const statement = statements.get(ofAgent.name, () => selectPlaces(preparedWhere([ofAgent])));
  const values = { ...valuesOf([ofAgent]), agent_id: actor.agent_id, home_id: actor.board_id };
  const result = await statement.execute(db, { ...values, run_ids: idsOf("run_id"), task_ids: idsOf("task_id") });
  return rowsOf<PlaceRow & { is_latest: boolean }>(result);
}

const statements = createStatementCache<unknown>();

const selectPlaces = (ofAgent: ReturnType<typeof preparedWhere>) => sql`
  (select ${boards.id} as board_id, ${boards.name} as board_name, null::uuid as task_id, null as task_title,
    null::uuid as run_id, false as is_latest
  from ${boards} where ${ofAgent} and ${boards.id} = ${sql.placeholder("home_id")}::uuid)
  union all
  select ${boards.id}, ${boards.name}, task.id, task.title, latest.id, true
  from ${tasks} as task join ${boards} on ${boards.id} = task.board_id
  left join lateral (
    select run.id from ${runs} as run where run.task_id = task.id and run.agent_id = ${sql.placeholder("agent_id")}
    order by run.started_at desc, run.id desc limit 1) as latest on true
  where task.id = any(${sql.placeholder("task_ids")}::uuid[]) and ${ofAgent}
  union all
  select ${boards.id}, ${boards.name}, task.id, task.title, run.id, false
  from ${runs} as run join ${tasks} as task on task.id = run.task_id join ${boards} on ${boards.id} = task.board_id
  where run.id = any(${sql.placeholder("run_ids")}::uuid[]) and run.agent_id = ${sql.placeholder("agent_id")} and ${ofAgent}`;
