ALTER TABLE "organizations" ADD COLUMN "texts_counted_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "organizations_texts_counted" ON "organizations" USING btree ("texts_counted_at");--> statement-breakpoint
ALTER TABLE "organization_text_usage" DROP COLUMN "counted_at";