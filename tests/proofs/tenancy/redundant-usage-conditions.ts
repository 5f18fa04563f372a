import type { RedundantCondition } from "./redundant-conditions.ts";
import { OWN_AGENT } from "./redundant-search-conditions.ts";

/** Identifies the part of the statement in `usage/place.ts` that reads the agent's own board, where idle usage is counted. */
const HOME_OF_USAGE = 'false as is_latest from "boards" where';

const OF_TASK = "the task was found by its organization and boards, and all its sums are of them";
const SUMS_OF_TASK = `( select * from "usage_counts" where organization_id = $::uuid and dimension = 'task' and span = part.span and start >= part.first and start < part.until and`;
const FOUND = "the request is refused unless a second subselect with the same condition finds the board";
const GRANTED = 'access.organization_member_id = $ and access.board_id = "boards".id and (access.can_read or access.can_write)';

/** Redundant conditions of usage, its figures and budgets. */
export const REDUNDANT_USAGE_CONDITIONS: readonly RedundantCondition[] = [
  {
    condition: '"budgets"."organization_id" = $',
    within: '"budgets"."id" = $ and "budgets"."organization_id" = $)',
    because: "what the budget is for is checked again, and it belongs to the same organization",
  },
  {
    condition: '"budgets"."organization_id" = "gateways"."organization_id"',
    within: '(select 1 from "budgets"',
    because: "it saves the look-up of budgets in an organization without any, which finds none",
  },
  { condition: '"boards"."organization_id" = $', within: HOME_OF_USAGE, because: OWN_AGENT },
  {
    condition: '"boards"."gateway_id" = $',
    within: HOME_OF_USAGE,
    because: "a main agent, whose boards it limits, has no board",
  },
  {
    condition: '"boards"."organization_id" = $',
    within: 'where task.id = any($::uuid[]) and ("boards"."organization_id" = $ and "boards"."id" = $)',
    because: OWN_AGENT,
  },
  {
    condition: "board_id = any($::uuid[])",
    within: 'select task.task_id, counted.cost, counted.tokens from "usage_tasks" as task',
    because: "the sums of a task in the range, by which it is ranked and shown, are found by the board too",
  },
  { condition: "organization_id = $::uuid", within: `^${SUMS_OF_TASK} true and task_id = task.task_id`, because: OF_TASK },
  {
    condition: "organization_id = $::uuid",
    within: `^${SUMS_OF_TASK} board_id = any($::uuid[]) and task_id = task.task_id`,
    because: OF_TASK,
  },
  { condition: "board_id = any($::uuid[])", within: "and task_id = task.task_id offset 0", because: OF_TASK },
  {
    condition: '"budgets"."organization_id" = "gateways"."organization_id"',
    within: '(select true from "budgets"',
    because: "it saves the look-up of budgets in an organization without any, which finds none",
  },
  {
    condition: "task.board_id = added.board_id",
    within: "with given as materialized",
    because: "the board of an entry comes from its task, which was found before",
  },
  {
    condition: '"boards"."organization_id" = $',
    within: '(select "boards"."id" from "boards" where ("boards"."organization_id" = $ and "boards"."id" = $))',
    because: FOUND,
  },
  {
    condition: '"boards"."organization_id" = $',
    within: `(select "boards"."id" from "boards" where (("boards"."organization_id" = $ and exists (select 1 from "organization_board_access" as access where ${GRANTED})) and "boards"."id" = $))`,
    because: FOUND,
  },
];
