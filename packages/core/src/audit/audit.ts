import { and, asc, eq, getTableColumns, gt, gte, lt } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { filterBy } from "../lists/filter.ts";
import { descending, idKey, integerKey } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import { type Page, pageQuery } from "../lists/page.ts";
import { audit_events } from "../schema/audit.sql.ts";
import { Id, Instant, InstantInput, lazyObject } from "../values/wire.ts";
import { AUDIT_ACTIONS } from "./action.ts";

const Who = lazyObject(() => ({
  type: z.string().describe("`user`, `key` or `agent`; `system` for the service, `public` for a caller without a credential."),
  id: Id.nullable().describe("Id of the user, key or agent."),
  name: z.string().nullable().describe("Name at the time."),
}));

export const AuditEvent = lazyObject(() => ({
  id: Id.describe("Id of the entry."),
  organization_id: Id.describe("Organization that was changed."),
  seq: z.int().describe("Position in the chain of the organization."),
  at: Instant.describe("When it was changed."),
  action: z.string().describe("What was done, for example `member.role_changed`."),
  actor: Who.describe("Who did it."),
  target: Who.describe("What was changed."),
  changes: z.record(z.string(), z.unknown()).describe("Old and new value by field. Secrets are hidden."),
  address: z.string().nullable().describe("Address of the client; null for work of the service."),
  user_agent: z.string().nullable().describe("Program of the client, as it says."),
  trace_id: z.string().nullable().describe("Id of the request in the log."),
  hash: z.string().describe("Hash of the entry and of the hash before it, in hex digits."),
})).meta({ id: "AuditEvent", description: "An entry of the audit log." });
export type AuditEvent = z.infer<typeof AuditEvent>;

export const AuditQuery = lazyObject(() => ({
  ...pageQuery(50, 200).shape,
  action: z.enum(AUDIT_ACTIONS).optional().describe("Only this action."),
  actor_id: Id.optional().describe("Only what this user, key or agent did."),
  target_id: Id.optional().describe("Only changes of this member, key, board or other thing."),
  since: InstantInput.optional().describe("Only entries from this time on."),
  until: InstantInput.optional().describe("Only entries before this time."),
}));
export type AuditQuery = z.infer<typeof AuditQuery>;

const auditList = listOf({
  name: "audit",
  table: audit_events,
  columns: getTableColumns(audit_events),
  order: descending<{ seq: number; id: string }>(
    integerKey(audit_events.seq, ({ seq }) => String(seq)),
    idKey(audit_events.id, ({ id }) => id),
  ),
});

/** Lists the entries of the active organization, newest first. */
export function listAuditEvents(ctx: Context<Admin>, query: AuditQuery): Promise<Page<AuditEvent>> {
  const { organization_id } = ctx.actor.active;
  const { action, actor_id, target_id, since, until, ...page } = query;
  return auditList.read(ctx, page, {
    owner: organization_id,
    filters: [
      filterBy("organization_id", organization_id, (id) => eq(audit_events.organization_id, id)),
      filterBy("action", action, (name) => eq(audit_events.action, name)),
      filterBy("actor_id", actor_id, (id) => eq(audit_events.actor_id, id)),
      filterBy("target_id", target_id, (id) => eq(audit_events.target_id, id)),
      filterBy("since", since, (time) => gte(audit_events.at, time)),
      filterBy("until", until, (time) => lt(audit_events.at, time)),
    ],
    toItem: toAuditEvent,
  });
}

const BATCH = 500;

/** Reads the entries of the active organization after a position and since a time, oldest first, in batches. */
export async function* readAuditEvents(
  ctx: Context<Admin>,
  { after, since }: { after: number; since: Date | null },
): AsyncGenerator<AuditEvent[]> {
  const { organization_id } = ctx.actor.active;
  for (let seq = after; ; ) {
    const rows = await ctx.db
      .select()
      .from(audit_events)
      .where(
        and(
          eq(audit_events.organization_id, organization_id),
          gt(audit_events.seq, seq),
          since ? gte(audit_events.at, since) : undefined,
        ),
      )
      .orderBy(asc(audit_events.seq))
      .limit(BATCH);
    if (rows.length > 0) yield rows.map(toAuditEvent);
    if (rows.length < BATCH) return;
    seq = rows.at(-1)!.seq;
  }
}

function toAuditEvent(row: typeof audit_events.$inferSelect): AuditEvent {
  const { id, organization_id, seq, at, action, changes, address, user_agent, trace_id, hash } = row;
  return {
    id,
    organization_id,
    seq,
    at: at.toISOString(),
    action,
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    target: { type: row.target_type, id: row.target_id, name: row.target_name },
    changes: changes as Record<string, unknown>,
    address,
    user_agent,
    trace_id,
    hash: Buffer.from(hash).toString("hex"),
  };
}
