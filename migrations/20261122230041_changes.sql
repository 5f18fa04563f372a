CREATE TABLE "changes" (
	"tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "changes_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"organization_id" uuid NOT NULL,
	"board_id" uuid,
	"type" text NOT NULL,
	"action" text NOT NULL,
	"id" uuid NOT NULL,
	"task_id" uuid,
	"at" timestamp (3) with time zone DEFAULT statement_timestamp() NOT NULL,
	"actor_type" text DEFAULT coalesce(nullif(split_part(current_setting('changes.actor', true), ':', 1), ''), 'system') NOT NULL,
	"actor_id" uuid DEFAULT nullif(split_part(current_setting('changes.actor', true), ':', 2), '')::uuid,
	"readers" uuid[],
	CONSTRAINT "changes_tx_id_action_pk" PRIMARY KEY("tx","id","action"),
	CONSTRAINT "changes_type" CHECK ("changes"."type" in ('task', 'comment', 'approval', 'memory', 'agent', 'board')),
	CONSTRAINT "changes_action" CHECK ("changes"."action" in ('created', 'updated', 'removed')),
	CONSTRAINT "changes_actor" CHECK ("changes"."actor_type" in ('user', 'agent', 'system'))
);
--> statement-breakpoint
CREATE TABLE "changes_removed" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"tx" "xid8" NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "changes_removed_only" CHECK ("changes_removed"."only")
);
--> statement-breakpoint
CREATE INDEX "changes_by_organization" ON "changes" USING btree ("organization_id","tx","seq");--> statement-breakpoint
CREATE INDEX "changes_by_board" ON "changes" USING btree ("board_id","tx","seq");--> statement-breakpoint
CREATE INDEX "changes_without_board" ON "changes" USING btree ("organization_id","tx","seq") WHERE board_id is null;--> statement-breakpoint
CREATE INDEX "changes_of_removed_boards" ON "changes" USING btree ("organization_id","id") WHERE type = 'board' and action = 'removed';--> statement-breakpoint
CREATE FUNCTION "record_change"(of_type text, what text, item uuid, on_board uuid, of_task uuid, in_organization uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.changes (organization_id, board_id, type, action, id, task_id)
  SELECT owner.id, on_board, of_type, what, item, of_task FROM (SELECT coalesce(
    in_organization,
    (SELECT board.organization_id FROM public.boards AS board WHERE board.id = on_board),
    -- What a removed board takes along: its own entry was written before it was removed.
    (SELECT gone.organization_id FROM public.changes AS gone
      WHERE gone.tx = pg_current_xact_id() AND gone.id = on_board AND gone.action = 'removed' AND what = 'removed')) AS id) AS owner
  WHERE owner.id IS NOT NULL
  ON CONFLICT DO NOTHING;
END $$;
--> statement-breakpoint
CREATE FUNCTION "record_task_changes"(task_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(task_ids) = 0 THEN
    RETURN;
  END IF;
  INSERT INTO public.changes (organization_id, board_id, type, action, id, task_id)
  SELECT board.organization_id, task.board_id, 'task', 'updated', task.id, task.id
  FROM public.tasks AS task JOIN public.boards AS board ON board.id = task.board_id
  WHERE task.id = ANY (task_ids) AND NOT EXISTS (
    SELECT FROM public.changes AS new WHERE new.tx = pg_current_xact_id() AND new.id = task.id AND new.action = 'created')
  ON CONFLICT DO NOTHING;
END $$;
--> statement-breakpoint
CREATE FUNCTION "record_approval_changes"(approval_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(approval_ids) = 0 THEN
    RETURN;
  END IF;
  INSERT INTO public.changes (organization_id, board_id, type, action, id, task_id)
  SELECT board.organization_id, approval.board_id, 'approval', 'updated', approval.id, approval.task_id
  FROM public.approvals AS approval JOIN public.boards AS board ON board.id = approval.board_id
  WHERE approval.id = ANY (approval_ids)
  ON CONFLICT DO NOTHING;
END $$;
--> statement-breakpoint
CREATE FUNCTION "record_board"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN
    PERFORM public.record_change('board', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.id, NULL, NEW.organization_id);
    RETURN NEW;
  END IF;
  INSERT INTO public.changes (organization_id, board_id, type, action, id, readers)
  SELECT organization.id, OLD.id, 'board', 'removed', OLD.id, ARRAY(
    SELECT access.organization_member_id FROM public.organization_board_access AS access
    WHERE access.board_id = OLD.id AND (access.can_read OR access.can_write)) || OLD.gateway_id
  FROM public.organizations AS organization WHERE organization.id = OLD.organization_id
  ON CONFLICT DO NOTHING;
  RETURN OLD;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_boards" AFTER INSERT OR UPDATE ON "boards" FOR EACH ROW EXECUTE FUNCTION "record_board"();
--> statement-breakpoint
CREATE TRIGGER "changes_before_removal_of_boards" BEFORE DELETE ON "boards" FOR EACH ROW EXECUTE FUNCTION "record_board"();
--> statement-breakpoint
CREATE FUNCTION "record_task"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM public.record_change('task', 'removed', OLD.id, OLD.board_id, OLD.id, NULL);
    RETURN NULL;
  END IF;
  PERFORM public.record_change('task', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.board_id, NEW.id, NULL);
  IF TG_OP = 'UPDATE' THEN
    IF (OLD.status = 'done') <> (NEW.status = 'done') THEN
      PERFORM public.record_task_changes(ARRAY(
        SELECT link.task_id FROM public.task_dependencies AS link WHERE link.depends_on_task_id = NEW.id));
    END IF;
    IF OLD.title <> NEW.title THEN
      PERFORM public.record_approval_changes(ARRAY(
        SELECT link.approval_id FROM public.approval_task_links AS link WHERE link.task_id = NEW.id));
    END IF;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_tasks" AFTER INSERT OR DELETE ON "tasks" FOR EACH ROW EXECUTE FUNCTION "record_task"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_updated_tasks" AFTER UPDATE ON "tasks" FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION "record_task"();
--> statement-breakpoint
CREATE FUNCTION "record_part_of_task"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_task_changes(ARRAY[CASE TG_OP WHEN 'DELETE' THEN OLD.task_id ELSE NEW.task_id END]);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_tag_assignments" AFTER INSERT OR UPDATE OR DELETE ON "tag_assignments" FOR EACH ROW EXECUTE FUNCTION "record_part_of_task"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_task_dependencies" AFTER INSERT OR UPDATE OR DELETE ON "task_dependencies" FOR EACH ROW EXECUTE FUNCTION "record_part_of_task"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_task_custom_field_values" AFTER INSERT OR UPDATE OR DELETE ON "task_custom_field_values" FOR EACH ROW EXECUTE FUNCTION "record_part_of_task"();
--> statement-breakpoint
CREATE FUNCTION "record_tag"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_task_changes(ARRAY(
    SELECT assignment.task_id FROM public.tag_assignments AS assignment WHERE assignment.tag_id = NEW.id));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_tags" AFTER UPDATE ON "tags" FOR EACH ROW WHEN ((OLD.name, OLD.slug, OLD.color) IS DISTINCT FROM (NEW.name, NEW.slug, NEW.color)) EXECUTE FUNCTION "record_tag"();
--> statement-breakpoint
CREATE FUNCTION "record_custom_field"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_task_changes(ARRAY(
    SELECT task.id FROM public.board_task_custom_fields AS bound JOIN public.tasks AS task ON task.board_id = bound.board_id
    WHERE bound.definition_id = NEW.id));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_custom_fields" AFTER UPDATE ON "task_custom_field_definitions" FOR EACH ROW WHEN ((OLD.field_key, OLD.label, OLD.default_value::text) IS DISTINCT FROM (NEW.field_key, NEW.label, NEW.default_value::text)) EXECUTE FUNCTION "record_custom_field"();
--> statement-breakpoint
CREATE FUNCTION "record_bound_field"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_task_changes(ARRAY(
    SELECT task.id FROM public.tasks AS task WHERE task.board_id = CASE TG_OP WHEN 'DELETE' THEN OLD.board_id ELSE NEW.board_id END));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_bound_fields" AFTER INSERT OR DELETE ON "board_task_custom_fields" FOR EACH ROW EXECUTE FUNCTION "record_bound_field"();
--> statement-breakpoint
CREATE FUNCTION "record_comment"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO public.changes (organization_id, board_id, type, action, id, task_id, actor_type, actor_id)
    VALUES (NEW.organization_id, NEW.board_id, 'comment', 'created', NEW.id, NEW.task_id,
      CASE WHEN NEW.agent_id IS NOT NULL THEN 'agent' WHEN NEW.user_id IS NOT NULL THEN 'user' ELSE 'system' END,
      coalesce(NEW.agent_id, NEW.user_id));
  -- The comments of a removed board go without entries.
  ELSIF EXISTS (SELECT FROM public.boards AS board WHERE board.id = OLD.board_id) THEN
    PERFORM public.record_change('comment', CASE WHEN TG_OP = 'UPDATE' AND NEW.task_id IS NOT NULL THEN 'updated' ELSE 'removed' END,
      OLD.id, OLD.board_id, OLD.task_id, OLD.organization_id);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_new_comments" AFTER INSERT ON "activity_events" FOR EACH ROW WHEN (NEW.event_type = 'task.comment' AND NEW.board_id IS NOT NULL AND NEW.task_id IS NOT NULL) EXECUTE FUNCTION "record_comment"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_updated_comments" AFTER UPDATE ON "activity_events" FOR EACH ROW WHEN (NEW.event_type = 'task.comment' AND OLD.board_id IS NOT NULL AND OLD.task_id IS NOT NULL
  AND (OLD.task_id, OLD.agent_id, OLD.user_id, OLD.message) IS DISTINCT FROM (NEW.task_id, NEW.agent_id, NEW.user_id, NEW.message)) EXECUTE FUNCTION "record_comment"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_removed_comments" AFTER DELETE ON "activity_events" FOR EACH ROW WHEN (OLD.event_type = 'task.comment' AND OLD.board_id IS NOT NULL AND OLD.task_id IS NOT NULL) EXECUTE FUNCTION "record_comment"();
--> statement-breakpoint
CREATE FUNCTION "record_approval"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM public.record_change('approval', 'removed', OLD.id, OLD.board_id, OLD.task_id, NULL);
  ELSE
    PERFORM public.record_change('approval', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.board_id, NEW.task_id, NULL);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_approvals" AFTER INSERT OR DELETE ON "approvals" FOR EACH ROW EXECUTE FUNCTION "record_approval"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_updated_approvals" AFTER UPDATE ON "approvals" FOR EACH ROW WHEN ((OLD.change_seq, OLD.updated_at, OLD.agent_id, OLD.resolved_by_user_id)
  IS DISTINCT FROM (NEW.change_seq, NEW.updated_at, NEW.agent_id, NEW.resolved_by_user_id)) EXECUTE FUNCTION "record_approval"();
--> statement-breakpoint
CREATE FUNCTION "record_link_of_approval"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_approval_changes(ARRAY[OLD.approval_id]);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_approval_links" AFTER DELETE ON "approval_task_links" FOR EACH ROW EXECUTE FUNCTION "record_link_of_approval"();
--> statement-breakpoint
CREATE FUNCTION "record_memory"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_change('memory', 'created', NEW.id, NEW.board_id, NULL, NULL);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_memory" AFTER INSERT ON "board_memory" FOR EACH ROW EXECUTE FUNCTION "record_memory"();
--> statement-breakpoint
CREATE FUNCTION "record_agent"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  in_organization uuid;
BEGIN
  SELECT gateway.organization_id INTO in_organization FROM public.gateways AS gateway
  WHERE gateway.id = CASE TG_OP WHEN 'DELETE' THEN OLD.gateway_id ELSE NEW.gateway_id END;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.board_id IS DISTINCT FROM NEW.board_id) THEN
    -- An agent that moves leaves the readers of its former board.
    PERFORM public.record_change('agent', 'removed', OLD.id, OLD.board_id, NULL, in_organization);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM public.record_change('agent', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.board_id, NULL, in_organization);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_agents" AFTER INSERT OR DELETE ON "agents" FOR EACH ROW EXECUTE FUNCTION "record_agent"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_updated_agents" AFTER UPDATE ON "agents" FOR EACH ROW WHEN ((OLD.board_id, OLD.change_seq, OLD.updated_at) IS DISTINCT FROM (NEW.board_id, NEW.change_seq, NEW.updated_at)) EXECUTE FUNCTION "record_agent"();
