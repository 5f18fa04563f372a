CREATE TABLE "budget_spending" (
	"budget_id" uuid PRIMARY KEY NOT NULL,
	"resets_at" timestamp (3) with time zone,
	"cost_usd" numeric DEFAULT '0' NOT NULL,
	"total_tokens" bigint DEFAULT 0 NOT NULL,
	"runs" integer DEFAULT 0 NOT NULL,
	"warned" boolean DEFAULT false NOT NULL,
	"exhausted" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "budgets" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"scope" text NOT NULL,
	"board_id" uuid,
	"agent_id" uuid,
	"task_id" uuid,
	"period" text NOT NULL,
	"timezone" text NOT NULL,
	"limit_cost_usd" numeric,
	"limit_total_tokens" bigint,
	"limit_runs" integer,
	"reserve_cost_usd" numeric,
	"reserve_total_tokens" bigint,
	"warn_at" real NOT NULL,
	"on_limit" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "budgets_scope" CHECK ("budgets"."scope" in ('organization', 'board', 'agent', 'task')),
	CONSTRAINT "budgets_period" CHECK ("budgets"."period" in ('day', 'month', 'total')),
	CONSTRAINT "budgets_on_limit" CHECK ("budgets"."on_limit" in ('stop', 'warn')),
	CONSTRAINT "budgets_scope_id" CHECK (("budgets"."board_id" is not null) = ("budgets"."scope" = 'board') and ("budgets"."agent_id" is not null) = ("budgets"."scope" = 'agent')
        and ("budgets"."task_id" is not null) = ("budgets"."scope" = 'task'))
);
--> statement-breakpoint
CREATE TABLE "usage_counts" (
	"organization_id" uuid NOT NULL,
	"dimension" text NOT NULL,
	"span" text NOT NULL,
	"board_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
	"start" date NOT NULL,
	"agent_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
	"task_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
	"model" text DEFAULT '' NOT NULL,
	"is_idle" boolean NOT NULL,
	"name" text NOT NULL,
	"entries" integer NOT NULL,
	"runs" integer NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cached_input_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"cost_usd" numeric,
	CONSTRAINT "usage_counts_pk" PRIMARY KEY("organization_id","dimension","span","start","board_id","agent_id","task_id","model","is_idle"),
	CONSTRAINT "usage_counts_dimension" CHECK ("usage_counts"."dimension" in ('board', 'agent', 'task')),
	CONSTRAINT "usage_counts_span" CHECK ("usage_counts"."span" in ('day', 'month'))
);
--> statement-breakpoint
CREATE TABLE "usage_entries" (
	"agent_id" uuid NOT NULL,
	"key" text NOT NULL,
	"organization_id" uuid NOT NULL,
	"board_id" uuid,
	"task_id" uuid,
	"run_id" uuid,
	"at" timestamp (3) with time zone NOT NULL,
	"model" text,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cached_input_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"cost_usd" numeric,
	"stored_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "usage_entries_agent_id_key_pk" PRIMARY KEY("agent_id","key")
);
--> statement-breakpoint
CREATE TABLE "usage_models" (
	"organization_id" uuid NOT NULL,
	"model" text NOT NULL,
	CONSTRAINT "usage_models_organization_id_model_pk" PRIMARY KEY("organization_id","model")
);
--> statement-breakpoint
ALTER TABLE "changes" DROP CONSTRAINT "changes_type";--> statement-breakpoint
ALTER TABLE "budget_spending" ADD CONSTRAINT "budget_spending_budget_id_budgets_id_fk" FOREIGN KEY ("budget_id") REFERENCES "public"."budgets"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_counts" ADD CONSTRAINT "usage_counts_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_entries" ADD CONSTRAINT "usage_entries_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_models" ADD CONSTRAINT "usage_models_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "budgets_by_organization" ON "budgets" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "budgets_of_organizations" ON "budgets" USING btree ("organization_id") WHERE scope = 'organization';--> statement-breakpoint
CREATE INDEX "budgets_by_board" ON "budgets" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "budgets_by_agent" ON "budgets" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "budgets_by_task" ON "budgets" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "usage_counts_by_age" ON "usage_counts" USING btree ("start");--> statement-breakpoint
CREATE INDEX "usage_entries_by_age" ON "usage_entries" USING btree ("stored_at");--> statement-breakpoint
CREATE INDEX "usage_entries_by_organization" ON "usage_entries" USING btree ("organization_id");--> statement-breakpoint
ALTER TABLE "changes" ADD CONSTRAINT "changes_type" CHECK ("changes"."type" in ('task', 'comment', 'approval', 'memory', 'agent', 'board', 'run', 'budget'));--> statement-breakpoint
CREATE FUNCTION "count_text_of_usage_counts"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    -- Most reports add to rows of the same day and insert none.
    PERFORM public.add_text_bytes(stored.owner_id, stored.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."model") + octet_length(item."name"))::bigint AS bytes FROM added AS item GROUP BY 1) AS stored;
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", octet_length(NEW."name") - octet_length(OLD."name"));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."model") + octet_length(item."name"))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_usage_counts" AFTER INSERT ON "usage_counts" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_usage_counts"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_usage_counts" AFTER UPDATE OF "name" ON "usage_counts" FOR EACH ROW WHEN (octet_length(OLD."name") <> octet_length(NEW."name")) EXECUTE FUNCTION "count_text_of_usage_counts"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_usage_counts" AFTER DELETE ON "usage_counts" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_usage_counts"();
--> statement-breakpoint
-- The end of the period that contains a time, in the zone of the budget; null for a budget without periods.
CREATE FUNCTION "budget_period_end"(period text, zone text, at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN period <> 'total' THEN (date_trunc(period, at AT TIME ZONE zone) + ('1 ' || period)::interval) AT TIME ZONE zone END
$$;
--> statement-breakpoint
-- The budgets under which a run of an agent on a task of a board spends. Organizations have few budgets of their own.
CREATE FUNCTION "budgets_of"(in_organization uuid, in_board uuid, in_agent uuid, in_task uuid) RETURNS SETOF "budgets" LANGUAGE sql STABLE AS $$
  SELECT * FROM public.budgets WHERE organization_id = in_organization AND scope = 'organization'
  UNION ALL SELECT * FROM public.budgets WHERE board_id = in_board AND organization_id = in_organization
  UNION ALL SELECT * FROM public.budgets WHERE agent_id = in_agent AND organization_id = in_organization
  UNION ALL SELECT * FROM public.budgets WHERE task_id = in_task AND organization_id = in_organization
$$;
--> statement-breakpoint
-- Locks the spending of budgets, in one order so that no deadlock is possible, and begins the periods that are due.
CREATE FUNCTION "lock_budgets"(ids uuid[], at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM public.budget_spending WHERE budget_id = ANY (ids) ORDER BY budget_id FOR NO KEY UPDATE;
  UPDATE public.budget_spending AS spending SET cost_usd = 0, total_tokens = 0, runs = 0, warned = false, exhausted = false,
    resets_at = public.budget_period_end(budget.period, budget.timezone, at)
  FROM public.budgets AS budget
  WHERE spending.budget_id = ANY (ids) AND spending.resets_at <= at AND budget.id = spending.budget_id;
END $$;
--> statement-breakpoint
-- What is set aside for running runs under a budget: of each run the reserve, less what it has spent.
CREATE FUNCTION "budget_reserved"(budget "budgets", OUT cost_usd numeric, OUT total_tokens bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
  cost_usd := 0;
  total_tokens := 0;
  IF budget.reserve_cost_usd IS NOT NULL OR budget.reserve_total_tokens IS NOT NULL THEN
    SELECT coalesce(sum(greatest(0, budget.reserve_cost_usd - coalesce(run.cost_usd, 0))), 0),
      coalesce(sum(greatest(0, budget.reserve_total_tokens - run.input_tokens - run.output_tokens)), 0)
    INTO cost_usd, total_tokens
    FROM public.runs AS run
    WHERE run.status = 'running' AND CASE budget.scope
      WHEN 'board' THEN run.board_id = budget.board_id
      WHEN 'agent' THEN run.agent_id = budget.agent_id
      WHEN 'task' THEN run.task_id = budget.task_id
      ELSE run.board_id IN (SELECT board.id FROM public.boards AS board WHERE board.organization_id = budget.organization_id) END;
  END IF;
END $$;
--> statement-breakpoint
-- Begins a run under its budgets: counts it, or returns the budgets that have no room for it as refused, and counts nothing. Each
-- query of the function sees what was committed before it, so the room is judged after the lock. It also returns the budgets
-- whose limit of runs is reached now.
CREATE FUNCTION "begin_run_in_budgets"(in_organization uuid, in_board uuid, in_agent uuid, in_task uuid, at timestamptz)
RETURNS TABLE (id uuid, refused boolean, scope text, ends_at timestamptz, now_warned boolean, now_exhausted boolean) LANGUAGE plpgsql AS $$
DECLARE
  ids uuid[];
BEGIN
  ids := ARRAY(SELECT budget.id FROM public.budgets_of(in_organization, in_board, in_agent, in_task) AS budget);
  IF ids = '{}' THEN
    RETURN;
  END IF;
  PERFORM public.lock_budgets(ids, at);
  RETURN QUERY SELECT budget.id, true, budget.scope, spending.resets_at, false, false
    FROM public.budgets AS budget JOIN public.budget_spending AS spending ON spending.budget_id = budget.id
    CROSS JOIN LATERAL public.budget_reserved(budget) AS reserved
    WHERE budget.id = ANY (ids) AND budget.on_limit = 'stop' AND (
      spending.cost_usd >= budget.limit_cost_usd OR spending.total_tokens >= budget.limit_total_tokens
      OR spending.runs >= budget.limit_runs
      OR spending.cost_usd + reserved.cost_usd + coalesce(budget.reserve_cost_usd, 0) > budget.limit_cost_usd
      OR spending.total_tokens + reserved.total_tokens + coalesce(budget.reserve_total_tokens, 0) > budget.limit_total_tokens);
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
--> statement-breakpoint
CREATE FUNCTION "record_budget"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  budget public.budgets;
BEGIN
  IF TG_TABLE_NAME = 'budget_spending' THEN
    SELECT * INTO budget FROM public.budgets AS spent WHERE spent.id = NEW.budget_id;
  ELSIF TG_OP = 'DELETE' THEN
    budget := OLD;
  ELSE
    budget := NEW;
  END IF;
  PERFORM public.record_change('budget', CASE TG_OP WHEN 'INSERT' THEN 'created' WHEN 'DELETE' THEN 'removed' ELSE 'updated' END, budget.id,
    coalesce(budget.board_id, (SELECT task.board_id FROM public.tasks AS task WHERE task.id = budget.task_id)), budget.task_id,
    budget.organization_id);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_budgets" AFTER INSERT OR UPDATE OR DELETE ON "budgets" FOR EACH ROW EXECUTE FUNCTION "record_budget"();
--> statement-breakpoint
-- Not for each report: a mirror learns when a budget is almost spent, spent, or begins a new period after that.
CREATE TRIGGER "changes_of_budget_spending" AFTER UPDATE ON "budget_spending" FOR EACH ROW
  WHEN ((OLD.warned, OLD.exhausted) IS DISTINCT FROM (NEW.warned, NEW.exhausted)) EXECUTE FUNCTION "record_budget"();
