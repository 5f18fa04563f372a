CREATE TABLE "slack_decisions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"organization_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"notification_id" uuid NOT NULL,
	"approval_id" uuid NOT NULL,
	"conversation" text NOT NULL,
	"ts" text NOT NULL,
	"due_at" timestamp (3) with time zone,
	CONSTRAINT "slack_decisions_once" UNIQUE("channel_id","notification_id")
);
--> statement-breakpoint
ALTER TABLE "slack_decisions" ADD CONSTRAINT "slack_decisions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "slack_decisions" ADD CONSTRAINT "slack_decisions_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "slack_decisions" ADD CONSTRAINT "slack_decisions_notification_id_user_notifications_id_fk" FOREIGN KEY ("notification_id") REFERENCES "public"."user_notifications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "slack_decisions" ADD CONSTRAINT "slack_decisions_approval_id_approvals_id_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "slack_decisions_due" ON "slack_decisions" USING btree ("organization_id","due_at");--> statement-breakpoint
CREATE INDEX "slack_decisions_by_message" ON "slack_decisions" USING btree ("organization_id","conversation","ts");--> statement-breakpoint
CREATE INDEX "slack_decisions_by_approval" ON "slack_decisions" USING btree ("approval_id");--> statement-breakpoint
CREATE INDEX "slack_decisions_by_notification" ON "slack_decisions" USING btree ("notification_id");