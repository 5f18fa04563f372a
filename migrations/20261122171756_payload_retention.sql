CREATE TABLE "webhook_payload_usage" (
	"organization_id" uuid NOT NULL,
	"shard" integer NOT NULL,
	"bytes" bigint NOT NULL,
	"counted_at" timestamp (3) with time zone,
	CONSTRAINT "webhook_payload_usage_organization_id_shard_pk" PRIMARY KEY("organization_id","shard")
);
--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "size_bytes" integer;--> statement-breakpoint
ALTER TABLE "webhook_payload_usage" ADD CONSTRAINT "webhook_payload_usage_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "jobs_finished" ON "jobs" USING btree ("status","finished_at") WHERE status in ('done', 'dead');--> statement-breakpoint
CREATE INDEX CONCURRENTLY "board_webhook_payloads_by_age" ON "board_webhook_payloads" USING btree ("received_at");