CREATE SEQUENCE "public"."change_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "activity_events" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"organization_id" uuid NOT NULL,
	"event_type" text NOT NULL,
	"message" text,
	"board_id" uuid,
	"task_id" uuid,
	"agent_id" uuid,
	"user_id" uuid,
	"tags" text[],
	"tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "activity_events_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "agents" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"gateway_id" uuid NOT NULL,
	"board_id" uuid,
	"name" text NOT NULL,
	"status" text DEFAULT 'provisioning' NOT NULL,
	"is_board_lead" boolean DEFAULT false NOT NULL,
	"openclaw_session_id" text,
	"agent_token_hash" text,
	"agent_token_lookup" text,
	"heartbeat_config" jsonb,
	"identity_profile" jsonb,
	"identity_template" text,
	"soul_template" text,
	"last_seen_at" timestamp (3) with time zone,
	"previous_status" text,
	"lifecycle_generation" integer DEFAULT 0 NOT NULL,
	"wake_attempts" integer DEFAULT 0 NOT NULL,
	"last_wake_sent_at" timestamp (3) with time zone,
	"checkin_deadline_at" timestamp (3) with time zone,
	"last_provision_error" text,
	"change_tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"change_seq" bigint DEFAULT nextval('change_seq') NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agents_lead_has_board" CHECK (not "agents"."is_board_lead" or "agents"."board_id" is not null),
	CONSTRAINT "agents_status" CHECK ("agents"."status" in ('online', 'updating', 'deleting', 'active', 'provisioning', 'ready', 'offline'))
);
--> statement-breakpoint
CREATE TABLE "board_groups" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"description" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "board_groups_slug" UNIQUE("organization_id","slug")
);
--> statement-breakpoint
CREATE TABLE "boards" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"gateway_id" uuid NOT NULL,
	"board_group_id" uuid,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"description" text NOT NULL,
	"board_type" text DEFAULT 'goal' NOT NULL,
	"objective" text,
	"success_metrics" jsonb,
	"target_date" timestamp (3) with time zone,
	"goal_confirmed" boolean DEFAULT false NOT NULL,
	"goal_source" text,
	"require_approval_for_done" boolean DEFAULT true NOT NULL,
	"require_review_before_done" boolean DEFAULT false NOT NULL,
	"comment_required_for_review" boolean DEFAULT false NOT NULL,
	"block_status_changes_with_pending_approval" boolean DEFAULT false NOT NULL,
	"only_lead_can_change_status" boolean DEFAULT false NOT NULL,
	"max_agents" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "boards_slug" UNIQUE("organization_id","slug"),
	CONSTRAINT "boards_type" CHECK ("boards"."board_type" in ('goal', 'project', 'ops', 'general')),
	CONSTRAINT "boards_goal_source" CHECK ("boards"."goal_source" in ('user', 'ai_generated')),
	CONSTRAINT "boards_max_agents" CHECK ("boards"."max_agents" >= 0)
);
--> statement-breakpoint
CREATE TABLE "rate_counters" (
	"scope" text NOT NULL,
	"key" text NOT NULL,
	"minute" timestamp (3) with time zone NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "rate_counters_scope_key_minute_pk" PRIMARY KEY("scope","key","minute")
);
--> statement-breakpoint
CREATE TABLE "service_keys" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"value_sealed" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "service_keys_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "gateways" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"token_sealed" "bytea",
	"workspace_root" text NOT NULL,
	"disable_device_pairing" boolean DEFAULT false NOT NULL,
	"allow_insecure_tls" boolean DEFAULT false NOT NULL,
	"version" text,
	"connected" boolean DEFAULT false NOT NULL,
	"last_error" text,
	"checked_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "gateways_not_blank" CHECK (trim("gateways"."name") <> '' and trim("gateways"."url") <> '' and trim("gateways"."workspace_root") <> '')
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"kind" text NOT NULL,
	"lane" text,
	"organization_id" uuid,
	"gateway_id" uuid,
	"payload" jsonb NOT NULL,
	"secret_sealed" "bytea",
	"dedupe_key" text,
	"run_at" timestamp (3) with time zone NOT NULL,
	"sent_at" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"max_attempts" integer NOT NULL,
	"crashes" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"status" text DEFAULT 'queued' NOT NULL,
	"last_error" text,
	"finished_at" timestamp (3) with time zone,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "jobs_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "jobs_status" CHECK ("jobs"."status" in ('queued', 'running', 'done', 'dead'))
);
--> statement-breakpoint
CREATE TABLE "board_memory" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"board_id" uuid NOT NULL,
	"memory_key" text,
	"value" jsonb,
	"content" text NOT NULL,
	"tags" text[],
	"source" text,
	"is_chat" boolean DEFAULT false NOT NULL,
	"tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "board_memory_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "organization_board_access" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_member_id" uuid NOT NULL,
	"board_id" uuid NOT NULL,
	"can_read" boolean NOT NULL,
	"can_write" boolean NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "organization_board_access_board" UNIQUE("organization_member_id","board_id")
);
--> statement-breakpoint
CREATE TABLE "organization_members" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"all_boards_read" boolean DEFAULT false NOT NULL,
	"all_boards_write" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "organization_members_user" UNIQUE("organization_id","user_id"),
	CONSTRAINT "organization_members_role" CHECK ("organization_members"."role" in ('owner', 'admin', 'member'))
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"auth_subject" text NOT NULL,
	"email" text,
	"name" text,
	"preferred_name" text,
	"pronouns" text,
	"timezone" text,
	"notes" text,
	"context" text,
	"active_organization_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_auth_subject_unique" UNIQUE("auth_subject")
);
--> statement-breakpoint
CREATE TABLE "skill_packs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"source_url" text NOT NULL,
	"branch" text DEFAULT 'main' NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "skill_packs_url" UNIQUE("organization_id","source_url"),
	CONSTRAINT "skill_packs_host" CHECK ("skill_packs"."source_url" like 'https://github.com/%')
);
--> statement-breakpoint
CREATE TABLE "tag_assignments" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"task_id" uuid NOT NULL,
	"tag_id" uuid NOT NULL,
	"position" integer NOT NULL,
	CONSTRAINT "tag_assignments_tag" UNIQUE("task_id","tag_id")
);
--> statement-breakpoint
CREATE TABLE "tags" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"color" text NOT NULL,
	"description" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tags_slug" UNIQUE("organization_id","slug"),
	CONSTRAINT "tags_color" CHECK ("tags"."color" ~ '^[0-9a-f]{6}$')
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"board_id" uuid NOT NULL,
	"title" text NOT NULL,
	"description" text,
	"status" text DEFAULT 'inbox' NOT NULL,
	"priority" text DEFAULT 'medium' NOT NULL,
	"due_at" timestamp (3) with time zone,
	"assigned_agent_id" uuid,
	"created_by_user_id" uuid,
	"in_progress_at" timestamp (3) with time zone,
	"last_started_at" timestamp (3) with time zone,
	"done_at" timestamp (3) with time zone,
	"left_done_at" timestamp (3) with time zone,
	"auto_created" boolean DEFAULT false NOT NULL,
	"auto_reason" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tasks_status" CHECK ("tasks"."status" in ('inbox', 'in_progress', 'review', 'done', 'blocked'))
);
--> statement-breakpoint
CREATE TABLE "board_webhook_payloads" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"board_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"body" "bytea" NOT NULL,
	"body_kind" text NOT NULL,
	"headers" jsonb NOT NULL,
	"source_ip" text NOT NULL,
	"content_type" text,
	"received_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "board_webhook_payloads_kind" CHECK ("board_webhook_payloads"."body_kind" in ('json', 'text'))
);
--> statement-breakpoint
CREATE TABLE "board_webhooks" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"board_id" uuid NOT NULL,
	"agent_id" uuid,
	"description" text NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"secret_sealed" "bytea",
	"signature_header" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "activity_events" ADD CONSTRAINT "activity_events_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "activity_events" ADD CONSTRAINT "activity_events_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "activity_events" ADD CONSTRAINT "activity_events_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "activity_events" ADD CONSTRAINT "activity_events_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "activity_events" ADD CONSTRAINT "activity_events_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_groups" ADD CONSTRAINT "board_groups_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_board_group_id_board_groups_id_fk" FOREIGN KEY ("board_group_id") REFERENCES "public"."board_groups"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "gateways" ADD CONSTRAINT "gateways_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_memory" ADD CONSTRAINT "board_memory_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_board_access" ADD CONSTRAINT "organization_board_access_organization_member_id_organization_members_id_fk" FOREIGN KEY ("organization_member_id") REFERENCES "public"."organization_members"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_board_access" ADD CONSTRAINT "organization_board_access_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_active_organization_id_organizations_id_fk" FOREIGN KEY ("active_organization_id") REFERENCES "public"."organizations"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "skill_packs" ADD CONSTRAINT "skill_packs_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tag_assignments" ADD CONSTRAINT "tag_assignments_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tag_assignments" ADD CONSTRAINT "tag_assignments_tag_id_tags_id_fk" FOREIGN KEY ("tag_id") REFERENCES "public"."tags"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tags" ADD CONSTRAINT "tags_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_assigned_agent_id_agents_id_fk" FOREIGN KEY ("assigned_agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_created_by_user_id_users_id_fk" FOREIGN KEY ("created_by_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD CONSTRAINT "board_webhook_payloads_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD CONSTRAINT "board_webhook_payloads_webhook_id_board_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."board_webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD CONSTRAINT "board_webhooks_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD CONSTRAINT "board_webhooks_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "activity_by_board" ON "activity_events" USING btree ("board_id","created_at","id");--> statement-breakpoint
CREATE INDEX "activity_without_board" ON "activity_events" USING btree ("organization_id","created_at","id") WHERE board_id is null;--> statement-breakpoint
CREATE INDEX "activity_by_agent" ON "activity_events" USING btree ("agent_id","created_at","id");--> statement-breakpoint
CREATE INDEX "activity_by_user" ON "activity_events" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "comments_by_task" ON "activity_events" USING btree ("task_id","created_at","id") WHERE event_type = 'task.comment';--> statement-breakpoint
CREATE INDEX "comments_by_board" ON "activity_events" USING btree ("board_id","created_at","id") WHERE event_type = 'task.comment';--> statement-breakpoint
CREATE INDEX "activity_in_commit_order" ON "activity_events" USING btree ("board_id","tx","seq");--> statement-breakpoint
CREATE UNIQUE INDEX "agents_token_lookup" ON "agents" USING btree ("agent_token_lookup");--> statement-breakpoint
CREATE UNIQUE INDEX "agents_session" ON "agents" USING btree ("openclaw_session_id");--> statement-breakpoint
CREATE UNIQUE INDEX "agents_name_on_board" ON "agents" USING btree ("board_id",lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX "agents_one_lead" ON "agents" USING btree ("board_id") WHERE is_board_lead;--> statement-breakpoint
CREATE UNIQUE INDEX "agents_one_main" ON "agents" USING btree ("gateway_id") WHERE board_id is null;--> statement-breakpoint
CREATE INDEX "agents_by_board" ON "agents" USING btree ("board_id","created_at","id");--> statement-breakpoint
CREATE INDEX "agents_by_gateway" ON "agents" USING btree ("gateway_id","created_at","id");--> statement-breakpoint
CREATE INDEX "agents_by_presence" ON "agents" USING btree ("status","last_seen_at");--> statement-breakpoint
CREATE INDEX "agents_by_deadline" ON "agents" USING btree ("checkin_deadline_at") WHERE checkin_deadline_at is not null;--> statement-breakpoint
CREATE INDEX "agents_imported" ON "agents" USING btree ("created_at") WHERE agent_token_lookup is null and agent_token_hash is not null;--> statement-breakpoint
CREATE INDEX "agents_by_change" ON "agents" USING btree ("change_tx","change_seq");--> statement-breakpoint
CREATE INDEX "board_groups_by_name" ON "board_groups" USING btree ("organization_id",lower("name"),"id");--> statement-breakpoint
CREATE INDEX "boards_by_name" ON "boards" USING btree ("organization_id",lower("name"),"created_at","id");--> statement-breakpoint
CREATE INDEX "boards_by_gateway" ON "boards" USING btree ("gateway_id");--> statement-breakpoint
CREATE INDEX "boards_by_group" ON "boards" USING btree ("board_group_id");--> statement-breakpoint
CREATE INDEX "rate_counters_by_minute" ON "rate_counters" USING btree ("minute");--> statement-breakpoint
CREATE INDEX "gateways_by_organization" ON "gateways" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_dedupe" ON "jobs" USING btree ("dedupe_key") WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "jobs_live" ON "jobs" USING btree ("status","run_at");--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_running" ON "jobs" USING btree ("lane") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "jobs_lane" ON "jobs" USING btree ("lane","seq") WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "jobs_by_gateway" ON "jobs" USING btree ("gateway_id");--> statement-breakpoint
CREATE INDEX "jobs_by_organization" ON "jobs" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "board_memory_by_board" ON "board_memory" USING btree ("board_id","created_at","id");--> statement-breakpoint
CREATE INDEX "board_memory_by_kind" ON "board_memory" USING btree ("board_id","is_chat","created_at","id");--> statement-breakpoint
CREATE INDEX "board_memory_by_key" ON "board_memory" USING btree ("board_id","memory_key","created_at","id") WHERE memory_key is not null;--> statement-breakpoint
CREATE INDEX "board_memory_commands" ON "board_memory" USING btree ("board_id","created_at","id") WHERE is_chat and lower(trim(content)) in ('/pause', '/resume');--> statement-breakpoint
CREATE INDEX "board_memory_in_commit_order" ON "board_memory" USING btree ("board_id","tx","seq");--> statement-breakpoint
CREATE INDEX "organization_board_access_by_board" ON "organization_board_access" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "organization_members_by_user" ON "organization_members" USING btree ("user_id","created_at","id");--> statement-breakpoint
CREATE INDEX "users_email" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "users_active_organization" ON "users" USING btree ("active_organization_id");--> statement-breakpoint
CREATE INDEX "skill_packs_by_organization" ON "skill_packs" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "tag_assignments_by_tag" ON "tag_assignments" USING btree ("tag_id");--> statement-breakpoint
CREATE INDEX "tags_by_name" ON "tags" USING btree ("organization_id",lower("name"),"created_at","id");--> statement-breakpoint
CREATE INDEX "tasks_by_board" ON "tasks" USING btree ("board_id","created_at","id");--> statement-breakpoint
CREATE INDEX "tasks_by_status" ON "tasks" USING btree ("board_id","status","created_at","id");--> statement-breakpoint
CREATE INDEX "tasks_by_assignee" ON "tasks" USING btree ("board_id","assigned_agent_id","created_at","id");--> statement-breakpoint
CREATE INDEX "tasks_by_agent" ON "tasks" USING btree ("assigned_agent_id");--> statement-breakpoint
CREATE INDEX "tasks_by_creator" ON "tasks" USING btree ("created_by_user_id");--> statement-breakpoint
CREATE INDEX "board_webhook_payloads_by_webhook" ON "board_webhook_payloads" USING btree ("webhook_id","received_at","id");--> statement-breakpoint
CREATE INDEX "board_webhook_payloads_by_board" ON "board_webhook_payloads" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "board_webhooks_by_board" ON "board_webhooks" USING btree ("board_id","created_at","id");--> statement-breakpoint
CREATE INDEX "board_webhooks_by_agent" ON "board_webhooks" USING btree ("agent_id");