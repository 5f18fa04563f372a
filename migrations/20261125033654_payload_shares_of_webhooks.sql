CREATE TABLE "webhook_usage" (
	"webhook_id" uuid NOT NULL,
	"shard" integer NOT NULL,
	"bytes" bigint NOT NULL,
	"counted_at" timestamp (3) with time zone,
	CONSTRAINT "webhook_usage_webhook_id_shard_pk" PRIMARY KEY("webhook_id","shard")
);
--> statement-breakpoint
ALTER TABLE "webhook_usage" ADD CONSTRAINT "webhook_usage_webhook_id_board_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."board_webhooks"("id") ON DELETE cascade ON UPDATE no action;