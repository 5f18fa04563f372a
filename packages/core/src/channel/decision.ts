import { eq } from "drizzle-orm";
import * as z from "zod";
import { type Approval, readApproval } from "../approval/approval.ts";
import { decidePending } from "../approval/decide.ts";
import { Answer, isQuestion, questionOf } from "../approval/question.ts";
import { ApprovalStatus } from "../approval/approval-status.ts";
import type { User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { boardFor } from "../organization/access.ts";
import { used_decisions } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { notFound } from "../values/errors.ts";
import { DAY_MS } from "../values/time.ts";
import { lazyObject } from "../values/wire.ts";
import { parseLink, signLink } from "./signed-link.ts";

const MAX_TOKEN = 1_000;

export const UseDecision = lazyObject(() => ({
  token: z.string().max(MAX_TOKEN).describe("The signed decision of a message."),
  status: z.enum(["approved", "rejected"]).describe("The decision."),
  answer: Answer.optional().describe("The answer of a question."),
})).meta({ id: "DecisionUse" });
export type UseDecision = z.infer<typeof UseDecision>;

export const DecisionResult = lazyObject(() => ({
  status: ApprovalStatus.describe("How the approval is decided now."),
  decided_by: z.string().nullable().describe("Name of the person who decided; null while nobody did."),
  is_first: z.boolean().describe("Whether this decision counted. Otherwise somebody had decided, or the button had been used."),
})).meta({ id: "DecisionResult", description: "The result of a decision from a message." });
export type DecisionResult = z.infer<typeof DecisionResult>;

/** What the page of a decision shows. */
export interface DecisionPreview {
  action_type: string;
  description: string | null;
  board_name: string;
  status: Approval["status"];
  decided_by: string | null;
  question: { options: string[]; allow_text: boolean } | null;
}

/** How long a button works after its message was sent. */
export const BUTTON_MS = DAY_MS;

interface NewDecision {
  approval_id: string;
  board_id: string;
  user_id: string;
  /** When the message with the button was sent, if not now. */
  sent_at?: Date;
}

/** Creates the token of a button for one person. */
export const signDecision = (ctx: Context, { sent_at = ctx.now(), ...about }: NewDecision): string =>
  signLink(ctx, { for: "decision", id: crypto.randomUUID(), ...about, expires: sent_at.getTime() + BUTTON_MS });

/**
 * Returns the claims of a token, and a context that acts as the person of the token. Throws `not_found` for a token that is not
 * valid any more.
 */
async function openToken(ctx: Context, token: string) {
  const claims = parseLink(ctx, "decision", token);
  if (!claims || claims.expires < ctx.now().getTime()) throw notFound();
  const [person] = await ctx.db
    .select({ name: users.name, preferred_name: users.preferred_name })
    .from(users)
    .where(eq(users.id, claims.user_id));
  if (!person) throw notFound();
  const display_name = person.preferred_name ?? person.name ?? "User";
  const actor: User = { type: "user", user_id: claims.user_id, display_name, active: null };
  return { claims, ctx: { ...ctx, actor } };
}

/** Returns what a token would decide, with the rights that its person has now. It does not decide anything. */
export async function previewDecision(ctx: Context, token: string): Promise<DecisionPreview> {
  const { claims, ctx: own } = await openToken(ctx, token);
  const board = await boardFor(own, claims.board_id, "write");
  const approval = await readApproval(own, board.id, claims.approval_id);
  return {
    action_type: approval.action_type,
    description: approval.description,
    board_name: board.name,
    status: approval.status,
    decided_by: await readDecider(own, approval),
    question: isQuestion(approval) ? questionOf(approval) : null,
  };
}

/**
 * Decides on behalf of the person who has the token, with the rights that the person has now. The token is used up in the
 * transaction of the decision. If somebody decided earlier, nothing changes, and the result says who it was.
 */
export async function useDecision(ctx: Context, { token, status, answer }: UseDecision): Promise<DecisionResult> {
  const { claims, ctx: own } = await openToken(ctx, token);
  return transaction(own, async (own) => {
    const { board_id, approval_id } = claims;
    const board = await boardFor(own, board_id, "write");
    const { approval, is_changed } = (await useOnce(own, claims.id))
      ? await decidePending(own, board_id, approval_id, { status, answer })
      : { approval: await readApproval(own, board.id, approval_id), is_changed: false };
    return { status: approval.status, decided_by: await readDecider(own, approval), is_first: is_changed };
  });
}

/** Uses up the id of a signed text, in the caller's transaction. Returns false if it was used before. */
export async function useOnce(ctx: Context, id: string): Promise<boolean> {
  const used = await ctx.db
    .insert(used_decisions)
    .values({ id, created_at: ctx.now() })
    .onConflictDoNothing()
    .returning({ id: used_decisions.id });
  return used.length > 0;
}

async function readDecider(ctx: Context, { resolved_by_user_id }: Approval): Promise<string | null> {
  if (resolved_by_user_id === null) return null;
  const [person] = await ctx.db
    .select({ name: users.name, preferred_name: users.preferred_name })
    .from(users)
    .where(eq(users.id, resolved_by_user_id));
  return person?.preferred_name ?? person?.name ?? "a person";
}
