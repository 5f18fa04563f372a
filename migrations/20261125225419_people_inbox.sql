CREATE TABLE "follows" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"board_id" uuid NOT NULL,
	"task_id" uuid,
	"user_id" uuid NOT NULL,
	"following" boolean NOT NULL,
	"is_maker" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notification_preferences" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"choices" jsonb NOT NULL,
	"quiet_from" text,
	"quiet_until" text,
	"digest_time" text NOT NULL,
	"time_zone" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_notifications" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"user_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"board_id" uuid,
	"task_id" uuid,
	"type" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"key" text NOT NULL,
	"read_at" timestamp (3) with time zone,
	CONSTRAINT "user_notifications_key" UNIQUE("user_id","key"),
	CONSTRAINT "user_notifications_actor" CHECK ("user_notifications"."actor_type" in ('user', 'agent', 'system'))
);
--> statement-breakpoint
ALTER TABLE "follows" ADD CONSTRAINT "follows_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "follows" ADD CONSTRAINT "follows_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "follows" ADD CONSTRAINT "follows_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "follows" ADD CONSTRAINT "follows_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_preferences" ADD CONSTRAINT "notification_preferences_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_notifications" ADD CONSTRAINT "user_notifications_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_notifications" ADD CONSTRAINT "user_notifications_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_notifications" ADD CONSTRAINT "user_notifications_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_notifications" ADD CONSTRAINT "user_notifications_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "follows_board" ON "follows" USING btree ("board_id","user_id") WHERE task_id is null;--> statement-breakpoint
CREATE UNIQUE INDEX "follows_task" ON "follows" USING btree ("task_id","user_id") WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX "follows_by_board" ON "follows" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "follows_by_user" ON "follows" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "follows_by_organization" ON "follows" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "user_notifications_by_user" ON "user_notifications" USING btree ("user_id","created_at","id");--> statement-breakpoint
CREATE INDEX "user_notifications_unread" ON "user_notifications" USING btree ("user_id","created_at","id") WHERE read_at is null;--> statement-breakpoint
CREATE INDEX "user_notifications_by_organization" ON "user_notifications" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "user_notifications_by_board" ON "user_notifications" USING btree ("board_id");--> statement-breakpoint
CREATE INDEX "user_notifications_by_task" ON "user_notifications" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "user_notifications_by_age" ON "user_notifications" USING btree ("created_at");