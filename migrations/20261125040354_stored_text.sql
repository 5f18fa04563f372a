CREATE TABLE "organization_text_usage" (
	"organization_id" uuid NOT NULL,
	"shard" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"counted_at" timestamp (3) with time zone,
	CONSTRAINT "organization_text_usage_organization_id_shard_pk" PRIMARY KEY("organization_id","shard")
);
--> statement-breakpoint
ALTER TABLE "organization_text_usage" ADD CONSTRAINT "organization_text_usage_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Room for many versions of a row on its page, which are removed early, since each change reads them.
ALTER TABLE "organization_text_usage" SET (fillfactor = 10);
--> statement-breakpoint
-- Requests name the budget after their actor; what the service does by itself has none.
CREATE FUNCTION "refuse_text"(used bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The organization has no room for more text.' USING ERRCODE = 'program_limit_exceeded',
    CONSTRAINT = 'organization_text_bytes', DETAIL = used || ' ' || nullif(split_part(current_setting('changes.actor', true), ':', 3), '')::bigint;
END $$;
--> statement-breakpoint
-- Adds to the texts of an organization: to any shard that no other transaction holds, else to a new one, so that it never waits.
CREATE FUNCTION "add_text_bytes"(in_organization uuid, added bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  used bigint;
BEGIN
  IF in_organization IS NULL OR added = 0 THEN
    RETURN;
  END IF;
  FOR attempt IN 1..2 LOOP
    UPDATE public.organization_text_usage AS usage SET bytes = usage.bytes + added
    WHERE usage.organization_id = in_organization AND usage.shard = (
      SELECT free.shard FROM public.organization_text_usage AS free WHERE free.organization_id = in_organization
      LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING added + (SELECT sum(total.bytes) FROM public.organization_text_usage AS total
      WHERE total.organization_id = usage.organization_id) INTO used;
    EXIT WHEN FOUND;
    -- An organization that is being removed gets none.
    INSERT INTO public.organization_text_usage (organization_id, shard, bytes)
    SELECT organization.id, pg_current_xact_id()::text::bigint, 0
    FROM public.organizations AS organization WHERE organization.id = in_organization;
  END LOOP;
  IF added > 0 AND used > nullif(split_part(current_setting('changes.actor', true), ':', 3), '')::bigint THEN
    PERFORM public.refuse_text(used - added);
  END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION "count_text_of_activity_events"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added bigint;
  used bigint;
BEGIN
  -- The most frequent inserts do without the call of another function, which costs as much as the count.
  IF TG_OP = 'INSERT' THEN
    added := 200 + coalesce(octet_length(NEW."message"), 0) + coalesce(octet_length(NEW."tags"::text), 0);
    UPDATE public.organization_text_usage AS usage SET bytes = usage.bytes + added
    WHERE usage.organization_id = NEW."organization_id" AND usage.shard = (
      SELECT free.shard FROM public.organization_text_usage AS free WHERE free.organization_id = NEW."organization_id"
      LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING added + (SELECT sum(total.bytes) FROM public.organization_text_usage AS total
      WHERE total.organization_id = usage.organization_id) INTO used;
    IF NOT FOUND THEN
      PERFORM public.add_text_bytes(NEW."organization_id", added);
    ELSIF used > nullif(split_part(current_setting('changes.actor', true), ':', 3), '')::bigint THEN
      PERFORM public.refuse_text(used - added);
    END IF;
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + coalesce(octet_length(NEW."message"), 0) + coalesce(octet_length(NEW."tags"::text), 0)) - (200 + coalesce(octet_length(OLD."message"), 0) + coalesce(octet_length(OLD."tags"::text), 0)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + coalesce(octet_length(item."message"), 0) + coalesce(octet_length(item."tags"::text), 0))::bigint AS bytes FROM removed AS item WHERE item.event_type = 'task.comment' GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_activity_events" AFTER INSERT ON "activity_events" FOR EACH ROW WHEN (NEW.event_type = 'task.comment') EXECUTE FUNCTION "count_text_of_activity_events"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_activity_events" AFTER UPDATE OF "message", "tags" ON "activity_events" FOR EACH ROW WHEN (NEW.event_type = 'task.comment' AND (200 + coalesce(octet_length(OLD."message"), 0) + coalesce(octet_length(OLD."tags"::text), 0)) <> (200 + coalesce(octet_length(NEW."message"), 0) + coalesce(octet_length(NEW."tags"::text), 0))) EXECUTE FUNCTION "count_text_of_activity_events"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_activity_events" AFTER DELETE ON "activity_events" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_activity_events"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_agents"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."gateways" AS parent WHERE parent.id = NEW."gateway_id"), 200 + octet_length(NEW."name") + coalesce(octet_length(NEW."heartbeat_config"::text), 0) + coalesce(octet_length(NEW."identity_profile"::text), 0) + coalesce(octet_length(NEW."identity_template"), 0) + coalesce(octet_length(NEW."soul_template"), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."gateways" AS parent WHERE parent.id = NEW."gateway_id"), (200 + octet_length(NEW."name") + coalesce(octet_length(NEW."heartbeat_config"::text), 0) + coalesce(octet_length(NEW."identity_profile"::text), 0) + coalesce(octet_length(NEW."identity_template"), 0) + coalesce(octet_length(NEW."soul_template"), 0)) - (200 + octet_length(OLD."name") + coalesce(octet_length(OLD."heartbeat_config"::text), 0) + coalesce(octet_length(OLD."identity_profile"::text), 0) + coalesce(octet_length(OLD."identity_template"), 0) + coalesce(octet_length(OLD."soul_template"), 0)));
  ELSE
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."gateways" AS parent WHERE parent.id = freed.owner_id), -freed.bytes)
    FROM (SELECT item."gateway_id" AS owner_id, sum(200 + octet_length(item."name") + coalesce(octet_length(item."heartbeat_config"::text), 0) + coalesce(octet_length(item."identity_profile"::text), 0) + coalesce(octet_length(item."identity_template"), 0) + coalesce(octet_length(item."soul_template"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_agents" AFTER INSERT ON "agents" FOR EACH ROW EXECUTE FUNCTION "count_text_of_agents"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_agents" AFTER UPDATE OF "name", "heartbeat_config", "identity_profile", "identity_template", "soul_template" ON "agents" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + coalesce(octet_length(OLD."heartbeat_config"::text), 0) + coalesce(octet_length(OLD."identity_profile"::text), 0) + coalesce(octet_length(OLD."identity_template"), 0) + coalesce(octet_length(OLD."soul_template"), 0)) <> (200 + octet_length(NEW."name") + coalesce(octet_length(NEW."heartbeat_config"::text), 0) + coalesce(octet_length(NEW."identity_profile"::text), 0) + coalesce(octet_length(NEW."identity_template"), 0) + coalesce(octet_length(NEW."soul_template"), 0))) EXECUTE FUNCTION "count_text_of_agents"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_agents" AFTER DELETE ON "agents" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_agents"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_approvals"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), 200 + octet_length(NEW."action_type") + coalesce(octet_length(NEW."payload"::text), 0) + coalesce(octet_length(NEW."rubric_scores"::text), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), (200 + octet_length(NEW."action_type") + coalesce(octet_length(NEW."payload"::text), 0) + coalesce(octet_length(NEW."rubric_scores"::text), 0)) - (200 + octet_length(OLD."action_type") + coalesce(octet_length(OLD."payload"::text), 0) + coalesce(octet_length(OLD."rubric_scores"::text), 0)));
  ELSE
    PERFORM public.add_text_bytes(coalesce(
      (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = freed.owner_id),
      -- What a removed board takes along: the changes feed has its organization.
      (SELECT gone.organization_id FROM public.changes AS gone
        WHERE gone.tx = pg_current_xact_id() AND gone.id = freed.owner_id AND gone.action = 'removed')), -freed.bytes)
    FROM (SELECT item."board_id" AS owner_id, sum(200 + octet_length(item."action_type") + coalesce(octet_length(item."payload"::text), 0) + coalesce(octet_length(item."rubric_scores"::text), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_approvals" AFTER INSERT ON "approvals" FOR EACH ROW EXECUTE FUNCTION "count_text_of_approvals"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_approvals" AFTER UPDATE OF "action_type", "payload", "rubric_scores" ON "approvals" FOR EACH ROW WHEN ((200 + octet_length(OLD."action_type") + coalesce(octet_length(OLD."payload"::text), 0) + coalesce(octet_length(OLD."rubric_scores"::text), 0)) <> (200 + octet_length(NEW."action_type") + coalesce(octet_length(NEW."payload"::text), 0) + coalesce(octet_length(NEW."rubric_scores"::text), 0))) EXECUTE FUNCTION "count_text_of_approvals"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_approvals" AFTER DELETE ON "approvals" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_approvals"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_board_group_memory"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."board_groups" AS parent WHERE parent.id = NEW."board_group_id"), 200 + octet_length(NEW."content") + coalesce(octet_length(NEW."tags"::text), 0) + coalesce(octet_length(NEW."source"), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."board_groups" AS parent WHERE parent.id = NEW."board_group_id"), (200 + octet_length(NEW."content") + coalesce(octet_length(NEW."tags"::text), 0) + coalesce(octet_length(NEW."source"), 0)) - (200 + octet_length(OLD."content") + coalesce(octet_length(OLD."tags"::text), 0) + coalesce(octet_length(OLD."source"), 0)));
  ELSE
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."board_groups" AS parent WHERE parent.id = freed.owner_id), -freed.bytes)
    FROM (SELECT item."board_group_id" AS owner_id, sum(200 + octet_length(item."content") + coalesce(octet_length(item."tags"::text), 0) + coalesce(octet_length(item."source"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_board_group_memory" AFTER INSERT ON "board_group_memory" FOR EACH ROW EXECUTE FUNCTION "count_text_of_board_group_memory"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_board_group_memory" AFTER UPDATE OF "content", "tags", "source" ON "board_group_memory" FOR EACH ROW WHEN ((200 + octet_length(OLD."content") + coalesce(octet_length(OLD."tags"::text), 0) + coalesce(octet_length(OLD."source"), 0)) <> (200 + octet_length(NEW."content") + coalesce(octet_length(NEW."tags"::text), 0) + coalesce(octet_length(NEW."source"), 0))) EXECUTE FUNCTION "count_text_of_board_group_memory"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_board_group_memory" AFTER DELETE ON "board_group_memory" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_board_group_memory"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_board_groups"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + octet_length(NEW."slug") + coalesce(octet_length(NEW."description"), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + octet_length(NEW."slug") + coalesce(octet_length(NEW."description"), 0)) - (200 + octet_length(OLD."name") + octet_length(OLD."slug") + coalesce(octet_length(OLD."description"), 0)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + octet_length(item."slug") + coalesce(octet_length(item."description"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_board_groups" AFTER INSERT ON "board_groups" FOR EACH ROW EXECUTE FUNCTION "count_text_of_board_groups"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_board_groups" AFTER UPDATE OF "name", "slug", "description" ON "board_groups" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + octet_length(OLD."slug") + coalesce(octet_length(OLD."description"), 0)) <> (200 + octet_length(NEW."name") + octet_length(NEW."slug") + coalesce(octet_length(NEW."description"), 0))) EXECUTE FUNCTION "count_text_of_board_groups"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_board_groups" AFTER DELETE ON "board_groups" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_board_groups"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_board_memory"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added bigint;
  used bigint;
BEGIN
  -- The most frequent inserts do without the call of another function, which costs as much as the count.
  IF TG_OP = 'INSERT' THEN
    added := 200 + coalesce(octet_length(NEW."memory_key"), 0) + coalesce(octet_length(NEW."value"::text), 0) + octet_length(NEW."content") + coalesce(octet_length(NEW."tags"::text), 0) + coalesce(octet_length(NEW."source"), 0);
    UPDATE public.organization_text_usage AS usage SET bytes = usage.bytes + added
    WHERE usage.organization_id = (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id") AND usage.shard = (
      SELECT free.shard FROM public.organization_text_usage AS free WHERE free.organization_id = (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id")
      LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING added + (SELECT sum(total.bytes) FROM public.organization_text_usage AS total
      WHERE total.organization_id = usage.organization_id) INTO used;
    IF NOT FOUND THEN
      PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), added);
    ELSIF used > nullif(split_part(current_setting('changes.actor', true), ':', 3), '')::bigint THEN
      PERFORM public.refuse_text(used - added);
    END IF;
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), (200 + coalesce(octet_length(NEW."memory_key"), 0) + coalesce(octet_length(NEW."value"::text), 0) + octet_length(NEW."content") + coalesce(octet_length(NEW."tags"::text), 0) + coalesce(octet_length(NEW."source"), 0)) - (200 + coalesce(octet_length(OLD."memory_key"), 0) + coalesce(octet_length(OLD."value"::text), 0) + octet_length(OLD."content") + coalesce(octet_length(OLD."tags"::text), 0) + coalesce(octet_length(OLD."source"), 0)));
  ELSE
    PERFORM public.add_text_bytes(coalesce(
      (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = freed.owner_id),
      -- What a removed board takes along: the changes feed has its organization.
      (SELECT gone.organization_id FROM public.changes AS gone
        WHERE gone.tx = pg_current_xact_id() AND gone.id = freed.owner_id AND gone.action = 'removed')), -freed.bytes)
    FROM (SELECT item."board_id" AS owner_id, sum(200 + coalesce(octet_length(item."memory_key"), 0) + coalesce(octet_length(item."value"::text), 0) + octet_length(item."content") + coalesce(octet_length(item."tags"::text), 0) + coalesce(octet_length(item."source"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_board_memory" AFTER INSERT ON "board_memory" FOR EACH ROW EXECUTE FUNCTION "count_text_of_board_memory"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_board_memory" AFTER UPDATE OF "memory_key", "value", "content", "tags", "source" ON "board_memory" FOR EACH ROW WHEN ((200 + coalesce(octet_length(OLD."memory_key"), 0) + coalesce(octet_length(OLD."value"::text), 0) + octet_length(OLD."content") + coalesce(octet_length(OLD."tags"::text), 0) + coalesce(octet_length(OLD."source"), 0)) <> (200 + coalesce(octet_length(NEW."memory_key"), 0) + coalesce(octet_length(NEW."value"::text), 0) + octet_length(NEW."content") + coalesce(octet_length(NEW."tags"::text), 0) + coalesce(octet_length(NEW."source"), 0))) EXECUTE FUNCTION "count_text_of_board_memory"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_board_memory" AFTER DELETE ON "board_memory" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_board_memory"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_board_onboarding_sessions"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), 200 + octet_length(NEW."messages"::text) + coalesce(octet_length(NEW."draft_goal"::text), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), (200 + octet_length(NEW."messages"::text) + coalesce(octet_length(NEW."draft_goal"::text), 0)) - (200 + octet_length(OLD."messages"::text) + coalesce(octet_length(OLD."draft_goal"::text), 0)));
  ELSE
    PERFORM public.add_text_bytes(coalesce(
      (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = freed.owner_id),
      -- What a removed board takes along: the changes feed has its organization.
      (SELECT gone.organization_id FROM public.changes AS gone
        WHERE gone.tx = pg_current_xact_id() AND gone.id = freed.owner_id AND gone.action = 'removed')), -freed.bytes)
    FROM (SELECT item."board_id" AS owner_id, sum(200 + octet_length(item."messages"::text) + coalesce(octet_length(item."draft_goal"::text), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_board_onboarding_sessions" AFTER INSERT ON "board_onboarding_sessions" FOR EACH ROW EXECUTE FUNCTION "count_text_of_board_onboarding_sessions"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_board_onboarding_sessions" AFTER UPDATE OF "messages", "draft_goal" ON "board_onboarding_sessions" FOR EACH ROW WHEN ((200 + octet_length(OLD."messages"::text) + coalesce(octet_length(OLD."draft_goal"::text), 0)) <> (200 + octet_length(NEW."messages"::text) + coalesce(octet_length(NEW."draft_goal"::text), 0))) EXECUTE FUNCTION "count_text_of_board_onboarding_sessions"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_board_onboarding_sessions" AFTER DELETE ON "board_onboarding_sessions" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_board_onboarding_sessions"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_board_webhooks"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), 200 + octet_length(NEW."description") + coalesce(octet_length(NEW."event_types"::text), 0) + coalesce(octet_length(NEW."signature_header"), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), (200 + octet_length(NEW."description") + coalesce(octet_length(NEW."event_types"::text), 0) + coalesce(octet_length(NEW."signature_header"), 0)) - (200 + octet_length(OLD."description") + coalesce(octet_length(OLD."event_types"::text), 0) + coalesce(octet_length(OLD."signature_header"), 0)));
  ELSE
    PERFORM public.add_text_bytes(coalesce(
      (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = freed.owner_id),
      -- What a removed board takes along: the changes feed has its organization.
      (SELECT gone.organization_id FROM public.changes AS gone
        WHERE gone.tx = pg_current_xact_id() AND gone.id = freed.owner_id AND gone.action = 'removed')), -freed.bytes)
    FROM (SELECT item."board_id" AS owner_id, sum(200 + octet_length(item."description") + coalesce(octet_length(item."event_types"::text), 0) + coalesce(octet_length(item."signature_header"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_board_webhooks" AFTER INSERT ON "board_webhooks" FOR EACH ROW EXECUTE FUNCTION "count_text_of_board_webhooks"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_board_webhooks" AFTER UPDATE OF "description", "event_types", "signature_header" ON "board_webhooks" FOR EACH ROW WHEN ((200 + octet_length(OLD."description") + coalesce(octet_length(OLD."event_types"::text), 0) + coalesce(octet_length(OLD."signature_header"), 0)) <> (200 + octet_length(NEW."description") + coalesce(octet_length(NEW."event_types"::text), 0) + coalesce(octet_length(NEW."signature_header"), 0))) EXECUTE FUNCTION "count_text_of_board_webhooks"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_board_webhooks" AFTER DELETE ON "board_webhooks" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_board_webhooks"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_boards"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + octet_length(NEW."slug") + octet_length(NEW."description") + coalesce(octet_length(NEW."objective"), 0) + coalesce(octet_length(NEW."success_metrics"::text), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + octet_length(NEW."slug") + octet_length(NEW."description") + coalesce(octet_length(NEW."objective"), 0) + coalesce(octet_length(NEW."success_metrics"::text), 0)) - (200 + octet_length(OLD."name") + octet_length(OLD."slug") + octet_length(OLD."description") + coalesce(octet_length(OLD."objective"), 0) + coalesce(octet_length(OLD."success_metrics"::text), 0)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + octet_length(item."slug") + octet_length(item."description") + coalesce(octet_length(item."objective"), 0) + coalesce(octet_length(item."success_metrics"::text), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_boards" AFTER INSERT ON "boards" FOR EACH ROW EXECUTE FUNCTION "count_text_of_boards"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_boards" AFTER UPDATE OF "name", "slug", "description", "objective", "success_metrics" ON "boards" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + octet_length(OLD."slug") + octet_length(OLD."description") + coalesce(octet_length(OLD."objective"), 0) + coalesce(octet_length(OLD."success_metrics"::text), 0)) <> (200 + octet_length(NEW."name") + octet_length(NEW."slug") + octet_length(NEW."description") + coalesce(octet_length(NEW."objective"), 0) + coalesce(octet_length(NEW."success_metrics"::text), 0))) EXECUTE FUNCTION "count_text_of_boards"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_boards" AFTER DELETE ON "boards" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_boards"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_gateways"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + octet_length(NEW."url") + octet_length(NEW."workspace_root"));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + octet_length(NEW."url") + octet_length(NEW."workspace_root")) - (200 + octet_length(OLD."name") + octet_length(OLD."url") + octet_length(OLD."workspace_root")));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + octet_length(item."url") + octet_length(item."workspace_root"))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_gateways" AFTER INSERT ON "gateways" FOR EACH ROW EXECUTE FUNCTION "count_text_of_gateways"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_gateways" AFTER UPDATE OF "name", "url", "workspace_root" ON "gateways" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + octet_length(OLD."url") + octet_length(OLD."workspace_root")) <> (200 + octet_length(NEW."name") + octet_length(NEW."url") + octet_length(NEW."workspace_root"))) EXECUTE FUNCTION "count_text_of_gateways"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_gateways" AFTER DELETE ON "gateways" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_gateways"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_inbox_messages"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."text"));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."text")) - (200 + octet_length(OLD."text")));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."text"))::bigint AS bytes FROM removed AS item WHERE item.author_id IS NOT NULL GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_inbox_messages" AFTER INSERT ON "inbox_messages" FOR EACH ROW WHEN (NEW.author_id IS NOT NULL) EXECUTE FUNCTION "count_text_of_inbox_messages"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_inbox_messages" AFTER UPDATE OF "text" ON "inbox_messages" FOR EACH ROW WHEN (NEW.author_id IS NOT NULL AND (200 + octet_length(OLD."text")) <> (200 + octet_length(NEW."text"))) EXECUTE FUNCTION "count_text_of_inbox_messages"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_inbox_messages" AFTER DELETE ON "inbox_messages" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_inbox_messages"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_marketplace_skills"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + coalesce(octet_length(NEW."description"), 0) + coalesce(octet_length(NEW."category"), 0) + coalesce(octet_length(NEW."risk"), 0) + coalesce(octet_length(NEW."source_label"), 0) + octet_length(NEW."source_url") + octet_length(NEW."metadata"::text));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + coalesce(octet_length(NEW."description"), 0) + coalesce(octet_length(NEW."category"), 0) + coalesce(octet_length(NEW."risk"), 0) + coalesce(octet_length(NEW."source_label"), 0) + octet_length(NEW."source_url") + octet_length(NEW."metadata"::text)) - (200 + octet_length(OLD."name") + coalesce(octet_length(OLD."description"), 0) + coalesce(octet_length(OLD."category"), 0) + coalesce(octet_length(OLD."risk"), 0) + coalesce(octet_length(OLD."source_label"), 0) + octet_length(OLD."source_url") + octet_length(OLD."metadata"::text)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + coalesce(octet_length(item."description"), 0) + coalesce(octet_length(item."category"), 0) + coalesce(octet_length(item."risk"), 0) + coalesce(octet_length(item."source_label"), 0) + octet_length(item."source_url") + octet_length(item."metadata"::text))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_marketplace_skills" AFTER INSERT ON "marketplace_skills" FOR EACH ROW EXECUTE FUNCTION "count_text_of_marketplace_skills"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_marketplace_skills" AFTER UPDATE OF "name", "description", "category", "risk", "source_label", "source_url", "metadata" ON "marketplace_skills" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + coalesce(octet_length(OLD."description"), 0) + coalesce(octet_length(OLD."category"), 0) + coalesce(octet_length(OLD."risk"), 0) + coalesce(octet_length(OLD."source_label"), 0) + octet_length(OLD."source_url") + octet_length(OLD."metadata"::text)) <> (200 + octet_length(NEW."name") + coalesce(octet_length(NEW."description"), 0) + coalesce(octet_length(NEW."category"), 0) + coalesce(octet_length(NEW."risk"), 0) + coalesce(octet_length(NEW."source_label"), 0) + octet_length(NEW."source_url") + octet_length(NEW."metadata"::text))) EXECUTE FUNCTION "count_text_of_marketplace_skills"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_marketplace_skills" AFTER DELETE ON "marketplace_skills" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_marketplace_skills"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_organization_invites"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."invited_email"));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."invited_email")) - (200 + octet_length(OLD."invited_email")));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."invited_email"))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_organization_invites" AFTER INSERT ON "organization_invites" FOR EACH ROW EXECUTE FUNCTION "count_text_of_organization_invites"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_organization_invites" AFTER UPDATE OF "invited_email" ON "organization_invites" FOR EACH ROW WHEN ((200 + octet_length(OLD."invited_email")) <> (200 + octet_length(NEW."invited_email"))) EXECUTE FUNCTION "count_text_of_organization_invites"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_organization_invites" AFTER DELETE ON "organization_invites" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_organization_invites"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_skill_packs"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + coalesce(octet_length(NEW."description"), 0) + octet_length(NEW."source_url") + octet_length(NEW."branch") + octet_length(NEW."metadata"::text));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + coalesce(octet_length(NEW."description"), 0) + octet_length(NEW."source_url") + octet_length(NEW."branch") + octet_length(NEW."metadata"::text)) - (200 + octet_length(OLD."name") + coalesce(octet_length(OLD."description"), 0) + octet_length(OLD."source_url") + octet_length(OLD."branch") + octet_length(OLD."metadata"::text)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + coalesce(octet_length(item."description"), 0) + octet_length(item."source_url") + octet_length(item."branch") + octet_length(item."metadata"::text))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_skill_packs" AFTER INSERT ON "skill_packs" FOR EACH ROW EXECUTE FUNCTION "count_text_of_skill_packs"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_skill_packs" AFTER UPDATE OF "name", "description", "source_url", "branch", "metadata" ON "skill_packs" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + coalesce(octet_length(OLD."description"), 0) + octet_length(OLD."source_url") + octet_length(OLD."branch") + octet_length(OLD."metadata"::text)) <> (200 + octet_length(NEW."name") + coalesce(octet_length(NEW."description"), 0) + octet_length(NEW."source_url") + octet_length(NEW."branch") + octet_length(NEW."metadata"::text))) EXECUTE FUNCTION "count_text_of_skill_packs"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_skill_packs" AFTER DELETE ON "skill_packs" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_skill_packs"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_tags"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + octet_length(NEW."slug") + coalesce(octet_length(NEW."description"), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + octet_length(NEW."slug") + coalesce(octet_length(NEW."description"), 0)) - (200 + octet_length(OLD."name") + octet_length(OLD."slug") + coalesce(octet_length(OLD."description"), 0)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + octet_length(item."slug") + coalesce(octet_length(item."description"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_tags" AFTER INSERT ON "tags" FOR EACH ROW EXECUTE FUNCTION "count_text_of_tags"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_tags" AFTER UPDATE OF "name", "slug", "description" ON "tags" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + octet_length(OLD."slug") + coalesce(octet_length(OLD."description"), 0)) <> (200 + octet_length(NEW."name") + octet_length(NEW."slug") + coalesce(octet_length(NEW."description"), 0))) EXECUTE FUNCTION "count_text_of_tags"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_tags" AFTER DELETE ON "tags" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_tags"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_task_custom_field_definitions"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."field_key") + octet_length(NEW."label") + coalesce(octet_length(NEW."validation_regex"), 0) + coalesce(octet_length(NEW."description"), 0) + coalesce(octet_length(NEW."default_value"::text), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."field_key") + octet_length(NEW."label") + coalesce(octet_length(NEW."validation_regex"), 0) + coalesce(octet_length(NEW."description"), 0) + coalesce(octet_length(NEW."default_value"::text), 0)) - (200 + octet_length(OLD."field_key") + octet_length(OLD."label") + coalesce(octet_length(OLD."validation_regex"), 0) + coalesce(octet_length(OLD."description"), 0) + coalesce(octet_length(OLD."default_value"::text), 0)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."field_key") + octet_length(item."label") + coalesce(octet_length(item."validation_regex"), 0) + coalesce(octet_length(item."description"), 0) + coalesce(octet_length(item."default_value"::text), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_task_custom_field_definitions" AFTER INSERT ON "task_custom_field_definitions" FOR EACH ROW EXECUTE FUNCTION "count_text_of_task_custom_field_definitions"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_task_custom_field_definitions" AFTER UPDATE OF "field_key", "label", "validation_regex", "description", "default_value" ON "task_custom_field_definitions" FOR EACH ROW WHEN ((200 + octet_length(OLD."field_key") + octet_length(OLD."label") + coalesce(octet_length(OLD."validation_regex"), 0) + coalesce(octet_length(OLD."description"), 0) + coalesce(octet_length(OLD."default_value"::text), 0)) <> (200 + octet_length(NEW."field_key") + octet_length(NEW."label") + coalesce(octet_length(NEW."validation_regex"), 0) + coalesce(octet_length(NEW."description"), 0) + coalesce(octet_length(NEW."default_value"::text), 0))) EXECUTE FUNCTION "count_text_of_task_custom_field_definitions"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_task_custom_field_definitions" AFTER DELETE ON "task_custom_field_definitions" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_task_custom_field_definitions"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_task_custom_field_values"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."task_custom_field_definitions" AS parent WHERE parent.id = NEW."definition_id"), 200 + coalesce(octet_length(NEW."value"::text), 0));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."task_custom_field_definitions" AS parent WHERE parent.id = NEW."definition_id"), (200 + coalesce(octet_length(NEW."value"::text), 0)) - (200 + coalesce(octet_length(OLD."value"::text), 0)));
  ELSE
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."task_custom_field_definitions" AS parent WHERE parent.id = freed.owner_id), -freed.bytes)
    FROM (SELECT item."definition_id" AS owner_id, sum(200 + coalesce(octet_length(item."value"::text), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_task_custom_field_values" AFTER INSERT ON "task_custom_field_values" FOR EACH ROW EXECUTE FUNCTION "count_text_of_task_custom_field_values"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_task_custom_field_values" AFTER UPDATE OF "value" ON "task_custom_field_values" FOR EACH ROW WHEN ((200 + coalesce(octet_length(OLD."value"::text), 0)) <> (200 + coalesce(octet_length(NEW."value"::text), 0))) EXECUTE FUNCTION "count_text_of_task_custom_field_values"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_task_custom_field_values" AFTER DELETE ON "task_custom_field_values" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_task_custom_field_values"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_tasks"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added bigint;
  used bigint;
BEGIN
  -- The most frequent inserts do without the call of another function, which costs as much as the count.
  IF TG_OP = 'INSERT' THEN
    added := 200 + octet_length(NEW."title") + coalesce(octet_length(NEW."description"), 0);
    UPDATE public.organization_text_usage AS usage SET bytes = usage.bytes + added
    WHERE usage.organization_id = (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id") AND usage.shard = (
      SELECT free.shard FROM public.organization_text_usage AS free WHERE free.organization_id = (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id")
      LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING added + (SELECT sum(total.bytes) FROM public.organization_text_usage AS total
      WHERE total.organization_id = usage.organization_id) INTO used;
    IF NOT FOUND THEN
      PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), added);
    ELSIF used > nullif(split_part(current_setting('changes.actor', true), ':', 3), '')::bigint THEN
      PERFORM public.refuse_text(used - added);
    END IF;
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes((SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = NEW."board_id"), (200 + octet_length(NEW."title") + coalesce(octet_length(NEW."description"), 0)) - (200 + octet_length(OLD."title") + coalesce(octet_length(OLD."description"), 0)));
  ELSE
    PERFORM public.add_text_bytes(coalesce(
      (SELECT parent.organization_id FROM public."boards" AS parent WHERE parent.id = freed.owner_id),
      -- What a removed board takes along: the changes feed has its organization.
      (SELECT gone.organization_id FROM public.changes AS gone
        WHERE gone.tx = pg_current_xact_id() AND gone.id = freed.owner_id AND gone.action = 'removed')), -freed.bytes)
    FROM (SELECT item."board_id" AS owner_id, sum(200 + octet_length(item."title") + coalesce(octet_length(item."description"), 0))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_tasks" AFTER INSERT ON "tasks" FOR EACH ROW EXECUTE FUNCTION "count_text_of_tasks"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_tasks" AFTER UPDATE OF "title", "description" ON "tasks" FOR EACH ROW WHEN ((200 + octet_length(OLD."title") + coalesce(octet_length(OLD."description"), 0)) <> (200 + octet_length(NEW."title") + coalesce(octet_length(NEW."description"), 0))) EXECUTE FUNCTION "count_text_of_tasks"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_tasks" AFTER DELETE ON "tasks" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_tasks"();
