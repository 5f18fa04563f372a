CREATE TABLE "usage_tasks" (
	"organization_id" uuid NOT NULL,
	"task_id" uuid NOT NULL,
	"board_id" uuid NOT NULL,
	"first_day" date NOT NULL,
	"last_day" date NOT NULL,
	"total_tokens" bigint NOT NULL,
	"cost_usd" numeric,
	CONSTRAINT "usage_tasks_organization_id_task_id_pk" PRIMARY KEY("organization_id","task_id")
);
--> statement-breakpoint
ALTER TABLE "usage_tasks" ADD CONSTRAINT "usage_tasks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "usage_tasks_by_cost" ON "usage_tasks" USING btree ("organization_id","cost_usd" DESC NULLS LAST,"total_tokens" DESC NULLS LAST,"task_id");--> statement-breakpoint
CREATE INDEX "usage_tasks_by_age" ON "usage_tasks" USING btree ("last_day");--> statement-breakpoint
INSERT INTO "usage_tasks" ("organization_id", "task_id", "board_id", "first_day", "last_day", "total_tokens", "cost_usd")
SELECT "organization_id", "task_id", "board_id", min("start"), max("start"), sum("input_tokens" + "output_tokens")::bigint, sum("cost_usd")
FROM "usage_counts" WHERE "dimension" = 'task' AND "span" = 'day' GROUP BY 1, 2, 3;
