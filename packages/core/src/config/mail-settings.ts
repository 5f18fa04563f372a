import * as z from "zod";

export interface MailSettings {
  /** The URL with the password. */
  smtp_url: string;
  /** The sender of all e-mails. */
  from: string;
}

const isSmtp = (text: string) => URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol) && new URL(text).hostname !== "";

/** Either `Name <address>` or an address. Line breaks are forbidden because they could add headers. */
const SENDER = /^(?:[^<>\r\n]{1,100} <[^\s<>@]{1,64}@[^\s<>@]{1,190}>|[^\s<>@]{1,64}@[^\s<>@]{1,190})$/;

/** The settings for outgoing e-mail. */
export const mailSettings = {
  SMTP_URL: z
    .string()
    .refine(isSmtp, { error: "must be smtp://user:password@host:port or smtps://…" })
    .optional()
    .meta({ rule: "smtp:// or smtps:// URL", secret: true })
    .describe(
      "Mail server: `smtp://user:password@host:587`, or `smtps://…:465`. When unset, no mail is sent. Amazon SES offers such an address too.",
    ),
  MAIL_FROM: z
    .string()
    .regex(SENDER, "must be an address or Name <address>")
    .optional()
    .meta({ rule: "address or `Name <address>`" })
    .describe("Sender of all mails. Required with SMTP_URL."),
};

type Variables = z.output<z.ZodObject<typeof mailSettings>>;

/** Returns the settings of the mail server; null if SMTP_URL is not set. */
export const toMailSettings = ({ SMTP_URL, MAIL_FROM }: Variables): MailSettings | null =>
  SMTP_URL && MAIL_FROM ? { smtp_url: SMTP_URL, from: MAIL_FROM } : null;
