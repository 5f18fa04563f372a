import { type Context, transaction } from "../context/context.ts";
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
