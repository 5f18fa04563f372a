import type { GenericEndpointContext } from "better-auth";
import { APIError, getSessionFromCtx } from "better-auth/api";

/** Records what happened to an account, if its person is in an organization whose log can have it. */
export type AuditAccount = (
  account_id: string,
  action: "account.changed" | "sign_in.ended" | "sign_in.failed" | "sign_in.succeeded",
  after?: object | null,
) => Promise<void>;

/** What the audit log says after a successful request to one of these paths. */
const CHANGES: Readonly<Record<string, string>> = {
  "/add-password": "password",
  "/change-email": "email",
  "/change-password": "password",
  "/passkey/delete-passkey": "passkey removed",
  "/passkey/verify-registration": "passkey added",
  "/unlink-account": "account elsewhere removed",
  "/update-user": "name",
};

/** Records a change of the account by the request that `returned` this. */
export async function auditChange(ctx: GenericEndpointContext, returned: unknown, audit: AuditAccount): Promise<void> {
  const changed = CHANGES[ctx.path ?? ""];
  if (changed === undefined || returned instanceof APIError) return;
  const session = ctx.context.newSession ?? ctx.context.session ?? (await getSessionFromCtx(ctx));
  if (session) await audit(session.user.id, "account.changed", { changed });
}
