import { createHash } from "node:crypto";
import type { Context } from "../context/context.ts";
import { countRequest } from "./rate-limit.ts";

/**
 * Counts a mail to an address that a caller chose, and throws `limited` above the limit, no matter who asks. The count stays out of
 * the answer's headers, which would show how many mails others have requested.
 */
export function countMailTo(ctx: Context, email: string): Promise<void> {
  const key = createHash("sha256").update(email.toLowerCase()).digest("base64url");
  return countRequest({ ...ctx, limits: new Map() }, "auth_failures_per_minute", "account-mail", key);
}
