import { createHash } from "node:crypto";
import { type Context, transaction } from "../context/context.ts";
import { countRequest } from "../db/rate-limit.ts";
import type { JobHandler } from "../job/handler.ts";
import { enqueue } from "../job/job.ts";

/** A mail with a link that signs in, or that verifies an address. */
export interface AccountMail {
  to: string;
  subject: string;
  text: string;
}

/** Enqueues a mail. It is stored encrypted, because its link signs in anybody who reads it. */
export const sendAccountMail = (ctx: Context, organization_id: string, mail: AccountMail): Promise<void> =>
  transaction(ctx, (ctx) => enqueue(ctx, "account.mail", {}, { organization_id, secret: JSON.stringify(mail) }));

export const mailAccount: JobHandler<"account.mail"> = {
  async run({ mail }, _payload, { id, secret }) {
    // If the secret is erased, an earlier attempt has sent the mail.
    if (mail && secret !== null) await mail.send({ ...(JSON.parse(secret) as AccountMail), id });
  },
};

/**
 * Counts a mail to an address that a caller chose, and throws `limited` above the limit, no matter who asks. The count stays out of
 * the answer's headers, which would show how many mails others have requested.
 */
export function countMailTo(ctx: Context, email: string): Promise<void> {
  const key = createHash("sha256").update(email.toLowerCase()).digest("base64url");
  return countRequest({ ...ctx, limits: new Map() }, "auth_failures_per_minute", "account-mail", key);
}
