import { eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor, readableBoards, requireJoinableGroup } from "../organization/access.ts";
import { type Admin, type Agent, type Member, member, type User } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { changedFields, isEmpty, isSameInOrder } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { DomainError } from "../values/errors.ts";
import { requireGatewayWithMainAgent } from "../gateway/target.ts";
import { ensurePullGateway } from "../agent/pull-gateway.ts";
import { followAsMaker } from "../follow/follow.ts";
import { recheckCaller } from "../organization/lock.ts";
import { grantBoardAccess } from "../organization/member.ts";
import { filterBy } from "../lists/filter.ts";
import { lowerCaseKey, newestFirst, type SortOrder } from "../lists/keyset.ts";
import { largeObject, largeText, truncatable } from "../lists/large-fields.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import {
  TextOrNull,
  Id,
  Instant,
  InstantInput,
  Integer,
  JsonObject,
  MAX_INTEGER,
  MAX_NAME,
  MAX_SLUG,
  MAX_TEXT,
  NonEmpty,
  objectCheck,
  valueError,
  lazyObject,
} from "../values/wire.ts";
import { BoardType } from "./board-type.ts";
import { boards, boardWords } from "../schema/board.sql.ts";
import { requireCompleteGoal } from "./goal.ts";
import { lockBoard } from "./lock.ts";
import { notifyBoardUpdated } from "./notifications.ts";
import { toUpdatedSlug, insertWithSlug, slugConflicts } from "./slug.ts";
import { listOf } from "../lists/list.ts";
import { mayWriteAll } from "../organization/board-rights.ts";
import { recordAudit } from "../audit/record.ts";

const GoalSource = z.enum(["user", "ai_generated"]);

/** The rules for the tasks of the board. */
const RuleFields = lazyObject(() => ({
  require_approval_for_done: z.boolean().describe("A task must be approved before it moves to done."),
  require_review_before_done: z.boolean().describe("A task can move to done only from review."),
  comment_required_for_review: z.boolean().describe("A task needs a comment to move to review."),
  block_status_changes_with_pending_approval: z.boolean().describe("A task with a pending approval cannot change its status."),
  only_lead_can_change_status: z.boolean().describe("Of the agents, only the lead can change the status of tasks."),
}));

const MAX_ESCALATION_MINUTES = 43_200;
const ESCALATION =
  "Minutes without a decision after which an approval or question also goes to the next group: followers, the creator of the board, then admins; null for never.";

export const Board = lazyObject(() => ({
  id: Id.describe("Id of the board."),
  organization_id: Id.describe("Organization that the board belongs to."),
  name: z.string().describe("Display name."),
  slug: z.string().describe("URL-safe name, unique in the organization."),
  description: z.string().describe("What the board is for, in Markdown."),
  gateway_id: Id.describe("Gateway that runs the board's agents."),
  board_group_id: Id.nullable().describe("Group of related boards."),
  board_type: BoardType.describe("Kind of board."),
  objective: z.string().nullable().describe("What success looks like."),
  success_metrics: z.record(z.string(), z.unknown()).nullable().describe("Measurable criteria."),
  target_date: Instant.nullable().describe("When the goal should be reached."),
  goal_confirmed: z.boolean().describe("Whether objective and metrics are final."),
  goal_source: GoalSource.nullable().describe("Who wrote the goal."),
  ...RuleFields.shape,
  max_agents: z.int().describe("How many agents the board may have, not counting the lead."),
  escalate_after_minutes: z.int().nullable().describe(ESCALATION),
  created_at: Instant.describe("When the board was created."),
  updated_at: Instant.describe("When the board last changed."),
  ...truncatable,
})).meta({ id: "Board", description: "A board on which people and agents coordinate their work." });
export type Board = z.infer<typeof Board>;

/** The fields of a board that a list shortens if the answer would be too large. */
export const LARGE_BOARD_FIELDS = { description: largeText, objective: largeText, success_metrics: largeObject };

