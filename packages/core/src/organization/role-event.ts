import { insertEvents } from "../activity/activity.ts";
import type { MemberRole, User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { Member } from "./member.ts";
import { runWrite } from "../db/prepared-write.ts";
import { recordAudit } from "../audit/record.ts";

interface RoleChange {
  organization_id: string;
  member: Member["user"];
  /** Null for a new member. */
  from: MemberRole | null;
  to: MemberRole;
  /** The person who sent the invite that gives the role; null if an admin changed the role. */
  invited_by: Member["user"];
}

/** Records the change of a member's role by the caller. Call it in the transaction of the change. */
export async function recordRoleChange(ctx: Context<User>, change: RoleChange): Promise<void> {
  const { organization_id, member, from, to, invited_by } = change;
  const cause = invited_by ? ` by an invite from ${nameOf(invited_by)}` : "";
  const message = `Role of ${nameOf(member)} changed from ${from ?? "none"} to ${to}${cause}.`;
  await runWrite(
    ctx,
    insertEvents([{ event_type: "member.role_changed", organization_id, user_id: ctx.actor.user_id, message }]),
  );
  const target = { id: member?.id ?? null, name: nameOf(member) };
  await recordAudit(ctx, "member.role_changed", { organization_id, target, before: { role: from }, after: { role: to } });
}

const nameOf = (person: Member["user"]): string => person?.preferred_name || person?.name || person?.email || "User";
