DROP INDEX CONCURRENTLY "jobs_live";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "activity_without_board_by_age" ON "activity_events" USING btree ("created_at") WHERE board_id is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "activity_of_all_boards" ON "activity_events" USING btree ("tx","seq");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "activity_counts_by_hour" ON "activity_counts" USING btree ("hour");