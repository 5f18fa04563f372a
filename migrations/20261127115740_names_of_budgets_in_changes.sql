-- An answer about a budget has the name of what it limits, so a new name is a change of the budget. Each query uses an index.
CREATE FUNCTION "record_name_of_budgets"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'boards' THEN
    PERFORM public.record_change('budget', 'updated', budget.id, NEW.id, NULL, budget.organization_id)
    FROM public.budgets AS budget WHERE budget.board_id = NEW.id;
  ELSIF TG_TABLE_NAME = 'tasks' THEN
    PERFORM public.record_change('budget', 'updated', budget.id, NEW.board_id, NEW.id, budget.organization_id)
    FROM public.budgets AS budget WHERE budget.task_id = NEW.id;
  ELSIF TG_TABLE_NAME = 'agents' THEN
    PERFORM public.record_change('budget', 'updated', budget.id, NULL, NULL, budget.organization_id)
    FROM public.budgets AS budget WHERE budget.agent_id = NEW.id;
  ELSE
    PERFORM public.record_change('budget', 'updated', budget.id, NULL, NULL, budget.organization_id)
    FROM public.budgets AS budget WHERE budget.organization_id = NEW.id AND budget.scope = 'organization';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_of_budgets_by_board" AFTER UPDATE OF "name" ON "boards" FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION "record_name_of_budgets"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_budgets_by_task" AFTER UPDATE OF "title" ON "tasks" FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title) EXECUTE FUNCTION "record_name_of_budgets"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_budgets_by_agent" AFTER UPDATE OF "name" ON "agents" FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION "record_name_of_budgets"();
--> statement-breakpoint
CREATE TRIGGER "changes_of_budgets_by_organization" AFTER UPDATE OF "name" ON "organizations" FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION "record_name_of_budgets"();
--> statement-breakpoint
-- When the cascade removes a task's budget, the task and so the board of the budget are no longer known. The entry is written before.
CREATE FUNCTION "record_removal_of_budgets"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.record_change('budget', 'removed', budget.id, OLD.board_id, OLD.id, budget.organization_id)
  FROM public.budgets AS budget WHERE budget.task_id = OLD.id;
  RETURN OLD;
END $$;
--> statement-breakpoint
CREATE TRIGGER "changes_before_removal_of_tasks" BEFORE DELETE ON "tasks" FOR EACH ROW EXECUTE FUNCTION "record_removal_of_budgets"();
