-- What is set aside for running runs under a budget: of each run the reserve, less what it has spent. Each query uses an index, so
-- that the time does not depend on the runs of others.
CREATE OR REPLACE FUNCTION "budget_reserved"(budget "budgets", OUT cost_usd numeric, OUT total_tokens bigint) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  board_ids uuid[];
  task_ids uuid[];
BEGIN
  cost_usd := 0;
  total_tokens := 0;
  IF budget.reserve_cost_usd IS NULL AND budget.reserve_total_tokens IS NULL THEN
    RETURN;
  END IF;
  CASE budget.scope
    WHEN 'board' THEN board_ids := ARRAY[budget.board_id];
    WHEN 'task' THEN task_ids := ARRAY[budget.task_id];
    WHEN 'agent' THEN task_ids := ARRAY(SELECT task.id FROM public.tasks AS task
      WHERE task.assigned_agent_id = budget.agent_id AND task.status = 'in_progress');
    ELSE board_ids := ARRAY(SELECT board.id FROM public.boards AS board WHERE board.organization_id = budget.organization_id);
  END CASE;
  SELECT coalesce(sum(greatest(0, budget.reserve_cost_usd - coalesce(run.cost_usd, 0))), 0),
    coalesce(sum(greatest(0, budget.reserve_total_tokens - run.input_tokens - run.output_tokens)), 0)
  INTO cost_usd, total_tokens
  FROM (
    SELECT * FROM public.runs WHERE board_id = ANY (board_ids) AND status = 'running'
    UNION ALL SELECT * FROM public.runs WHERE task_id = ANY (task_ids) AND status = 'running') AS run;
END $$;
--> statement-breakpoint
-- Planning its short queries again at each call would take longer than running them.
ALTER FUNCTION "begin_run_in_budgets" SET plan_cache_mode = force_generic_plan;
