CREATE TABLE "artifact_orphans" (
	"artifact_id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "artifact_reviews" (
	"artifact_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"paths" text[] NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "artifact_reviews_artifact_id_user_id_pk" PRIMARY KEY("artifact_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "artifact_usage" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "artifacts" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"board_id" uuid NOT NULL,
	"task_id" uuid NOT NULL,
	"run_id" uuid,
	"name" text NOT NULL,
	"content_type" text NOT NULL,
	"size" bigint NOT NULL,
	"sha256" text NOT NULL,
	"status" text NOT NULL,
	"content" "bytea",
	"agent_id" uuid,
	"user_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"completed_at" timestamp (3) with time zone,
	CONSTRAINT "artifacts_status" CHECK ("artifacts"."status" in ('uploading', 'ready'))
);
--> statement-breakpoint
ALTER TABLE "changes" DROP CONSTRAINT "changes_type";--> statement-breakpoint
ALTER TABLE "activity_events" ADD COLUMN "anchor" jsonb;--> statement-breakpoint
ALTER TABLE "artifact_reviews" ADD CONSTRAINT "artifact_reviews_artifact_id_artifacts_id_fk" FOREIGN KEY ("artifact_id") REFERENCES "public"."artifacts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifact_reviews" ADD CONSTRAINT "artifact_reviews_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifact_reviews" ADD CONSTRAINT "artifact_reviews_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifact_usage" ADD CONSTRAINT "artifact_usage_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "artifact_orphans_by_due" ON "artifact_orphans" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "artifact_reviews_by_user" ON "artifact_reviews" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "artifact_reviews_by_organization" ON "artifact_reviews" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "artifacts_by_task" ON "artifacts" USING btree ("task_id","created_at","id");--> statement-breakpoint
CREATE INDEX "artifacts_by_board" ON "artifacts" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "artifacts_by_organization" ON "artifacts" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "artifacts_by_user" ON "artifacts" USING btree ("user_id") WHERE user_id is not null;--> statement-breakpoint
CREATE INDEX "artifacts_unfinished" ON "artifacts" USING btree ("created_at") WHERE status = 'uploading';--> statement-breakpoint
ALTER TABLE "changes" ADD CONSTRAINT "changes_type" CHECK ("changes"."type" in ('task', 'comment', 'approval', 'memory', 'agent', 'board', 'run', 'budget', 'artifact'));
--> statement-breakpoint
CREATE FUNCTION "count_text_of_artifacts"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."name") + octet_length(NEW."content_type"));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."name") + octet_length(NEW."content_type")) - (200 + octet_length(OLD."name") + octet_length(OLD."content_type")));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."name") + octet_length(item."content_type"))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_artifacts" AFTER INSERT ON "artifacts" FOR EACH ROW EXECUTE FUNCTION "count_text_of_artifacts"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_artifacts" AFTER UPDATE OF "name", "content_type" ON "artifacts" FOR EACH ROW WHEN ((200 + octet_length(OLD."name") + octet_length(OLD."content_type")) <> (200 + octet_length(NEW."name") + octet_length(NEW."content_type"))) EXECUTE FUNCTION "count_text_of_artifacts"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_artifacts" AFTER DELETE ON "artifacts" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_artifacts"();
--> statement-breakpoint
CREATE FUNCTION "count_text_of_artifact_reviews"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."paths"::text));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."paths"::text)) - (200 + octet_length(OLD."paths"::text)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."paths"::text))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_artifact_reviews" AFTER INSERT ON "artifact_reviews" FOR EACH ROW EXECUTE FUNCTION "count_text_of_artifact_reviews"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_artifact_reviews" AFTER UPDATE OF "paths" ON "artifact_reviews" FOR EACH ROW WHEN ((200 + octet_length(OLD."paths"::text)) <> (200 + octet_length(NEW."paths"::text))) EXECUTE FUNCTION "count_text_of_artifact_reviews"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_artifact_reviews" AFTER DELETE ON "artifact_reviews" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_artifact_reviews"();
--> statement-breakpoint
CREATE FUNCTION "free_artifacts"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.artifact_usage AS usage SET bytes = usage.bytes - freed.bytes
  FROM (SELECT item.organization_id, sum(item.size)::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed
  WHERE usage.organization_id = freed.organization_id;
  -- Objects in the file storage. An upload may still be running, so they are deleted an hour later.
  INSERT INTO public.artifact_orphans (artifact_id, organization_id, due_at)
  SELECT item.id, item.organization_id, now() + interval '1 hour' FROM removed AS item WHERE item.content IS NULL
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "freed_artifacts" AFTER DELETE ON "artifacts" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "free_artifacts"();
--> statement-breakpoint
CREATE FUNCTION "record_artifact"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM public.record_change('artifact', 'removed', OLD.id, OLD.board_id, OLD.task_id, NULL);
  ELSE
    PERFORM public.record_change('artifact', CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.id, NEW.board_id, NEW.task_id, NULL);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_artifacts" AFTER INSERT OR DELETE ON "artifacts" FOR EACH ROW EXECUTE FUNCTION "record_artifact"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_updated_artifacts" AFTER UPDATE ON "artifacts" FOR EACH ROW WHEN ((OLD.status, OLD.content_type, OLD.user_id) IS DISTINCT FROM (NEW.status, NEW.content_type, NEW.user_id)) EXECUTE FUNCTION "record_artifact"();