const Fields = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Display name."),
  slug: TextOrNull(MAX_SLUG).describe("URL-safe name; made from the name when blank."),
  description: z
    .string(valueError("description is required"))
    .trim()
    .min(1, valueError("description is required"))
    .max(MAX_TEXT)
    .describe("What the board is for, in Markdown."),
  gateway_id: Id.nullable()
    .refine((id) => id !== null, valueError("gateway_id is required"))
    .transform((id) => id as string)
    .describe("Gateway that runs the board's agents."),
  board_group_id: Id.nullable().describe("Group of related boards."),
  board_type: BoardType.describe("Kind of board."),
  objective: TextOrNull(MAX_TEXT).describe("What success looks like."),
  success_metrics: JsonObject.nullable().describe("Measurable criteria."),
  target_date: InstantInput.nullable().describe("When the goal should be reached."),
  goal_confirmed: z.boolean().describe("Whether objective and metrics are final."),
  goal_source: GoalSource.nullable().describe("Who wrote the goal."),
  ...RuleFields.shape,
  max_agents: Integer(0, MAX_INTEGER).describe("How many agents the board may have, not counting the lead."),
  escalate_after_minutes: Integer(1, MAX_ESCALATION_MINUTES).nullable().describe(ESCALATION),
}));

const CreateFields = lazyObject(() => ({
  ...Fields.shape,
  gateway_id: Id.nullable().optional().describe("Gateway that runs the board's agents; not needed with `gateway`."),
  gateway: z
    .literal("pull")
    .nullable()
    .default(null)
    .describe("`pull` for agents without a host: uses the organization's pull gateway, which is created when missing."),
  slug: Fields.shape.slug.default(null),
  board_group_id: Fields.shape.board_group_id.default(null),
  board_type: Fields.shape.board_type.default("goal"),
  objective: Fields.shape.objective.default(null),
  success_metrics: Fields.shape.success_metrics.default(null),
  target_date: Fields.shape.target_date.default(null),
  goal_confirmed: Fields.shape.goal_confirmed.default(false),
  goal_source: Fields.shape.goal_source.default(null),
  require_approval_for_done: RuleFields.shape.require_approval_for_done.default(true),
  require_review_before_done: RuleFields.shape.require_review_before_done.default(false),
  comment_required_for_review: RuleFields.shape.comment_required_for_review.default(false),
  block_status_changes_with_pending_approval: RuleFields.shape.block_status_changes_with_pending_approval.default(false),
  only_lead_can_change_status: RuleFields.shape.only_lead_can_change_status.default(false),
  max_agents: Fields.shape.max_agents.default(1),
  escalate_after_minutes: Fields.shape.escalate_after_minutes.default(null),
}));

/** Requires either `gateway_id`, or `gateway: "pull"` for the organization's pull gateway. */
const gatewayCheck = objectCheck<z.infer<typeof CreateFields>>(({ gateway, gateway_id }, fail) => {
  if (gateway === "pull" || typeof gateway_id === "string") return;
  if (gateway_id === undefined) fail("gateway_id");
  else if (gateway_id === null) fail("gateway_id", "gateway_id is required");
});

export const CreateBoard = CreateFields.check(gatewayCheck).meta({ id: "BoardCreate" });
export type CreateBoard = z.infer<typeof CreateBoard>;

/** A form that sends a blank type leaves the type unchanged. */
const BoardTypeOrBlank = z
  .preprocess((type) => (typeof type === "string" && type.trim() === "" ? undefined : type), BoardType.optional())
  .meta({ override: { type: "string", enum: BoardType.options } })
  .describe("Kind of board; blank leaves it.");

export const UpdateBoard = lazyObject(() => Fields.extend({ board_type: BoardTypeOrBlank }).partial().shape).meta({
  id: "BoardUpdate",
});
export type UpdateBoard = z.infer<typeof UpdateBoard>;

export interface BoardQuery extends PageQuery {
  board_group_id?: string | undefined;
  gateway_id?: string | undefined;
  q?: string | undefined;
}

const boardOrder: SortOrder<BoardRow> = [lowerCaseKey(boards.name, ({ name }) => name), ...newestFirst(boards)];

