import { and, eq, or, type SQL, sql } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";

/*
 * The target of a webhook is the agent that it names while that agent is on its board, else the lead of the board. Ingestion
 * chooses the job's lane by it and delivery the session to write to: with one rule for both, the lane is that of the session.
 */

const isNamedAgent = sql`${agents.id} = ${board_webhooks.agent_id}`;

/** Condition on `agents` joined to `board_webhooks`: the agents that can be the target. */
export const isTargetCandidate: SQL = and(eq(agents.board_id, board_webhooks.board_id), or(isNamedAgent, agents.is_board_lead))!;

/** Order by which the first candidate is the target. */
export const targetFirst: SQL = sql`(${isNamedAgent}) desc nulls last`;
