DROP INDEX "usage_counts_by_age";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "usage_counts_by_age" ON "usage_counts" USING btree (("start" + 0));