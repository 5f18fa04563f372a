CREATE INDEX CONCURRENTLY "usage_counts_by_task" ON "usage_counts" USING btree ("organization_id","task_id","span","start") WHERE dimension = 'task';--> statement-breakpoint
-- Those of the budgets that have no room for another run. A period that is over counts as begun anew.
CREATE FUNCTION "full_budgets"(ids uuid[], at timestamptz) RETURNS TABLE (id uuid, scope text, resets_at timestamptz) LANGUAGE sql STABLE AS $$
  SELECT budget.id, budget.scope, spending.resets_at
  FROM public.budgets AS budget JOIN public.budget_spending AS spending ON spending.budget_id = budget.id
  CROSS JOIN LATERAL (SELECT CASE WHEN spending.resets_at <= at THEN 0 ELSE 1 END AS share) AS period
  CROSS JOIN LATERAL public.budget_reserved(budget) AS reserved
  WHERE budget.id = ANY (ids) AND budget.on_limit = 'stop' AND (
    spending.cost_usd * period.share >= budget.limit_cost_usd OR spending.total_tokens * period.share >= budget.limit_total_tokens
    OR spending.runs * period.share >= budget.limit_runs
    OR spending.cost_usd * period.share + reserved.cost_usd + coalesce(budget.reserve_cost_usd, 0) > budget.limit_cost_usd
    OR spending.total_tokens * period.share + reserved.total_tokens + coalesce(budget.reserve_total_tokens, 0) > budget.limit_total_tokens)
$$;
--> statement-breakpoint
-- Whether no budget keeps an agent from beginning a run on any task of a board.
CREATE FUNCTION "has_room_for_run"(in_organization uuid, in_board uuid, in_agent uuid, at timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (SELECT 1 FROM public.full_budgets(ARRAY(
    SELECT budget.id FROM public.budgets_of(in_organization, in_board, in_agent, NULL) AS budget), at))
$$;
--> statement-breakpoint
-- Begins a run under its budgets: counts it, or returns the budgets that have no room for it as refused, and counts nothing. Each
-- query of the function sees what was committed before it, so the room is judged after the lock. It also returns the budgets
-- whose limit of runs is reached now. One query finds and locks, and only a period that is over is begun anew.
CREATE OR REPLACE FUNCTION "begin_run_in_budgets"(in_organization uuid, in_board uuid, in_agent uuid, in_task uuid, at timestamptz)
RETURNS TABLE (id uuid, refused boolean, scope text, ends_at timestamptz, now_warned boolean, now_exhausted boolean) LANGUAGE plpgsql AS $$
DECLARE
  ids uuid[];
  is_due boolean;
BEGIN
  SELECT array_agg(locked.budget_id), bool_or(locked.resets_at <= at) INTO ids, is_due FROM (
    SELECT spending.budget_id, spending.resets_at FROM public.budget_spending AS spending
    WHERE spending.budget_id = ANY (ARRAY(
      SELECT budget.id FROM public.budgets_of(in_organization, in_board, in_agent, in_task) AS budget))
    ORDER BY spending.budget_id FOR NO KEY UPDATE) AS locked;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  IF is_due THEN
    PERFORM public.lock_budgets(ids, at);
  END IF;
  RETURN QUERY SELECT full_budget.id, true, full_budget.scope, full_budget.resets_at, false, false
    FROM public.full_budgets(ids, at) AS full_budget;
  IF NOT FOUND THEN
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
  END IF;
END $$;
