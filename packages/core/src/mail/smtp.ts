import { createTransport } from "nodemailer";
import type { MailSettings } from "../config/mail-settings.ts";
import { type Mailer, MailError } from "../context/mailer.ts";
import { errorText } from "../values/log.ts";
import { oneLine } from "../values/wire.ts";

const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;
const MAX_CONNECTIONS = 4;
/** Replies from this code on are final: the server will not accept the e-mail later either. */
const FIRST_FINAL_REPLY = 500;

const openTransport = (smtp_url: string) =>
  createTransport({
    url: smtp_url,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    // An e-mail consists only of text, so nothing in it may make the library read a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });

/** Signs in to the mail server without sending anything. Throws a `MailError`. */
export async function verifyMailServer({ smtp_url }: MailSettings): Promise<void> {
  const transport = openTransport(smtp_url);
  try {
    await transport.verify();
  } catch (error) {
    throw toMailError(error);
  } finally {
    transport.close();
  }
}

/** Sends e-mails over SMTP. A process keeps a few connections open for later e-mails. */
export function createSmtpMailer({ smtp_url, from }: MailSettings): Mailer {
  const transport = openTransport(smtp_url);
  return {
    async send({ to, subject, text, html, unsubscribe_url, id }) {
      const headers = { ...(unsubscribe_url ? unsubscribeHeaders(unsubscribe_url) : {}), "Auto-Submitted": "auto-generated" };
      const domain = from.split("@").pop()!.replace(/[>\s]/g, "");
      try {
        await transport.sendMail({
          from,
          // In this form, the library does not parse the address as a list, so it always stays a single address.
          to: { name: "", address: to },
          subject: oneLine(subject),
          text,
          headers,
          ...(html === undefined ? {} : { html }),
          ...(id === undefined ? {} : { messageId: `<${id}@${domain}>` }),
        });
      } catch (error) {
        throw toMailError(error);
      }
    },
    close: () => transport.close(),
  };
}

const unsubscribeHeaders = (url: string) => ({
  "List-Unsubscribe": `<${url}>`,
  "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
});

function toMailError(error: unknown): MailError {
  const { responseCode } = error as { responseCode?: number };
  if (responseCode === undefined) return new MailError("unreachable", `The mail server was not reached: ${codeOf(error)}.`);
  const isFinal = responseCode >= FIRST_FINAL_REPLY && (error as { code?: string }).code !== "EAUTH";
  return new MailError(isFinal ? "refused" : "later", `The mail server answered ${responseCode}.`);
}

/** Prefers the code of an error to its message, because the message of the server may contain the address or the password. */
const codeOf = (error: unknown): string => (error as { code?: string }).code ?? errorText(error).slice(0, 100);
