import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { board_webhook_payloads } from "../schema/webhook.sql.ts";
import { jobs } from "../schema/job.sql.ts";

/** Returns the condition for jobs that have ended. The status is a literal, because the index on the end of jobs is partial. */
export const hasEnded = (status: "done" | "dead"): SQL => sql`status = ${sql.raw(`'${status}'`)}`;

/**
 * Removes finished jobs. A webhook payload must still show how its delivery ended, so the same statement stores the outcome with
 * the payload, unless a newer job notifies the agent. `returning` selects from the removed rows, which are named `removed`.
 */
export async function removeJobs<Row>(ctx: Context, condition: SQL, returning: SQL): Promise<Row> {
  const result = await ctx.db.execute(sql`
    with removed as (
      delete from ${jobs} where ${condition}
      returning id, kind, payload, status, attempts, last_error, result, finished_at
    ), kept as (
      update ${board_webhook_payloads} as payload set delivery = jsonb_build_object(
        'status', case when removed.status = 'dead' then 'failed'
          when removed.result is not null and removed.result ->> 'agent_id' is null then 'no_target' else 'delivered' end,
        'attempts', removed.attempts,
        'last_error', removed.last_error,
        'delivered_at', case when removed.status = 'done' and (removed.result is null or removed.result ->> 'agent_id' is not null)
          then to_char(removed.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end,
        'agent_id', removed.result ->> 'agent_id')
      from removed
      where removed.kind = 'webhook.notify' and payload.id = (removed.payload ->> 'payload_id')::uuid
        and payload.notify_job_id = removed.id
    )
    select ${returning} from removed`);
  return rowsOf<Row>(result)[0]!;
}
