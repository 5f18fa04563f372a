CREATE TABLE "host_usage" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"since" date NOT NULL,
	"session_id" text DEFAULT '' NOT NULL,
	"models" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"read_at" timestamp (3) with time zone,
	"run_id" uuid
);
--> statement-breakpoint
ALTER TABLE "host_usage" ADD CONSTRAINT "host_usage_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "agents_by_wake" ON "agents" USING btree ("last_wake_sent_at") WHERE last_wake_sent_at is not null;