DROP INDEX "jobs_by_organization";--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "result" jsonb;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "unreachable" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "revived_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "filtered" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "notify_job_id" uuid;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "delivery" jsonb;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "jobs_by_organization_seq" ON "jobs" USING btree ("organization_id","seq");