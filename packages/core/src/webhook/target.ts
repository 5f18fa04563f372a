import { and, eq, or, type SQL, sql } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";

/*
 * The target of a webhook is the agent that it names, as long as the agent is on its board, else the board's lead. Ingestion
 * derives the lane of the job from the target, and delivery the session, so both must use this rule.
 */

const isNamedAgent = sql`${agents.id} = ${board_webhooks.agent_id}`;

/** A condition on `agents` and `board_webhooks`: the agent can be the target of the webhook. */
export const isTargetCandidate: SQL = and(eq(agents.board_id, board_webhooks.board_id), or(isNamedAgent, agents.is_board_lead))!;

/** The order in which the first candidate is the target. */
export const targetFirst: SQL = sql`(${isNamedAgent}) desc nulls last`;
