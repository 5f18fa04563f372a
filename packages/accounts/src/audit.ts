import type { GenericEndpointContext } from "better-auth";
import { APIError, getSessionFromCtx } from "better-auth/api";

/**
 * Records what happened to an account in the audit log of its person's organization. Without an organization, nothing is recorded.
 */
export type AuditAccount = (
  account_id: string,
  action: "account.changed" | "sign_in.ended" | "sign_in.failed" | "sign_in.succeeded",
  after?: object | null,
) => Promise<void>;

/** What the audit log calls the change that a successful request to each of these paths has made. */
const CHANGES: Readonly<Record<string, string>> = {
  "/add-password": "password",
  "/change-email": "email",
  "/email-link/verify": "email verified",
  "/change-password": "password",
  "/passkey/delete-passkey": "passkey removed",
  "/passkey/verify-registration": "passkey added",
  "/unlink-account": "account elsewhere removed",
  "/update-user": "name",
};

/** Records a change of the account, if this request has changed one. `returned` is the result of the request. */
export async function auditChange(ctx: GenericEndpointContext, returned: unknown, audit: AuditAccount): Promise<void> {
  const changed = CHANGES[ctx.path ?? ""];
  if (changed === undefined || returned instanceof APIError) return;
  const session = ctx.context.newSession ?? ctx.context.session ?? (await getSessionFromCtx(ctx));
  if (session) await audit(session.user.id, "account.changed", { changed });
}
