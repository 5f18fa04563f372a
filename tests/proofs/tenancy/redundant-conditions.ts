import { REDUNDANT_KEY_CONDITIONS } from "./redundant-key-conditions.ts";
import { OWN_AGENT, REDUNDANT_SEARCH_CONDITIONS } from "./redundant-search-conditions.ts";
import { REDUNDANT_USAGE_CONDITIONS } from "./redundant-usage-conditions.ts";

/** A condition whose removal no request can detect, and why. */
export interface RedundantCondition {
  /** The condition as written in the statement, without the numbers of parameters. */
  condition: string;
  /** A part of the statement, or of the subselect around the condition. With `^` in front, it must be the beginning. */
  within: string;
  /** An operation that sends the condition, if the condition is redundant only there and has an effect in other operations. */
  operation?: string;
  because: string;
}

export function matchesResult(
  entry: RedundantCondition,
  { name, operations }: { name: string; operations: readonly string[] },
): boolean {
  const { condition, within, operation } = entry;
  const [text, place] = name.split(/ \(\d+\) in (.*)/s);
  const isThere = within.startsWith("^") ? place!.startsWith(within.slice(1)) : place!.includes(within);
  return text === condition && isThere && (operation === undefined || operations.includes(operation));
}

const LOCK = "it only limits what is locked: without it other transactions wait longer";
const SAME_ROW = "its value comes from the row itself, which was found by its organization or board before";
const OF_BOARD = "its value comes from a board of the same organization, which was found before";
const GROUPED_BY_OWNER = "rows are grouped by their owner, and the groups of other owners are not read";
const NAMED_BOARD = "the named board is the agent's own, or the request was refused before";
const OWN_PLACE =
  "its value comes from the calling agent, and its board or gateway, which is also compared, is of its organization";
const MATCHED_BEFORE = "values are only matched earlier with it: the fields that are read under the lock decide";
const EMPTY_LIST = "an empty list of messages matches none";
const OTHER_FORM = "requests across boards send another form of the same code, in which its removal is detected";

/** The beginning of the condition that names the actor of a change. */
const ACTING = "and set_config('changes.actor', $, true) is not null)";
const HELD_AGENT = `"agents"."id" = $ and "agents"."board_id" = $ and "gateways"."organization_id" = $) ${ACTING} for update of "agents"`;
const HOME = '"tasks"."board_id" = (select id from "boards" where id = $ and organization_id = $ for key share)';
/** The end of the statement that updates one task. The task was found and locked by an earlier statement. */
const OF_ONE_TASK = 'where ("tasks"."id" = $ and "tasks"."board_id" = $';
const OF_ORGANIZATION = '(select id from "boards" where organization_id = $)';

const PATTERNS = 'and "task_custom_field_definitions"."validation_regex" is not null)';
const EXPIRED = '"boards"."id" in (select "tasks"."board_id" from "tasks" where "tasks"."lease_expires_at" <= $::timestamptz)';
const ON_GATEWAY = '"boards"."organization_id" = $ and "boards"."gateway_id" = $)';
const OWN_TASKS = '"boards"."organization_id" = "gateways"."organization_id" and "boards"."gateway_id" = "agents"."gateway_id"';

