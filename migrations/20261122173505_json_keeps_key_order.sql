DROP INDEX "marketplace_skills_by_organization";--> statement-breakpoint
ALTER TABLE "approvals" ALTER COLUMN "payload" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "approvals" ALTER COLUMN "rubric_scores" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "boards" ALTER COLUMN "success_metrics" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "board_memory" ALTER COLUMN "value" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "skill_packs" ALTER COLUMN "metadata" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "skill_packs" ALTER COLUMN "metadata" SET DEFAULT '{}'::json;--> statement-breakpoint
ALTER TABLE "task_custom_field_definitions" ALTER COLUMN "default_value" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "task_custom_field_values" ALTER COLUMN "value" SET DATA TYPE json;--> statement-breakpoint
CREATE INDEX "marketplace_skills_by_name" ON "marketplace_skills" USING btree ("organization_id",lower("name"),"created_at","id");