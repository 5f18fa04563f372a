import { and, eq, or, type SQL, sql } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";

/*
 * The target of a webhook is the agent that the webhook names, as long as the agent is on the webhook's board. Otherwise it is
 * the board's lead. Ingestion uses the target for the lane of the job, and delivery for the session, so both must use this rule.
 */

const isNamedAgent = sql`${agents.id} = ${board_webhooks.agent_id}`;

/** A condition on `agents` and `board_webhooks`: whether the agent can be the target of the webhook. */
export const isTargetCandidate: SQL = and(eq(agents.board_id, board_webhooks.board_id), or(isNamedAgent, agents.is_board_lead))!;

/** The sort order that puts the target first. */
export const targetFirst: SQL = sql`(${isNamedAgent}) desc nulls last`;
