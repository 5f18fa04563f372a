ALTER TABLE "channel_deliveries" DROP CONSTRAINT "channel_deliveries_type";--> statement-breakpoint
ALTER TABLE "channels" DROP CONSTRAINT "channels_type";--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "organization_id" uuid;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "channels_by_organization" ON "channels" USING btree ("organization_id") WHERE organization_id is not null;--> statement-breakpoint
ALTER TABLE "channel_deliveries" ADD CONSTRAINT "channel_deliveries_type" CHECK ("channel_deliveries"."type" in ('email', 'push', 'slack'));--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_type" CHECK ("channels"."type" in ('email', 'push', 'slack'));