import type { AddressInfo } from "node:net";
import { type ParsedMail, simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";

interface ReceivedMail extends ParsedMail {
  /** The mail as it was sent. */
  raw: string;
  recipients: string[];
  /** When its last byte arrived, as `performance.now()` says. */
  received_at: number;
}

export interface MailServer {
  url: string;
  mails: ReceivedMail[];
  /** The settings of a world that sends through this server. */
  environment: Record<string, string>;
  /** Makes the server answer with this code after the text of each mail. Null accepts mails again. */
  refuse(code: number | null): void;
  /** Runs `work` when the server has the text of the next mail and has not answered yet. */
  whileSending(work: (recipients: string[]) => Promise<unknown>): void;
  close(): Promise<void>;
}

/** Starts a mail server on loopback. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  let refusal: number | null = null;
  let during: ((recipients: string[]) => Promise<unknown>) | null = null;
  const keep = async (raw: Buffer, recipients: string[]) => {
    const received_at = performance.now();
    mails.push(Object.assign(await simpleParser(raw), { raw: raw.toString("utf8"), recipients, received_at }));
  };
  const take = async (raw: Buffer, recipients: string[], work: typeof during) => {
    await work?.(recipients);
    if (refusal === null) await keep(raw, recipients);
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    closeTimeout: 500,
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => {
        const recipients = envelope.rcptTo.map(({ address }) => address);
        const work = during;
        during = null;
        void take(Buffer.concat(parts), recipients, work).finally(() =>
          done(refusal === null ? null : Object.assign(new Error("Refused"), { responseCode: refusal })),
        );
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return {
    url,
    mails,
    environment: { SMTP_URL: url, MAIL_FROM: "Board <board@example.com>" },
    refuse: (code) => void (refusal = code),
    whileSending: (work) => void (during = work),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
