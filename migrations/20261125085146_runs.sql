CREATE TABLE "run_steps" (
	"run_id" uuid NOT NULL,
	"first" integer NOT NULL,
	"count" integer NOT NULL,
	"tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "run_steps_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"body" "bytea",
	"body_key" text,
	"body_bytes" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "run_steps_run_id_first_pk" PRIMARY KEY("run_id","first")
);
--> statement-breakpoint
CREATE TABLE "runs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"board_id" uuid NOT NULL,
	"task_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"agent_name" text NOT NULL,
	"fence" integer NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"ended_reason" text,
	"client" jsonb,
	"links" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"input_tokens" bigint DEFAULT 0 NOT NULL,
	"output_tokens" bigint DEFAULT 0 NOT NULL,
	"cached_input_tokens" bigint DEFAULT 0 NOT NULL,
	"reasoning_tokens" bigint DEFAULT 0 NOT NULL,
	"cost_usd" numeric,
	"turns" integer DEFAULT 0 NOT NULL,
	"models" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"steps" integer DEFAULT 0 NOT NULL,
	"step_bytes" bigint DEFAULT 0 NOT NULL,
	"steps_full" boolean DEFAULT false NOT NULL,
	"steps_expired_at" timestamp (3) with time zone,
	"steps_recorded_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "runs_status" CHECK ("runs"."status" in ('running', 'submitted', 'released', 'blocked', 'expired', 'stopped', 'superseded')),
	CONSTRAINT "runs_ended" CHECK (("runs"."status" = 'running') = ("runs"."ended_at" is null))
);
--> statement-breakpoint
ALTER TABLE "changes" DROP CONSTRAINT "changes_type";--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "run_id" uuid;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "run_status" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "run_agent_id" uuid;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "run_started_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "run_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "total_tokens" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "cost_usd" numeric;--> statement-breakpoint
ALTER TABLE "run_steps" ADD CONSTRAINT "run_steps_run_id_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runs" ADD CONSTRAINT "runs_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "run_steps_by_age" ON "run_steps" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "runs_running" ON "runs" USING btree ("task_id") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "runs_by_task" ON "runs" USING btree ("task_id","started_at","id");--> statement-breakpoint
CREATE INDEX "runs_by_board" ON "runs" USING btree ("board_id","started_at","id");--> statement-breakpoint
CREATE INDEX "runs_by_status" ON "runs" USING btree ("board_id","status","started_at","id");--> statement-breakpoint
CREATE INDEX "runs_by_agent" ON "runs" USING btree ("agent_id","started_at","id");--> statement-breakpoint
ALTER TABLE "changes" ADD CONSTRAINT "changes_type" CHECK ("changes"."type" in ('task', 'comment', 'approval', 'memory', 'agent', 'board', 'run'));--> statement-breakpoint
CREATE FUNCTION "follow_run"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  works boolean := NEW.status = 'in_progress' AND NEW.assigned_agent_id IS NOT NULL;
  by_holder boolean;
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.run_status = 'running' THEN
    IF works AND NEW.assigned_agent_id = OLD.run_agent_id AND NEW.run_status = 'running' THEN
      RETURN NEW;
    END IF;
    -- A change that ends the run for a reason of its own has set the status.
    IF NEW.run_status = 'running' THEN
      by_holder := current_setting('changes.actor', true) LIKE 'agent:' || OLD.run_agent_id || ':%';
      NEW.run_status := CASE
        WHEN NEW.status = 'blocked' THEN 'blocked'
        WHEN by_holder AND NEW.status IN ('review', 'done') THEN 'submitted'
        WHEN by_holder AND NEW.status = 'inbox' THEN 'released'
        ELSE 'stopped' END;
    END IF;
  END IF;
  IF works THEN
    NEW.run_id := gen_random_uuid();
    NEW.run_status := 'running';
    NEW.run_agent_id := NEW.assigned_agent_id;
    NEW.run_started_at := now();
    NEW.run_count := NEW.run_count + 1;
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER "run_of_new_tasks" BEFORE INSERT ON "tasks" FOR EACH ROW WHEN (NEW.status = 'in_progress' AND NEW.assigned_agent_id IS NOT NULL) EXECUTE FUNCTION "follow_run"();
--> statement-breakpoint
CREATE TRIGGER "run_of_updated_tasks" BEFORE UPDATE ON "tasks" FOR EACH ROW WHEN ((NEW.status = 'in_progress' AND NEW.assigned_agent_id IS NOT NULL AND NEW.run_status IS DISTINCT FROM 'running')
  OR (OLD.run_status = 'running' AND (OLD.status, OLD.assigned_agent_id, OLD.run_status) IS DISTINCT FROM (NEW.status, NEW.assigned_agent_id, NEW.run_status))) EXECUTE FUNCTION "follow_run"();
