import { type SQL, sql } from "drizzle-orm";
import { runs } from "../schema/run.sql.ts";
import { recordAddition } from "./record-changes.ts";

const sumOf = (name: string) => sql.raw(`sum(used.${name})::bigint`);

/**
 * Builds the statement that adds the new usage entries in `used` to the sums of their runs, and returns for each run whether these
 * are its first entries. It runs after the statement `after`, which locks tasks, because tasks are locked before runs.
 */
export const addToRuns = (used: SQL, after: SQL, now: SQL): SQL => sql`
  update ${runs} as run set
    input_tokens = run.input_tokens + added.input_tokens, output_tokens = run.output_tokens + added.output_tokens,
    cached_input_tokens = run.cached_input_tokens + added.cached_input_tokens,
    reasoning_tokens = run.reasoning_tokens + added.reasoning_tokens,
    cost_usd = case when added.cost_usd is null then run.cost_usd else trim_scale(coalesce(run.cost_usd, 0) + added.cost_usd) end,
    turns = run.turns + added.turns, updated_at = now(), ${recordAddition("usage", now)},
    models = (
      select coalesce(jsonb_agg(jsonb_build_object('model', model, 'input_tokens', input, 'output_tokens', output,
        'cached_input_tokens', cached, 'reasoning_tokens', reasoning, 'cost_usd', trim_scale(cost)::text, 'turns', turns)
        order by model), '[]')
      from (
        select part.model, sum(part.input_tokens) as input, sum(part.output_tokens) as output,
          sum(part.cached_input_tokens) as cached, sum(part.reasoning_tokens) as reasoning,
          sum(part.cost_usd) as cost, sum(part.turns) as turns
        from jsonb_to_recordset(run.models || added.models) as part(model text, input_tokens bigint, output_tokens bigint,
          cached_input_tokens bigint, reasoning_tokens bigint, cost_usd numeric, turns int)
        group by part.model) as merged)
  from (
    select used.run_id, ${sumOf("input_tokens")} as input_tokens, ${sumOf("output_tokens")} as output_tokens,
      ${sumOf("cached_input_tokens")} as cached_input_tokens, ${sumOf("reasoning_tokens")} as reasoning_tokens,
      sum(used.cost_usd) as cost_usd, count(*)::int as turns,
      coalesce(jsonb_agg(jsonb_build_object('model', used.counted_model, 'input_tokens', used.input_tokens,
        'output_tokens', used.output_tokens, 'cached_input_tokens', used.cached_input_tokens,
        'reasoning_tokens', used.reasoning_tokens, 'cost_usd', used.cost_usd::text, 'turns', 1))
        filter (where used.counted_model <> ''), '[]') as models
    from ${used} as used where used.run_id is not null group by used.run_id
  ) as added
  where run.id = added.run_id and (select count(*) from ${after}) >= 0
  returning run.id, run.turns = added.turns as is_first`;
