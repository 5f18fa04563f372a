CREATE TABLE "task_transitions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"board_id" uuid NOT NULL,
	"task_id" uuid,
	"from_status" text,
	"to_status" text,
	"at" timestamp (3) with time zone NOT NULL,
	"in_progress_at" timestamp (3) with time zone,
	"agent_id" uuid,
	"user_id" uuid
);
--> statement-breakpoint
ALTER TABLE "task_transitions" ADD CONSTRAINT "task_transitions_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_transitions" ADD CONSTRAINT "task_transitions_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_transitions" ADD CONSTRAINT "task_transitions_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_transitions" ADD CONSTRAINT "task_transitions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "task_transitions_by_board" ON "task_transitions" USING btree ("board_id","at","id");--> statement-breakpoint
CREATE INDEX "task_transitions_by_task" ON "task_transitions" USING btree ("task_id","at","id");--> statement-breakpoint
CREATE INDEX "task_transitions_by_target" ON "task_transitions" USING btree ("board_id","to_status","at","id");--> statement-breakpoint
CREATE INDEX "task_transitions_by_agent" ON "task_transitions" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "task_transitions_by_user" ON "task_transitions" USING btree ("user_id");