import { and, asc, eq, getTableColumns, gt, isNotNull, isNull, ne, or, sql } from "drizzle-orm";
import type { Agent } from "../context/actor.ts";
import { memoPerApp } from "../context/app-memo.ts";
import { boards } from "../schema/board.sql.ts";
import { runs } from "../schema/run.sql.ts";
import { run_tokens } from "../schema/run-token.sql.ts";
import { budgets } from "../schema/budget.sql.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { storePrefetchedBoard } from "../context/prefetched-board.ts";
import { agents } from "../schema/agent.sql.ts";
import { touchPresence } from "./presence.ts";
import { RUN_TOKEN_PREFIX, tokenLookup, verifyToken } from "./token.ts";

/** The columns that identify an agent and the columns that record its presence. */
const columns = {
  agent_id: agents.id,
  name: agents.name,
  organization_id: gateways.organization_id,
  gateway_id: agents.gateway_id,
  board_id: agents.board_id,
  is_board_lead: agents.is_board_lead,
  openclaw_session_id: agents.openclaw_session_id,
  status: agents.status,
  last_seen_at: agents.last_seen_at,
  wake_attempts: agents.wake_attempts,
  checkin_deadline_at: agents.checkin_deadline_at,
  requests_per_minute: agents.requests_per_minute,
  has_budgets: sql<boolean>`exists (select 1 from ${budgets} where ${budgets.organization_id} = ${gateways.organization_id})`,
};

/** Finds the agent with this token. Its presence is stored at once, even if the transaction of the request is rolled back later. */
export async function findAgentByToken(ctx: Context, token: string): Promise<Agent | null> {
  if (token.startsWith(RUN_TOKEN_PREFIX)) return findAgentByRunToken(ctx, token);
  const row = await (ctx.prefetched_board ? findRowWithBoard(ctx, token, ctx.prefetched_board.id) : findRowByToken(ctx, token));
  return row && toActor(row, await touchPresence(ctx, row));
}

/** Finds the agent with this token, to check an open connection again. So it does not record presence. */
export async function recheckAgentToken(ctx: Context, token: string): Promise<Agent | null> {
  const row = await findRowByToken(ctx, token);
  return row && toActor(row, false);
}

/**
 * Finds the agent of the running run that this token belongs to. A run token allows less than the agent's own token
 * (context/run-scope.ts).
 */
async function findAgentByRunToken(ctx: Context, token: string): Promise<Agent | null> {
  const [row] = await agentByRunTokenLookup(ctx.db).execute({ lookup: tokenLookup(ctx.settings.token_pepper, token) });
  return row ? { ...toActor(row.agent, await touchPresence(ctx, row.agent)), run: row.run } : null;
}

const agentByRunTokenLookup = preparedQuery((db) =>
  db
    .select({ agent: columns, run: { run_id: runs.id, board_id: runs.board_id, task_id: runs.task_id } })
    .from(run_tokens)
    .innerJoin(runs, and(eq(runs.id, run_tokens.run_id), eq(runs.status, "running")))
    .innerJoin(agents, and(eq(agents.id, runs.agent_id), ne(agents.status, "deleting")))
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(eq(run_tokens.token_lookup, sql.placeholder("lookup"))),
);

/**
 * Finds the row by the digest of the token. This is one indexed look-up, so its duration does not reveal whether the token
 * exists.
 */
async function findRowByToken(ctx: Context, token: string) {
  const [row] = await agentByTokenLookup(ctx.db).execute({ lookup: tokenLookup(ctx.settings.token_pepper, token) });
  return row ?? null;
}

const agentByTokenLookup = preparedQuery((db) =>
  db
    .select(columns)
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.agent_token_lookup, sql.placeholder("lookup")), ne(agents.status, "deleting"))),
);

/** Finds the row by the token and also reads the board that the path names, if the board is in the agent's organization. */
async function findRowWithBoard(ctx: Context, token: string, board_id: string) {
  const lookup = tokenLookup(ctx.settings.token_pepper, token);
  const [row] = await agentWithBoardLookup(ctx.db).execute({ lookup, board_id });
  if (!row) return null;
  storePrefetchedBoard(ctx, row.agent.agent_id, { board: row.board, rights: null });
  return row.agent;
}

const agentWithBoardLookup = preparedQuery((db) =>
  db
    .select({ agent: columns, board: getTableColumns(boards) })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .leftJoin(boards, and(eq(boards.id, sql.placeholder("board_id")), eq(boards.organization_id, gateways.organization_id)))
    .where(and(eq(agents.agent_token_lookup, sql.placeholder("lookup")), ne(agents.status, "deleting"))),
);

function toActor(row: Omit<Agent, "type" | "newly_seen">, newly_seen: boolean): Agent {
  const { agent_id, name, organization_id, gateway_id, board_id, is_board_lead } = row;
  const { openclaw_session_id, requests_per_minute, has_budgets } = row;
  const identity = { agent_id, name, organization_id, gateway_id, board_id, is_board_lead, openclaw_session_id };
  return { type: "agent", ...identity, requests_per_minute, has_budgets, newly_seen };
}

/**
 * The queue of scans for imported tokens. Scans run one after the other, because checking the hash of a single row takes about 50
 * ms.
 */
const scanQueueOf = memoPerApp(() => ({ last: Promise.resolve() }));

/**
 * Stores the digest of an imported agent's token, after which `findAgentByToken` finds the agent. Imported agents have only a
 * PBKDF2 hash, so the token is checked against one row after the other.
 */
export function adoptImportedToken(ctx: Context, token: string): Promise<void> {
  const queue = scanQueueOf(ctx);
  const run = queue.last.then(() => adoptMatchingAgent(ctx, token));
  queue.last = run.catch(() => {});
  return run;
}

const SCAN_BATCH = 100;

async function adoptMatchingAgent(ctx: Context, token: string): Promise<void> {
  let after: { created_at: Date; id: string } | undefined;
  for (;;) {
    const rows = await ctx.db
      .select({ id: agents.id, hash: agents.agent_token_hash, created_at: agents.created_at })
      .from(agents)
      .where(
        and(
          isNull(agents.agent_token_lookup),
          isNotNull(agents.agent_token_hash),
          after &&
            or(gt(agents.created_at, after.created_at), and(eq(agents.created_at, after.created_at), gt(agents.id, after.id))),
        ),
      )
      .orderBy(asc(agents.created_at), asc(agents.id))
      .limit(SCAN_BATCH);
    for (const row of rows) {
      if (!(await verifyToken(token, row.hash ?? ""))) continue;
      await ctx.db
        .update(agents)
        .set({ agent_token_lookup: tokenLookup(ctx.settings.token_pepper, token), updated_at: sql`${agents.updated_at}` })
        .where(and(eq(agents.id, row.id), isNull(agents.agent_token_lookup), eq(agents.agent_token_hash, row.hash ?? "")));
      return;
    }
    after = rows.at(-1);
    if (rows.length < SCAN_BATCH) return;
  }
}
