ALTER TABLE "channels" ADD COLUMN "name" text;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "retry_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "channels_by_address" ON "channels" USING btree ("address_digest") WHERE address_digest <> '';