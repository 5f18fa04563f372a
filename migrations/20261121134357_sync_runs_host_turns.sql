CREATE TABLE "host_turns" (
	"gateway_id" uuid PRIMARY KEY NOT NULL,
	"holder" uuid,
	"held_until" timestamp (3) with time zone NOT NULL,
	"free_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sync_run_agents" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"run_id" uuid NOT NULL,
	"agent_id" uuid,
	"agent_name" text NOT NULL,
	"board_id" uuid,
	"is_main" boolean NOT NULL,
	"position" integer NOT NULL,
	"status" text DEFAULT 'waiting' NOT NULL,
	"error" text,
	"warnings" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"files_written" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "sync_run_agents_agent" UNIQUE("run_id","agent_id"),
	CONSTRAINT "sync_run_agents_status" CHECK ("sync_run_agents"."status" in ('waiting', 'success', 'error'))
);
--> statement-breakpoint
CREATE TABLE "sync_runs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gateway_id" uuid NOT NULL,
	"cause" text NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"options" jsonb NOT NULL,
	"errors" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"warnings" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "sync_runs_status" CHECK ("sync_runs"."status" in ('running', 'done')),
	CONSTRAINT "sync_runs_cause" CHECK ("sync_runs"."cause" in ('request', 'schedule'))
);
--> statement-breakpoint
ALTER TABLE "gateways" ADD COLUMN "sync_interval_minutes" integer;--> statement-breakpoint
ALTER TABLE "gateways" ADD COLUMN "sync_due_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sync_run_agents" ADD CONSTRAINT "sync_run_agents_run_id_sync_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."sync_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync_run_agents" ADD CONSTRAINT "sync_run_agents_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync_runs" ADD CONSTRAINT "sync_runs_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sync_run_agents_waiting" ON "sync_run_agents" USING btree ("run_id") WHERE status = 'waiting';--> statement-breakpoint
CREATE INDEX "sync_run_agents_by_agent" ON "sync_run_agents" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "sync_runs_by_gateway" ON "sync_runs" USING btree ("gateway_id","created_at","id");--> statement-breakpoint
CREATE INDEX "gateways_by_sync_due" ON "gateways" USING btree ("sync_due_at") WHERE sync_due_at is not null;--> statement-breakpoint
ALTER TABLE "gateways" ADD CONSTRAINT "gateways_sync_interval" CHECK ("gateways"."sync_interval_minutes" between 5 and 525600);