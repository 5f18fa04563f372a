DROP INDEX "artifacts_by_organization";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "artifacts_by_size" ON "artifacts" USING btree ("organization_id","size","id");