--> statement-breakpoint
CREATE FUNCTION "store_run"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_new boolean := TG_OP = 'INSERT' OR NEW.run_id IS DISTINCT FROM OLD.run_id;
  ended text;
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.run_status = 'running' THEN
    IF is_new OR NEW.run_status <> 'running' THEN
      ended := CASE WHEN is_new THEN 'superseded' ELSE NEW.run_status END;
      UPDATE public.runs SET status = ended, ended_at = greatest(now(), started_at), updated_at = now(), ended_reason = CASE
        WHEN ended = 'superseded' THEN 'Another agent took the task.'
        WHEN ended = 'expired' AND OLD.lease_expires_at IS NULL THEN 'The agent was silent for too long.'
        WHEN ended = 'expired' THEN 'The lease expired.'
        WHEN ended = 'released' THEN 'The agent gave the task back.'
        WHEN ended = 'blocked' THEN 'The task was marked as blocked.'
        WHEN ended = 'stopped' AND NEW.status = 'in_progress' THEN 'The task was taken from the agent.'
        WHEN ended = 'stopped' THEN 'The task was moved to ' || NEW.status || '.' END
      WHERE id = OLD.run_id AND status = 'running';
    ELSE
      UPDATE public.runs SET fence = NEW.lease_fence, updated_at = now() WHERE id = NEW.run_id;
    END IF;
  END IF;
  IF is_new THEN
    INSERT INTO public.runs (id, board_id, task_id, agent_id, agent_name, fence, started_at)
    SELECT NEW.run_id, NEW.board_id, NEW.id, agent.id, agent.name, NEW.lease_fence, NEW.run_started_at
    FROM public.agents AS agent WHERE agent.id = NEW.run_agent_id;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "stored_run_of_new_tasks" AFTER INSERT ON "tasks" FOR EACH ROW WHEN (NEW.run_id IS NOT NULL) EXECUTE FUNCTION "store_run"();
--> statement-breakpoint
CREATE TRIGGER "stored_run_of_updated_tasks" AFTER UPDATE ON "tasks" FOR EACH ROW WHEN ((OLD.run_id, OLD.run_status) IS DISTINCT FROM (NEW.run_id, NEW.run_status)
  OR (NEW.run_status = 'running' AND OLD.lease_fence <> NEW.lease_fence)) EXECUTE FUNCTION "store_run"();
--> statement-breakpoint
CREATE FUNCTION "record_run"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM public.record_change('run', 'removed', OLD.id, OLD.board_id, OLD.task_id, NULL);
  ELSE
    PERFORM public.record_change('run', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.board_id, NEW.task_id, NULL);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_runs" AFTER INSERT OR DELETE ON "runs" FOR EACH ROW EXECUTE FUNCTION "record_run"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_updated_runs" AFTER UPDATE ON "runs" FOR EACH ROW WHEN ((OLD.status, OLD.fence, OLD.ended_reason, OLD.client, OLD.links, OLD.input_tokens, OLD.output_tokens, OLD.cached_input_tokens, OLD.reasoning_tokens, OLD.cost_usd, OLD.turns, OLD.models, OLD.steps_recorded_at, OLD.steps_expired_at)
  IS DISTINCT FROM (NEW.status, NEW.fence, NEW.ended_reason, NEW.client, NEW.links, NEW.input_tokens, NEW.output_tokens, NEW.cached_input_tokens, NEW.reasoning_tokens, NEW.cost_usd, NEW.turns, NEW.models, NEW.steps_recorded_at, NEW.steps_expired_at)) EXECUTE FUNCTION "record_run"();
