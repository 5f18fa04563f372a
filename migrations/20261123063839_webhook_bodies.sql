CREATE TABLE "webhook_body_orphans" (
	"payload_id" uuid PRIMARY KEY NOT NULL,
	"body_key" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_body_turns" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"turn_at" timestamp (3) with time zone NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	"moved_until" timestamp (3) with time zone,
	"moved_id" uuid
);
--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ALTER COLUMN "body" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "body_key" text;--> statement-breakpoint
ALTER TABLE "board_webhook_payloads" ADD COLUMN "body_bytes" integer;--> statement-breakpoint
ALTER TABLE "webhook_body_turns" ADD CONSTRAINT "webhook_body_turns_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_body_orphans_by_due" ON "webhook_body_orphans" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "webhook_body_turns_by_turn" ON "webhook_body_turns" USING btree ("turn_at");