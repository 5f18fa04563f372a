import { and, asc, desc, eq, getTableColumns, inArray, or } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import type { AgentRow } from "../agent/agent.ts";
import { agents } from "../agent/agent.sql.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { organization_members, users } from "../organization/organization.sql.ts";
import { roleName } from "./values.ts";

export type UserRow = typeof users.$inferSelect;

export interface Colleague {
  id: string;
  name: string;
  is_board_lead: boolean;
  /** What the agent is there for, such as `Board Lead`. */
  role: string;
}

/** All that the files of one agent are made of, beside its token. */
export interface TemplateSubject {
  agent: AgentRow;
  /** Null for a main agent. */
  board: BoardRow | null;
  gateway: GatewayRow;
  /** Whom the agent works for. */
  user: UserRow | null;
  /** The agents of the board, the subject among them, oldest first. */
  colleagues: readonly Colleague[];
}

/**
 * Reads what the files of these agents of one gateway need, in three statements however many agents there are. The user
 * is the acting one while a member of the organization, else its oldest owner. Agents that are gone are left out; the
 * others come in the order of their ids in `agent_ids`.
 */
export async function readSubjects(
  ctx: Context,
  gateway: GatewayRow,
  agent_ids: readonly string[],
  user_id: string | null,
): Promise<TemplateSubject[]> {
  if (agent_ids.length === 0) return [];
  const rows = await ctx.db
    .select({ agent: getTableColumns(agents), board: getTableColumns(boards) })
    .from(agents)
    .leftJoin(boards, eq(boards.id, agents.board_id))
    .where(and(inArray(agents.id, [...agent_ids]), eq(agents.gateway_id, gateway.id)));
  if (rows.length === 0) return [];
  const user = await findUser(ctx, gateway, user_id);
  const colleagues = await readColleagues(ctx, new Set(rows.flatMap(({ board }) => board?.id ?? [])));
  const found = new Map(rows.map((row) => [row.agent.id, row]));
  return agent_ids.flatMap((id): TemplateSubject[] => {
    const row = found.get(id);
    return row ? [{ ...row, gateway, user, colleagues: colleagues.get(row.board?.id ?? "") ?? [] }] : [];
  });
}

async function findUser(ctx: Context, gateway: GatewayRow, user_id: string | null): Promise<UserRow | null> {
  const isActing = user_id === null ? undefined : eq(users.id, user_id);
  const [user] = await ctx.db
    .select(getTableColumns(users))
    .from(organization_members)
    .innerJoin(users, eq(users.id, organization_members.user_id))
    .where(
      and(
        eq(organization_members.organization_id, gateway.organization_id),
        or(isActing, eq(organization_members.role, "owner")),
      ),
    )
    .orderBy(...(isActing ? [desc(isActing)] : []), asc(organization_members.created_at), asc(organization_members.id))
    .limit(1);
  return user ?? null;
}

async function readColleagues(ctx: Context, board_ids: ReadonlySet<string>): Promise<Map<string, Colleague[]>> {
  if (board_ids.size === 0) return new Map();
  const rows = await ctx.db
    .select({
      id: agents.id,
      name: agents.name,
      is_board_lead: agents.is_board_lead,
      profile: agents.identity_profile,
      board_id: agents.board_id,
    })
    .from(agents)
    .where(inArray(agents.board_id, [...board_ids]))
    .orderBy(asc(agents.created_at), asc(agents.id));
  const colleagues = rows.map(({ profile, ...row }) => ({ ...row, role: roleName(profile) }));
  return Map.groupBy(colleagues, ({ board_id }) => board_id ?? "");
}
