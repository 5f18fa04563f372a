CREATE TABLE "approval_task_links" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"approval_id" uuid NOT NULL,
	"task_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"pending" boolean NOT NULL,
	CONSTRAINT "approval_task_links_task" UNIQUE("approval_id","task_id")
);
--> statement-breakpoint
CREATE TABLE "approvals" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"board_id" uuid NOT NULL,
	"agent_id" uuid,
	"action_type" text NOT NULL,
	"payload" jsonb,
	"confidence" double precision,
	"rubric_scores" jsonb,
	"status" text DEFAULT 'pending' NOT NULL,
	"task_id" uuid,
	"resolved_at" timestamp (3) with time zone,
	"resolved_by_user_id" uuid,
	"change_tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"change_seq" bigint DEFAULT nextval('change_seq') NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "approvals_status" CHECK ("approvals"."status" in ('pending', 'approved', 'rejected')),
	CONSTRAINT "approvals_confidence" CHECK ("approvals"."confidence" between 0 and 100)
);
--> statement-breakpoint
CREATE TABLE "board_group_memory" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"board_group_id" uuid NOT NULL,
	"content" text NOT NULL,
	"tags" text[],
	"source" text,
	"is_chat" boolean DEFAULT false NOT NULL,
	"tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "board_group_memory_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "board_onboarding_sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"board_id" uuid NOT NULL,
	"session_key" text NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"messages" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"draft_goal" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "board_onboarding_status" CHECK ("board_onboarding_sessions"."status" in ('active', 'completed', 'confirmed'))
);
--> statement-breakpoint
CREATE TABLE "organization_invite_board_access" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"organization_invite_id" uuid NOT NULL,
	"board_id" uuid NOT NULL,
	"can_read" boolean NOT NULL,
	"can_write" boolean NOT NULL,
	CONSTRAINT "organization_invite_board_access_board" UNIQUE("organization_invite_id","board_id")
);
--> statement-breakpoint
CREATE TABLE "organization_invites" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"invited_email" text NOT NULL,
	"token_digest" text NOT NULL,
	"token_sealed" "bytea" NOT NULL,
	"role" text NOT NULL,
	"all_boards_read" boolean DEFAULT false NOT NULL,
	"all_boards_write" boolean DEFAULT false NOT NULL,
	"created_by_user_id" uuid,
	"accepted_by_user_id" uuid,
	"accepted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "organization_invites_token_digest_unique" UNIQUE("token_digest"),
	CONSTRAINT "organization_invites_role" CHECK ("organization_invites"."role" in ('owner', 'admin', 'member'))
);
--> statement-breakpoint
CREATE TABLE "board_task_custom_fields" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"board_id" uuid NOT NULL,
	"definition_id" uuid NOT NULL,
	CONSTRAINT "board_task_custom_fields_definition" UNIQUE("board_id","definition_id")
);
--> statement-breakpoint
CREATE TABLE "task_custom_field_definitions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"field_key" text NOT NULL,
	"label" text NOT NULL,
	"field_type" text NOT NULL,
	"ui_visibility" text NOT NULL,
	"validation_regex" text,
	"description" text,
	"required" boolean DEFAULT false NOT NULL,
	"default_value" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "task_custom_field_definitions_key" UNIQUE("organization_id","field_key"),
	CONSTRAINT "task_custom_field_definitions_type" CHECK ("task_custom_field_definitions"."field_type" in ('text', 'text_long', 'integer', 'decimal', 'boolean', 'date', 'date_time', 'url', 'json')),
	CONSTRAINT "task_custom_field_definitions_visibility" CHECK ("task_custom_field_definitions"."ui_visibility" in ('always', 'if_set', 'hidden'))
);
--> statement-breakpoint
CREATE TABLE "task_custom_field_values" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"task_id" uuid NOT NULL,
	"definition_id" uuid NOT NULL,
	"value" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "task_custom_field_values_definition" UNIQUE("task_id","definition_id")
);
--> statement-breakpoint
CREATE TABLE "task_dependencies" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"board_id" uuid NOT NULL,
	"task_id" uuid NOT NULL,
	"depends_on_task_id" uuid NOT NULL,
	"position" integer NOT NULL,
	CONSTRAINT "task_dependencies_task" UNIQUE("task_id","depends_on_task_id"),
	CONSTRAINT "task_dependencies_other" CHECK ("task_dependencies"."task_id" <> "task_dependencies"."depends_on_task_id")
);
--> statement-breakpoint
ALTER TABLE "approval_task_links" ADD CONSTRAINT "approval_task_links_approval_id_approvals_id_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approval_task_links" ADD CONSTRAINT "approval_task_links_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_resolved_by_user_id_users_id_fk" FOREIGN KEY ("resolved_by_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_group_memory" ADD CONSTRAINT "board_group_memory_board_group_id_board_groups_id_fk" FOREIGN KEY ("board_group_id") REFERENCES "public"."board_groups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_onboarding_sessions" ADD CONSTRAINT "board_onboarding_sessions_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_invite_board_access" ADD CONSTRAINT "organization_invite_board_access_organization_invite_id_organization_invites_id_fk" FOREIGN KEY ("organization_invite_id") REFERENCES "public"."organization_invites"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_invite_board_access" ADD CONSTRAINT "organization_invite_board_access_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_invites" ADD CONSTRAINT "organization_invites_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_invites" ADD CONSTRAINT "organization_invites_created_by_user_id_users_id_fk" FOREIGN KEY ("created_by_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_invites" ADD CONSTRAINT "organization_invites_accepted_by_user_id_users_id_fk" FOREIGN KEY ("accepted_by_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_task_custom_fields" ADD CONSTRAINT "board_task_custom_fields_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_task_custom_fields" ADD CONSTRAINT "board_task_custom_fields_definition_id_task_custom_field_definitions_id_fk" FOREIGN KEY ("definition_id") REFERENCES "public"."task_custom_field_definitions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_custom_field_definitions" ADD CONSTRAINT "task_custom_field_definitions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_custom_field_values" ADD CONSTRAINT "task_custom_field_values_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_custom_field_values" ADD CONSTRAINT "task_custom_field_values_definition_id_task_custom_field_definitions_id_fk" FOREIGN KEY ("definition_id") REFERENCES "public"."task_custom_field_definitions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_dependencies" ADD CONSTRAINT "task_dependencies_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_dependencies" ADD CONSTRAINT "task_dependencies_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_dependencies" ADD CONSTRAINT "task_dependencies_depends_on_task_id_tasks_id_fk" FOREIGN KEY ("depends_on_task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "approval_task_links_pending" ON "approval_task_links" USING btree ("task_id") WHERE pending;--> statement-breakpoint
CREATE INDEX "approval_task_links_by_task" ON "approval_task_links" USING btree ("task_id","approval_id");--> statement-breakpoint
CREATE INDEX "approvals_by_board" ON "approvals" USING btree ("board_id","created_at","id");--> statement-breakpoint
CREATE INDEX "approvals_by_status" ON "approvals" USING btree ("board_id","status","created_at","id");--> statement-breakpoint
CREATE INDEX "approvals_by_task" ON "approvals" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "approvals_by_agent" ON "approvals" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "approvals_by_resolver" ON "approvals" USING btree ("resolved_by_user_id");--> statement-breakpoint
CREATE INDEX "approvals_by_change" ON "approvals" USING btree ("board_id","change_tx","change_seq");--> statement-breakpoint
CREATE INDEX "board_group_memory_by_group" ON "board_group_memory" USING btree ("board_group_id","created_at","id");--> statement-breakpoint
CREATE INDEX "board_group_memory_by_kind" ON "board_group_memory" USING btree ("board_group_id","is_chat","created_at","id");--> statement-breakpoint
CREATE INDEX "board_group_memory_in_commit_order" ON "board_group_memory" USING btree ("board_group_id","tx","seq");--> statement-breakpoint
CREATE UNIQUE INDEX "board_onboarding_one_active" ON "board_onboarding_sessions" USING btree ("board_id") WHERE status = 'active';--> statement-breakpoint
CREATE INDEX "board_onboarding_by_board" ON "board_onboarding_sessions" USING btree ("board_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "organization_invite_board_access_by_board" ON "organization_invite_board_access" USING btree ("board_id");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_invites_open" ON "organization_invites" USING btree ("organization_id","invited_email") WHERE accepted_at is null;--> statement-breakpoint
CREATE INDEX "organization_invites_by_organization" ON "organization_invites" USING btree ("organization_id","created_at","id") WHERE accepted_at is null;--> statement-breakpoint
CREATE INDEX "organization_invites_by_creator" ON "organization_invites" USING btree ("created_by_user_id");--> statement-breakpoint
CREATE INDEX "organization_invites_by_accepter" ON "organization_invites" USING btree ("accepted_by_user_id");--> statement-breakpoint
CREATE INDEX "board_task_custom_fields_by_definition" ON "board_task_custom_fields" USING btree ("definition_id");--> statement-breakpoint
CREATE INDEX "task_custom_field_definitions_by_label" ON "task_custom_field_definitions" USING btree ("organization_id",lower("label"),"id");--> statement-breakpoint
CREATE INDEX "task_custom_field_values_by_definition" ON "task_custom_field_values" USING btree ("definition_id");--> statement-breakpoint
CREATE INDEX "task_dependencies_by_dependency" ON "task_dependencies" USING btree ("depends_on_task_id");--> statement-breakpoint
CREATE INDEX "task_dependencies_by_board" ON "task_dependencies" USING btree ("board_id");