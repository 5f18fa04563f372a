import { eq, sql } from "drizzle-orm";
import type { Actor, Member } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import { incrementCounter } from "../db/rate-limit.ts";
import { audit_chains, audit_events } from "../schema/audit.sql.ts";
import { ellipsize } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";
import type { AuditAction } from "./action.ts";
import { GENESIS, hashOf } from "./chain.ts";
import { toChanges } from "./changes.ts";

/** What was changed. */
interface AuditEntry {
  organization_id: string;
  target: { id: string | null; name?: string | null };
  /** The changed object before and after the change. The fields that differ are recorded, but secret values are hidden. */
  before?: object | null;
  after?: object | null;
}

const MAX_NAME = 200;
const MAX_USER_AGENT = 300;
const toText = (text: string | null | undefined, max: number): string | null => (text ? ellipsize(oneLine(text), max) : null);

/**
 * Records who changed what. It locks the audit chain of the organization, so call it as the last write of the transaction. The
 * changes of an organization are thus recorded one after the other.
 */
export function recordAudit(ctx: Context, action: AuditAction, entry: AuditEntry): Promise<void> {
  const { organization_id, target, before = null, after = null } = entry;
  return transaction(ctx, async (ctx) => {
    const [chain] = await ctx.db
      .insert(audit_chains)
      .values({ organization_id, seq: 1, hash: GENESIS, removed_seq: 0, removed_hash: GENESIS })
      .onConflictDoUpdate({ target: audit_chains.organization_id, set: { seq: sql`${audit_chains.seq} + 1` } })
      .returning({ seq: audit_chains.seq, hash: audit_chains.hash });
    const row = {
      id: crypto.randomUUID(),
      organization_id,
      seq: chain!.seq,
      at: ctx.now(),
      action,
      ...toActorColumns(ctx.actor),
      target_type: action.split(".", 1)[0]!,
      target_id: target.id,
      target_name: toText(target.name, MAX_NAME),
      changes: toChanges(before, after),
      address: ctx.client?.address ?? null,
      user_agent: toText(ctx.client?.user_agent, MAX_USER_AGENT),
      trace_id: ctx.trace_id,
    };
    const hash = hashOf(chain!.hash, row);
    await runBatch(ctx, [
      ctx.db.insert(audit_events).values({ ...row, hash }),
      ctx.db.update(audit_chains).set({ hash }).where(eq(audit_chains.organization_id, organization_id)),
    ]);
  });
}

/**
 * Records that the caller exported something. Of several exports in a clock minute only the first is recorded, so that a program
 * cannot fill the log with reads.
 */
export function recordExport(ctx: Context<Member>, action: AuditAction & `${string}.exported`, after: object): Promise<void> {
  const { user_id, active } = ctx.actor;
  const { organization_id } = active;
  return transaction(ctx, async (ctx) => {
    if ((await incrementCounter(ctx, action, `${organization_id} ${user_id}`)) > 1) return;
    await recordAudit(ctx, action, { organization_id, target: { id: organization_id }, after });
  });
}

function toActorColumns(actor: Actor) {
  if (actor.type === "agent") return { actor_type: "agent", actor_id: actor.agent_id, actor_name: toText(actor.name, MAX_NAME) };
  if (actor.type !== "user") return { actor_type: actor.type, actor_id: null, actor_name: null };
  const actor_type = actor.key ? "key" : "user";
  return { actor_type, actor_id: actor.user_id, actor_name: toText(actor.display_name, MAX_NAME) };
}
