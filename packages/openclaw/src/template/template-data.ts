import { and, asc, desc, eq, getTableColumns, inArray, isNull, or } from "drizzle-orm";
import type { BoardRow } from "@board/core/organization/access";
import type { AgentRow } from "@board/core/agent/agent";
import { agents } from "@board/core/schema/agent.sql";
import { boards } from "@board/core/schema/board.sql";
import type { Context } from "@board/core/context/context";
import type { GatewayRow } from "@board/core/gateway/target";
import { organization_members, users } from "@board/core/schema/organization.sql";

export const DEFAULT_ROLE = "Generalist";

/** Returns the role that an identity profile names, as other agents see it. */
export const roleName = (profile: Readonly<Record<string, string>> | null): string => profile?.["role"]?.trim() || DEFAULT_ROLE;

export type UserRow = typeof users.$inferSelect;

export interface Colleague {
  id: string;
  name: string;
  is_board_lead: boolean;
  /** Role in the agent's identity profile, such as `Board Lead`. */
  role: string;
}

/** All data from which the files of one agent are rendered, except its token. */
export interface TemplateSubject {
  agent: AgentRow;
  /** Null for a main agent. */
  board: BoardRow | null;
  gateway: GatewayRow;
  /** The user for whom the agent works. */
  user: UserRow | null;
  /** All agents of the board, including this one, oldest first. */
  colleagues: readonly Colleague[];
}

/**
 * Reads the data of several agents of a gateway with three statements in all. The user in the files is the acting user if that
 * user is a member of the organization, else the organization's oldest owner. Deleted agents are skipped. The result is in the
 * order of `agent_ids`.
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
  const by_id = new Map(rows.map((row) => [row.agent.id, row]));
  return agent_ids.flatMap((id): TemplateSubject[] => {
    const row = by_id.get(id);
    return row ? [{ ...row, gateway, user, colleagues: colleagues.get(row.board?.id ?? "") ?? [] }] : [];
  });
}

async function findUser(ctx: Context, gateway: GatewayRow, user_id: string | null): Promise<UserRow | null> {
  const isActingUser = user_id === null ? undefined : eq(users.id, user_id);
  const [user] = await ctx.db
    .select(getTableColumns(users))
    .from(organization_members)
    .innerJoin(users, and(eq(users.id, organization_members.user_id), isNull(users.service_organization_id)))
    .where(
      and(
        eq(organization_members.organization_id, gateway.organization_id),
        or(isActingUser, eq(organization_members.role, "owner")),
      ),
    )
    .orderBy(...(isActingUser ? [desc(isActingUser)] : []), asc(organization_members.created_at), asc(organization_members.id))
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
