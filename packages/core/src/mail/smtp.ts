import { createTransport } from "nodemailer";
import type { MailSettings } from "../config/mail-settings.ts";
import { type Mailer, MailError } from "../context/mailer.ts";
import { errorText } from "../values/log.ts";
import { oneLine } from "../values/wire.ts";

const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;
const MAX_CONNECTIONS = 4;
/** Replies from here on are final: the server will not accept the mail later either. */
const FIRST_FINAL_REPLY = 500;

const openTransport = (smtp_url: string) =>
  createTransport({
    url: smtp_url,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    // A mail is made of texts only: nothing of it may name a file or an address to read from.
    disableFileAccess: true,
    disableUrlAccess: true,
  });

/** Signs in at the mail server and sends nothing. Throws a `MailError`. */
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

/** Mail over SMTP. The connections are kept for the next mails, and a process opens only a few of them. */
export function createSmtpMailer({ smtp_url, from }: MailSettings): Mailer {
  const transport = openTransport(smtp_url);
  return {
    async send({ to, subject, text, html, unsubscribe_url, id }) {
      const headers = { ...(unsubscribe_url ? unsubscribeHeaders(unsubscribe_url) : {}), "Auto-Submitted": "auto-generated" };
      const domain = from.split("@").pop()!.replace(/[>\s]/g, "");
      try {
        await transport.sendMail({
          from,
          // An object is not parsed as a list, so that one address stays one.
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

/** The server's words are left out, because they may quote the address or the password. */
const codeOf = (error: unknown): string => (error as { code?: string }).code ?? errorText(error).slice(0, 100);
