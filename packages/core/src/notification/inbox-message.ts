import { and, eq, sql } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import type { Context } from "../context/context.ts";
import { type PreparedWrite, prepareRowsInsert } from "../db/prepared-write.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { inbox_messages } from "../schema/inbox.sql.ts";

export interface NewInboxMessage {
  organization_id: string;
  /** The board of the agent; null for a main agent. */
  board_id: string | null;
  agent_id: string;
  kind: string;
  text: string;
  /** The agent that wrote the whole text. Undefined if the service wrote it. */
  author_id?: string;
  task_id: string | null;
}

/** Builds the insert of messages, for the transaction of the change that they report. Agents read them in the order of the list. */
export const insertInboxMessages: (messages: readonly NewInboxMessage[]) => PreparedWrite = prepareRowsInsert(
  "inbox messages",
  inbox_messages,
  ["organization_id", "board_id", "agent_id", "kind", "text", "author_id", "task_id"],
);

interface UndeliveredMessage {
  gateway_id: string;
  session_key: string;
  kind: string;
  text: string;
  task_id: string | null;
}

/** Stores in the agent's inbox a message that the host did not accept. Does nothing if no agent has this session any more. */
export async function storeUndelivered(ctx: Context, message: UndeliveredMessage): Promise<void> {
  const [agent] = await ctx.db
    .select({ agent_id: agents.id, board_id: agents.board_id, organization_id: gateways.organization_id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.gateway_id, message.gateway_id), eq(agents.openclaw_session_id, message.session_key)))
    .for("key share", { of: agents });
  if (!agent) return;
  const { kind, text, task_id } = message;
  // The task may have been removed since the message was written.
  const existing_task = sql<string | null>`(select id from ${tasks} where id = ${task_id}::uuid for key share)`;
  await ctx.db.insert(inbox_messages).values({ ...agent, kind, text, task_id: existing_task });
}
