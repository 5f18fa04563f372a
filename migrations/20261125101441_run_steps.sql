ALTER TABLE "runs" ADD COLUMN "steps_moved_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "run_steps_in_commit_order" ON "run_steps" USING btree ("run_id","tx","first");--> statement-breakpoint
CREATE INDEX "run_steps_in_body_storage" ON "run_steps" USING btree ("body_key") WHERE body_key is not null;--> statement-breakpoint
CREATE INDEX "runs_with_steps_to_move" ON "runs" USING btree ("ended_at") WHERE steps > 0 and steps_moved_at is null and ended_at is not null;
--> statement-breakpoint
CREATE FUNCTION "record_removed_steps"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- The object in the body storage is deleted by the next run of the schedule.
  INSERT INTO public.webhook_body_orphans (payload_id, body_key, due_at)
  VALUES (split_part(OLD.body_key, '/', 3)::uuid, OLD.body_key, now())
  ON CONFLICT (payload_id) DO UPDATE SET due_at = excluded.due_at;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "bodies_of_removed_steps" AFTER DELETE ON "run_steps" FOR EACH ROW WHEN (OLD.body_key IS NOT NULL) EXECUTE FUNCTION "record_removed_steps"();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "store_run"() RETURNS trigger LANGUAGE plpgsql AS $$
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
