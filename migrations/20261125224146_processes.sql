CREATE TABLE "inbox_waits" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "processes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"clock_ahead_ms" double precision NOT NULL
);
--> statement-breakpoint
CREATE TABLE "schedule_turns" (
	"name" text PRIMARY KEY NOT NULL,
	"tick_at" timestamp (3) with time zone NOT NULL,
	"process_id" uuid NOT NULL,
	"renewed_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "stream_leases" ADD COLUMN "process_id" uuid;--> statement-breakpoint
CREATE INDEX "inbox_waits_organization" ON "inbox_waits" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_by_end" ON "runs" USING btree ("ended_at") WHERE ended_at is not null;