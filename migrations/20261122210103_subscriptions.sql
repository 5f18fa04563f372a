CREATE TABLE "subscription_deliveries" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"subscription_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"event_type" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"detail" json NOT NULL,
	"tx" "xid8" NOT NULL,
	"seq" bigint NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_attempt_at" timestamp (3) with time zone,
	"delivered_at" timestamp (3) with time zone,
	"last_error" text,
	"request_headers" jsonb,
	"response_status" integer,
	"response_body" text,
	"response_ms" integer,
	CONSTRAINT "subscription_deliveries_status" CHECK ("subscription_deliveries"."status" in ('pending', 'delivered', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"board_id" uuid,
	"url" text NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"event_types" text[] NOT NULL,
	"description" text,
	"format" text NOT NULL,
	"secret_sealed" "bytea" NOT NULL,
	"previous_secret_sealed" "bytea",
	"previous_secret_until" timestamp (3) with time zone,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"throttled" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "subscriptions_format" CHECK ("subscriptions"."format" in ('standard', 'slack'))
);
--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_held_by";--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "subscription_id" uuid;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "subscription_slot" integer;--> statement-breakpoint
ALTER TABLE "subscription_deliveries" ADD CONSTRAINT "subscription_deliveries_subscription_id_subscriptions_id_fk" FOREIGN KEY ("subscription_id") REFERENCES "public"."subscriptions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "subscription_deliveries_by_subscription" ON "subscription_deliveries" USING btree ("subscription_id","created_at","id");--> statement-breakpoint
CREATE INDEX "subscription_deliveries_by_age" ON "subscription_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "subscriptions_by_organization" ON "subscriptions" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_board" ON "subscriptions" USING btree ("board_id");--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_subscription_id_subscriptions_id_fk" FOREIGN KEY ("subscription_id") REFERENCES "public"."subscriptions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY "jobs_subscription_slot" ON "jobs" USING btree ("subscription_id","subscription_slot") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX CONCURRENTLY "jobs_by_subscription" ON "jobs" USING btree ("subscription_id") WHERE subscription_id is not null;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_held_by" CHECK ("jobs"."held_by" in ('circuit', 'organization', 'gateway', 'subscription'));