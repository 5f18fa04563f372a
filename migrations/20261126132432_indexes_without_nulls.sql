DROP INDEX "activity_by_agent";--> statement-breakpoint
DROP INDEX "activity_by_task";--> statement-breakpoint
DROP INDEX "task_transitions_by_agent";--> statement-breakpoint
DROP INDEX "task_transitions_by_user";--> statement-breakpoint
DROP INDEX "tasks_by_agent";--> statement-breakpoint
DROP INDEX "tasks_by_creator";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "activity_by_agent" ON "activity_events" USING btree ("agent_id","created_at","id") WHERE agent_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "activity_by_task" ON "activity_events" USING btree ("task_id") WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "task_transitions_by_agent" ON "task_transitions" USING btree ("agent_id") WHERE agent_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "task_transitions_by_user" ON "task_transitions" USING btree ("user_id") WHERE user_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_by_agent" ON "tasks" USING btree ("assigned_agent_id") WHERE assigned_agent_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_by_creator" ON "tasks" USING btree ("created_by_user_id") WHERE created_by_user_id is not null;