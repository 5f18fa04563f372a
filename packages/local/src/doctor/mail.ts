import type { Settings } from "@board/core/config/settings";
import { errorText } from "@board/core/values/log";
import { type Finding, ok, wrong } from "./finding.ts";

const CHECK = "mail";

/** Checks that the mail server accepts the sign-in. It sends no mail. */
export async function checkMail({ mail }: Pick<Settings, "mail">): Promise<Finding[]> {
  if (mail === null) return [];
  const { host } = new URL(mail.smtp_url);
  const { verifyMailServer } = await import("@board/core/mail/smtp");
  try {
    await verifyMailServer(mail);
    return [ok(CHECK, `${host} accepts the sign-in`)];
  } catch (error) {
    return [wrong(CHECK, `${host}: ${errorText(error)}`, "Check host, port, user and password in SMTP_URL.")];
  }
}
