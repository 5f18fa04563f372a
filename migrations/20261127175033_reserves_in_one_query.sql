-- What is set aside for running runs under a budget: of each run the reserve, less what it has spent. It is one query, which is
-- planned with the query around it; each part uses an index, so that the time does not depend on the runs of others.
DROP FUNCTION "budget_reserved"("budgets");
--> statement-breakpoint
CREATE FUNCTION "budget_reserved"(budget "budgets") RETURNS TABLE (cost_usd numeric, total_tokens bigint) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT coalesce(sum(greatest(0, budget.reserve_cost_usd - coalesce(run.cost_usd, 0))), 0),
    coalesce(sum(greatest(0, budget.reserve_total_tokens - run.input_tokens - run.output_tokens)), 0)::bigint
  FROM (
    SELECT cost_usd, input_tokens, output_tokens FROM public.runs
      WHERE budget.scope = 'board' AND board_id = budget.board_id AND status = 'running'
    UNION ALL SELECT cost_usd, input_tokens, output_tokens FROM public.runs
      WHERE budget.scope = 'task' AND task_id = budget.task_id AND status = 'running'
    UNION ALL SELECT of_task.cost_usd, of_task.input_tokens, of_task.output_tokens FROM public.tasks AS task
      JOIN public.runs AS of_task ON of_task.task_id = task.id AND of_task.status = 'running'
      WHERE budget.scope = 'agent' AND task.assigned_agent_id = budget.agent_id AND task.status = 'in_progress'
    UNION ALL SELECT of_board.cost_usd, of_board.input_tokens, of_board.output_tokens FROM public.boards AS board
      JOIN public.runs AS of_board ON of_board.board_id = board.id AND of_board.status = 'running'
      WHERE budget.scope = 'organization' AND board.organization_id = budget.organization_id) AS run
  WHERE budget.reserve_cost_usd IS NOT NULL OR budget.reserve_total_tokens IS NOT NULL
$$;
--> statement-breakpoint
-- Begins a run under its budgets, as before. Runs are compared with a limit only where a budget has a limit of runs.
CREATE OR REPLACE FUNCTION "begin_run_in_budgets"(in_organization uuid, in_board uuid, in_agent uuid, in_task uuid, at timestamptz)
RETURNS TABLE (id uuid, refused boolean, scope text, ends_at timestamptz, now_warned boolean, now_exhausted boolean) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids uuid[];
  is_due boolean;
  limits_runs boolean;
BEGIN
  SELECT array_agg(locked.budget_id), bool_or(locked.resets_at <= at), bool_or(locked.limits_runs) INTO ids, is_due, limits_runs FROM (
    SELECT spending.budget_id, spending.resets_at, budget.limit_runs IS NOT NULL AS limits_runs
    FROM public.budgets_of(in_organization, in_board, in_agent, in_task) AS budget
    JOIN public.budget_spending AS spending ON spending.budget_id = budget.id
    ORDER BY spending.budget_id FOR NO KEY UPDATE OF spending) AS locked;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  IF is_due THEN
    PERFORM public.lock_budgets(ids, at);
  END IF;
  RETURN QUERY SELECT full_budget.id, true, full_budget.scope, full_budget.resets_at, false, false
    FROM public.full_budgets(ids, at) AS full_budget;
  IF FOUND THEN
    RETURN;
  END IF;
  IF NOT limits_runs THEN
    UPDATE public.budget_spending AS spending SET runs = spending.runs + 1 WHERE spending.budget_id = ANY (ids);
    RETURN;
  END IF;
  RETURN QUERY WITH before AS (
      SELECT spending.* FROM public.budget_spending AS spending WHERE spending.budget_id = ANY (ids)
    ), counted AS (
      UPDATE public.budget_spending AS spending SET runs = spending.runs + 1,
        warned = spending.warned OR coalesce(spending.runs + 1 >= budget.limit_runs * budget.warn_at, false),
        exhausted = spending.exhausted OR coalesce(spending.runs + 1 >= budget.limit_runs, false)
      FROM public.budgets AS budget WHERE spending.budget_id = ANY (ids) AND budget.id = spending.budget_id
      RETURNING spending.budget_id, budget.scope, spending.resets_at, spending.warned, spending.exhausted
    )
    SELECT counted.budget_id, false, counted.scope, counted.resets_at, counted.warned AND NOT before.warned,
      counted.exhausted AND NOT before.exhausted
    FROM counted JOIN before ON before.budget_id = counted.budget_id
    WHERE counted.warned AND NOT before.warned OR counted.exhausted AND NOT before.exhausted;
END $$;
