import { createLazyMailer, type Mailer } from "@board/core/context/mailer";
import type { Settings } from "@board/core/config/settings";

/** Opens the mail server that SMTP_URL names, or returns null without one. The library is loaded with the first mail. */
export function openMailer({ mail }: Pick<Settings, "mail">): Mailer | null {
  return mail && createLazyMailer(async () => (await import("@board/core/mail/smtp")).createSmtpMailer(mail));
}
