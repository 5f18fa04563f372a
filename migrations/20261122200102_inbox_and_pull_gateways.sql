CREATE TABLE "inbox_acknowledgements" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"acknowledged_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "inbox_messages" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"organization_id" uuid NOT NULL,
	"board_id" uuid,
	"agent_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"text" text NOT NULL,
	"task_id" uuid,
	"acknowledged_at" timestamp (3) with time zone,
	"tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "inbox_messages_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
ALTER TABLE "gateways" DROP CONSTRAINT "gateways_not_blank";--> statement-breakpoint
ALTER TABLE "gateways" ADD COLUMN "kind" text DEFAULT 'openclaw' NOT NULL;--> statement-breakpoint
ALTER TABLE "inbox_acknowledgements" ADD CONSTRAINT "inbox_acknowledgements_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inbox_messages" ADD CONSTRAINT "inbox_messages_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inbox_messages" ADD CONSTRAINT "inbox_messages_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inbox_messages" ADD CONSTRAINT "inbox_messages_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inbox_messages" ADD CONSTRAINT "inbox_messages_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "inbox_messages_unread" ON "inbox_messages" USING btree ("agent_id","tx","seq") WHERE acknowledged_at is null;--> statement-breakpoint
CREATE INDEX "inbox_messages_by_agent" ON "inbox_messages" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "inbox_messages_by_board" ON "inbox_messages" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "inbox_messages_by_organization" ON "inbox_messages" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "inbox_messages_by_task" ON "inbox_messages" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "inbox_messages_by_age" ON "inbox_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "approvals_by_decision" ON "approvals" USING btree ("board_id","resolved_at") WHERE resolved_at is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_unfinished" ON "tasks" USING btree ("assigned_agent_id") WHERE status in ('inbox', 'in_progress');--> statement-breakpoint
ALTER TABLE "gateways" ADD CONSTRAINT "gateways_kind" CHECK ("gateways"."kind" in ('openclaw', 'pull'));--> statement-breakpoint
ALTER TABLE "gateways" ADD CONSTRAINT "gateways_not_blank" CHECK (trim("gateways"."name") <> '' and ("gateways"."kind" = 'pull' or (trim("gateways"."url") <> '' and trim("gateways"."workspace_root") <> '')));