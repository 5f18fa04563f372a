ALTER TABLE "runs" ADD COLUMN "unrecorded" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "run_ended_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_to_record" ON "runs" USING btree ("steps_recorded_at") WHERE unrecorded is not null;--> statement-breakpoint
ALTER TABLE "runs" ADD CONSTRAINT "runs_unrecorded" CHECK ("runs"."unrecorded" in ('steps', 'usage'));
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "follow_run"() RETURNS trigger LANGUAGE plpgsql AS $$
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
    NEW.run_ended_at := greatest(now(), OLD.run_started_at);
  END IF;
  IF works THEN
    NEW.run_id := gen_random_uuid();
    NEW.run_status := 'running';
    NEW.run_agent_id := NEW.assigned_agent_id;
    NEW.run_started_at := now();
    NEW.run_ended_at := NULL;
    NEW.run_count := NEW.run_count + 1;
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "store_run"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_new boolean := TG_OP = 'INSERT' OR NEW.run_id IS DISTINCT FROM OLD.run_id;
  ended text;
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.run_status = 'running' THEN
    IF is_new OR NEW.run_status <> 'running' THEN
      ended := CASE WHEN is_new THEN 'superseded' ELSE NEW.run_status END;
      -- The entry that the end of the run writes also tells of the steps and the usage before it.
      UPDATE public.runs SET status = ended, ended_at = greatest(now(), started_at), updated_at = now(), unrecorded = NULL, ended_reason = CASE
        WHEN ended = 'superseded' THEN 'Another agent took the task.'
        WHEN ended = 'expired' AND OLD.lease_expires_at IS NULL THEN 'The agent was silent for too long.'
        WHEN ended = 'expired' THEN 'The lease expired.'
        -- An agent may have said why before it gave the task back.
        WHEN ended = 'released' THEN coalesce(ended_reason, 'The agent gave the task back.')
        WHEN ended = 'blocked' THEN coalesce(ended_reason, 'The task was marked as blocked.')
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
UPDATE "tasks" SET "run_ended_at" = run."ended_at" FROM "runs" AS run WHERE run."id" = "tasks"."run_id" AND run."ended_at" IS NOT NULL;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "record_run"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM public.record_change('run', 'removed', OLD.id, OLD.board_id, OLD.task_id, NULL);
    RETURN NULL;
  END IF;
  PERFORM public.record_change('run', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.board_id, NEW.task_id, NULL);
  -- Usage also changed the sums of the task.
  IF TG_OP = 'UPDATE' AND NEW.unrecorded IS DISTINCT FROM 'usage' AND (OLD.unrecorded = 'usage' OR OLD.turns <> NEW.turns) THEN
    PERFORM public.record_change('task', 'updated', NEW.task_id, NEW.board_id, NEW.task_id, NULL);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Steps and usage are recorded when the statement that adds them, or a later one, changes steps_recorded_at. Usage is also recorded
-- when it is not marked as unrecorded, because processes of the version before do not mark it.
CREATE OR REPLACE TRIGGER "changes_of_updated_runs" AFTER UPDATE ON "runs" FOR EACH ROW WHEN ((OLD.status, OLD.fence, OLD.ended_reason, OLD.client, OLD.links, OLD.steps_recorded_at, OLD.steps_expired_at)
  IS DISTINCT FROM (NEW.status, NEW.fence, NEW.ended_reason, NEW.client, NEW.links, NEW.steps_recorded_at, NEW.steps_expired_at)
  OR (OLD.turns <> NEW.turns AND NEW.unrecorded IS DISTINCT FROM 'usage')) EXECUTE FUNCTION "record_run"();
--> statement-breakpoint
-- A statement that adds usage changes only the sums. The run records them for its task, and usage without a run records them here.
CREATE OR REPLACE TRIGGER "changes_of_updated_tasks" AFTER UPDATE ON "tasks" FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*
  AND (OLD.total_tokens, OLD.cost_usd) IS NOT DISTINCT FROM (NEW.total_tokens, NEW.cost_usd)) EXECUTE FUNCTION "record_task"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_usage_without_run" AFTER INSERT ON "usage_entries" FOR EACH ROW WHEN (NEW.task_id IS NOT NULL AND NEW.run_id IS NULL) EXECUTE FUNCTION "record_part_of_task"();
