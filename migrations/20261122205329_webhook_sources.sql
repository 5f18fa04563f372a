CREATE TABLE "webhook_delivery_ids" (
	"webhook_id" uuid NOT NULL,
	"delivery_id" text NOT NULL,
	"payload_id" uuid NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_delivery_ids_key" PRIMARY KEY("webhook_id","delivery_id")
);
--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "event_type" text;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "delivery_id" text;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "summary" text;--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD COLUMN "source" text DEFAULT 'generic' NOT NULL;--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD COLUMN "event_types" text[];--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD COLUMN "previous_secret_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD COLUMN "previous_secret_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhook_delivery_ids" ADD CONSTRAINT "webhook_delivery_ids_webhook_id_board_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."board_webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_delivery_ids_by_age" ON "webhook_delivery_ids" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "board_webhook_payloads_by_event" ON "board_webhook_payloads" USING btree ("webhook_id","event_type","received_at","id") WHERE "board_webhook_payloads"."event_type" is not null;--> statement-breakpoint
ALTER TABLE "board_webhooks" ADD CONSTRAINT "board_webhooks_source" CHECK ("board_webhooks"."source" in ('generic', 'github', 'gitlab', 'stripe', 'slack', 'linear', 'sentry', 'standard_webhooks'));