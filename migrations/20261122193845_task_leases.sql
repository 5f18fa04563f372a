ALTER TABLE "tasks" ADD COLUMN "lease_expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "lease_seconds" integer;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "lease_fence" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "lease_expiries" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "lease_was_free" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_by_lease" ON "tasks" USING btree ("lease_expires_at") WHERE lease_expires_at is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_next" ON "tasks" USING btree ("board_id","assigned_agent_id",(case "priority" when 'high' then 1 when 'medium' then 2 when 'low' then 3 else 4 end),"due_at","created_at","id") WHERE status = 'inbox';--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_lease" CHECK ("tasks"."lease_expires_at" is null or "tasks"."status" = 'in_progress');