export const REDUNDANT_CONDITIONS: readonly RedundantCondition[] = [
  // Files.
  {
    condition: '"boards"."organization_id" = "artifacts"."organization_id"',
    within: 'from "artifacts" join "boards"',
    because:
      "it lets the index by size be used: a file always belongs to the organization of its board, whose rights are checked",
  },
  // People and organizations.
  { condition: '"organization_members"."user_id" = $', within: '(select "organization_id" from', because: LOCK },
  {
    condition: '"organization_members"."organization_id" = "users"."active_organization_id"',
    within: '"board_member"."organization_id" = "boards"."organization_id"',
    because: "on paths of a board the membership of the board's organization counts, which is read as well",
  },
  {
    condition: '"organization_members"."user_id" = $',
    within: "count(*) filter (where",
    because: "an organization without another owner has this owner",
  },
  {
    condition: '"organization_members"."organization_id" in ($)',
    within: "count(*) filter (where",
    because: "an organization without this member has other members, so the count has no effect",
  },
  {
    condition: "organization_id = $",
    within: '(select id from "boards" where organization_id = $ order by id for',
    because: LOCK,
  },
  { condition: `board_id in ${OF_ORGANIZATION}`, within: "for no key update", because: LOCK },
  {
    condition: '"jobs"."subscription_id" = $',
    within: 'select "id" from "jobs" where ("jobs"."subscription_id" = $',
    because: LOCK,
  },
  {
    condition: 'gateway_id in (select id from "gateways" where organization_id = $)',
    within: "for no key update",
    because: LOCK,
  },
  {
    condition: '"organization_board_access"."organization_member_id" in ($)',
    within: 'from "organization_board_access" where',
    because: GROUPED_BY_OWNER,
  },
  // Keys.
  ...REDUNDANT_KEY_CONDITIONS,
  // Gateways and skills.
  { condition: '"gateways"."organization_id" = $', within: 'delete from "gateways" where', because: SAME_ROW },
  {
    condition: '"agents"."gateway_id" = "gateways"."id"',
    within: '"agents"."openclaw_session_id" = $)',
    because: "the session key of a main agent names its gateway",
  },
  {
    condition: '"gateways"."organization_id" = $',
    within: '"agents"."board_id" is null) where ("gateways"."id" = $',
    because: OF_BOARD,
  },
  {
    condition: '"gateways"."organization_id" = $',
    within: '"agents"."is_board_lead" = $) where ("gateways"."id" = $',
    because: OF_BOARD,
  },
  {
    condition: '"gateways"."organization_id" = $',
    within: 'select "kind", "url", "workspace_root" from "gateways"',
    because: OF_BOARD,
  },
  { condition: '"gateways"."organization_id" = $', within: 'select "kind" from "gateways"', because: OF_BOARD },
  {
    condition: '"marketplace_skills"."organization_id" = $',
    within: '"marketplace_skills"."organization_id" = $ and "marketplace_skills"."id" = $',
    operation: "POST /api/skills/marketplace",
    because: SAME_ROW,
  },
  // Boards and their groups.
  {
    condition: '"boards"."organization_id" = $',
    within: `from "boards" where ("boards"."id" = $ and "boards"."organization_id" = $ ${ACTING} for update`,
    because: SAME_ROW,
  },
  {
    condition: '"boards"."organization_id" = $',
    within: 'from "boards" where ("boards"."id" = $ and "boards"."organization_id" = $) for key share',
    because: SAME_ROW,
  },
  { condition: '"boards"."organization_id" = $', within: 'delete from "boards" where', because: SAME_ROW },
  { condition: '"boards"."organization_id" = $', within: 'update "boards" set "board_type"', because: SAME_ROW },
  {
    condition: '"boards"."organization_id" = $',
    within: '"boards"."id" in ($) and "boards"."organization_id" = $) order by "boards"."id" asc for no key update',
    because: LOCK,
  },
  {
    condition: '"board_groups"."organization_id" = $',
    within: `"board_groups"."organization_id" = $ ${ACTING} for update`,
    because: SAME_ROW,
  },
  {
    condition: '"board_groups"."organization_id" = $',
    within: 'from "board_groups" where ("board_groups"."id" = $ and "board_groups"."organization_id" = $)',
    operation: "POST /api/v1/boards/{board_id}/group-memory",
    because: OF_BOARD,
  },
  { condition: '"tasks"."board_id" in ($)', within: '"tasks"."status" <> $', because: GROUPED_BY_OWNER },
  { condition: '"tasks"."board_id" in ($)', within: 'group by "tasks"."board_id", "tasks"."status"', because: GROUPED_BY_OWNER },
  // Tasks and approvals.
  {
    condition: "organization_id = $",
    within: 'from "boards" where id = $ and organization_id = $ for key share',
    because: SAME_ROW,
  },
  { condition: HOME, within: '"tasks"."id" in (select unnest($::uuid[]) )', because: OTHER_FORM },
  { condition: '"tasks"."board_id" = $', within: `"updated_at" = now() ${OF_ONE_TASK}`, because: SAME_ROW },
  { condition: '"tasks"."board_id" = $', within: `"updated_at" = "tasks"."updated_at" ${OF_ONE_TASK}`, because: SAME_ROW },
  { condition: '"tasks"."board_id" = $', within: "pg_advisory_xact_lock_shared", because: SAME_ROW },
  {
    condition: '"tasks"."board_id" = $',
    within: 'select "assigned_agent_id" from "tasks"',
    because: "its result is compared with the locked task, which is found by its board",
  },
  {
    condition: '"tasks"."board_id" = (select "boards".id from "boards" where "boards".id = $ for key share)',
    within: '"tasks"."id" in',
    operation: "PATCH /api/v1/boards/{board_id}/approvals/{approval_id}",
    because: LOCK,
  },
  { condition: '"task_custom_field_definitions"."organization_id" = $', within: PATTERNS, because: MATCHED_BEFORE },
  { condition: '"board_task_custom_fields"."board_id" = $', within: PATTERNS, because: MATCHED_BEFORE },
  {
    condition: 'bound.board_id = "tasks".board_id',
    within: "<= 131072 then",
    operation: "POST /mcp",
    because: "list_tasks shows no custom fields; lists over HTTP send the same condition, and its removal is detected there",
  },
  { condition: '"approvals"."board_id" = $', within: 'with "write_0" as (update "approvals"', because: SAME_ROW },
  { condition: '"artifacts"."board_id" = $', within: 'select "content" from "artifacts"', because: SAME_ROW },
  // Agents.
  { condition: '"agents"."gateway_id" = $', within: '("agents"."id" = $ and "agents"."gateway_id" = $)', because: SAME_ROW },
  { condition: '"agents"."board_id" = $', within: HELD_AGENT, because: SAME_ROW },
  { condition: '"gateways"."organization_id" = $', within: HELD_AGENT, because: SAME_ROW },
  {
    condition: '"gateways"."organization_id" = $',
    within:
      'access.can_write))) or ("agents"."board_id" is null and "gateways"."organization_id" = $)) and "agents"."board_id" = $',
    because: "main agents are excluded when a board is named",
  },
  {
    condition: '"boards"."organization_id" = $',
    within: '("boards"."organization_id" = $ and "boards"."id" = $)',
    operation: "GET /api/v1/agent/agents",
    because: OWN_AGENT,
  },
  {
    condition: '"boards"."organization_id" = $',
    within: '("boards"."organization_id" = $ and "boards"."id" = $)',
    operation: "GET /api/v1/agent/boards",
    because: OWN_AGENT,
  },
  {
    condition: '"agents"."board_id" = $',
    within: '"boards"."id" = $) or "agents"."id" = $) and "agents"."board_id" = $',
    because: NAMED_BOARD,
  },
  {
    condition: '"boards"."gateway_id" = $',
    within: '"boards"."gateway_id" = $) or "agents"."id" = $) and "agents"."board_id" = $',
    because: NAMED_BOARD,
  },
  {
    condition: '"boards"."organization_id" = $',
    within: '"boards"."gateway_id" = $) or "agents"."id" = $) and "agents"."board_id" = $',
    because: NAMED_BOARD,
  },
  { condition: '"agents"."gateway_id" = $', within: '("agents"."id" in ($) and "agents"."gateway_id" = $)', because: SAME_ROW },
  {
    condition: '"organization_members"."organization_id" = $',
    within: '("organization_members"."organization_id" = $ and "organization_members"."role" = $) order by',
    operation: "GET /api/v1/agent/instructions",
    because: "the instructions of an agent do not name the owner of its organization",
  },
  {
    condition: '"agents"."board_id" in ($)',
    within: 'where "agents"."board_id" in ($) order by "agents"."created_at" asc',
    operation: "GET /api/v1/agent/instructions",
    because: GROUPED_BY_OWNER,
  },
  // Usage and budgets.
  ...REDUNDANT_USAGE_CONDITIONS,
  // The changes feed.
  {
    condition: "gone.organization_id = caller.organization_id",
    within: "where (caller.reads_all or caller.reader_id = any(gone.readers)) group by caller.index",
    because: "readers are memberships and gateways of one organization; those who read all boards do not send this form",
  },
  ...REDUNDANT_SEARCH_CONDITIONS,
  // Deliveries.
  {
    condition: '"jobs"."organization_id" = $',
    within: 'delete from "jobs" where ("jobs"."id" in (select unnest($::uuid[]))',
    because: "the jobs are those of payloads, which were found by their webhook and board before",
  },
  // Inboxes and next tasks.
  {
    condition: '"boards"."organization_id" = "gateways"."organization_id"',
    within: 'select "agents"."id", "agents"."name", "agents"."status", "agents"."board_id", "agents"."is_board_lead"',
    because: OWN_AGENT,
  },
  { condition: '"boards"."organization_id" = "gateways"."organization_id"', within: OWN_TASKS, because: OWN_PLACE },
  {
    condition: '"boards"."organization_id" = "gateways"."organization_id"',
    within: '"tasks"."lease_seconds" is not null and "boards"."organization_id" = "gateways"."organization_id" limit 1',
    because: OWN_PLACE,
  },
  {
    condition: '"inbox_messages"."agent_id" = $',
    within: '"inbox_messages"."acknowledged_at" is null and false)',
    because: EMPTY_LIST,
  },
  {
    condition: '"inbox_messages"."organization_id" = $',
    within: '"inbox_messages"."acknowledged_at" is null and false)',
    because: EMPTY_LIST,
  },
  { condition: '"boards"."organization_id" = $', within: EXPIRED, because: OWN_PLACE },
  {
    condition: '"boards"."gateway_id" = $',
    within: `(${ON_GATEWAY} and "boards"."id" = $) and ${EXPIRED}`,
    because: NAMED_BOARD,
  },
  {
    condition: '"boards"."gateway_id" = $',
    within: `(select 1 from "boards" where (${ON_GATEWAY} and ${EXPIRED}`,
    because: "it only decides whether to search for expired leases, and the search compares the gateway again",
  },
  { condition: '"boards"."organization_id" = $', within: "only_lead_can_change_status as only_lead", because: OWN_PLACE },
  {
    condition: '"boards"."gateway_id" = $',
    within: `as gated from "boards" where ((${ON_GATEWAY} and "boards"."id" = $)`,
    because: NAMED_BOARD,
  },
];