const boardList = listOf({
  name: "boards",
  table: boards,
  columns: getTableColumns(boards),
  large: LARGE_BOARD_FIELDS,
  order: boardOrder,
  words: boardWords(boards),
});

/** Lists the boards that the caller may read, by name. Filtering by an unknown id returns an empty page, not an error. */
export const listBoards = (ctx: Context<Member>, query: BoardQuery): Promise<Page<Board>> =>
  boardList.read(ctx, query, {
    owner: ctx.actor.active.organization_id,
    filters: [
      readableBoards(ctx.actor),
      filterBy("board_group_id", query.board_group_id, (id) => eq(boards.board_group_id, id)),
      filterBy("gateway_id", query.gateway_id, (id) => eq(boards.gateway_id, id)),
    ],
    toItem: toBoard,
  });

export async function getBoard(ctx: Context<User | Agent>, board_id: string): Promise<Board> {
  return toBoard(await boardFor(ctx, board_id, "read"));
}

/** Creates a board. A creator without the right to write to all boards gets the right to write to this one. */
export function createBoard(ctx: Context<Admin>, input: CreateBoard): Promise<Board> {
  const { organization_id, member_id } = ctx.actor.active;
  const { gateway: _gateway, ...fields } = input;
  return transaction(ctx, async (ctx) => {
    const gateway_id = input.gateway_id ?? (await ensurePullGateway(ctx));
    await requireGatewayWithMainAgent(ctx, organization_id, gateway_id);
    if (input.board_group_id) await requireJoinableGroup(ctx, ctx.actor, input.board_group_id);
    requireCompleteGoal(input);
    const values = { ...fields, gateway_id, organization_id };
    const row = await insertWithSlug(ctx, "board", values, (slug) =>
      ctx.db
        .insert(boards)
        .values({ ...values, slug })
        .onConflictDoNothing()
        .returning(),
    );
    if (!mayWriteAll(ctx.actor)) await grantBoardAccess(ctx, member_id, row.id);
    await followAsMaker(ctx, row);
    await recordAudit(ctx, "board.created", { organization_id, target: row, after: { name: row.name } });
    return toBoard(row);
  });
}

/**
 * Changes the fields that were sent and notifies the affected agents. The goal rule applies to the board as it is after the change.
 * If only the name changes, the slug stays the same. A blank slug is replaced by one made from the name.
 */
export function updateBoard(ctx: Context<User>, board_id: string, input: UpdateBoard): Promise<Board> {
  return transaction(ctx, async (ctx) => {
    const stored = await lockBoard(ctx, await boardFor(ctx, board_id, "write"));
    const slug = await toUpdatedSlug(ctx, "board", stored, input);
    const changes = changedFields(stored, { ...input, slug }, isSameInOrder);
    if (isEmpty(changes)) return toBoard(stored);
    if (changes.gateway_id) await requireGatewayChange(ctx, stored, changes.gateway_id);
    if (changes.board_group_id)
      await requireJoinableGroup(ctx, await recheckCaller(ctx, stored.organization_id, member), changes.board_group_id);
    requireCompleteGoal({ ...stored, ...changes });
    const [row] = await mapUniqueViolation(slugConflicts, () =>
      ctx.db.update(boards).set(changes).where(eq(boards.id, stored.id)).returning(),
    );
    await notifyBoardUpdated(ctx, stored, row!, changes);
    const { organization_id } = stored;
    await recordAudit(ctx, "board.updated", { organization_id, target: row!, before: stored, after: { ...stored, ...changes } });
    return toBoard(row!);
  });
}

async function requireGatewayChange(ctx: Context, board: BoardRow, gateway_id: string): Promise<void> {
  await requireGatewayWithMainAgent(ctx, board.organization_id, gateway_id);
  const [agent] = await ctx.db.select({ id: agents.id }).from(agents).where(eq(agents.board_id, board.id)).limit(1);
  if (agent) throw new DomainError("conflict", "Board has agents on its current gateway; move or delete them first.");
}

export function toBoard(row: BoardRow): Board {
  return {
    ...row,
    target_date: row.target_date?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
