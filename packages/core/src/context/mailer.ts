import { ExpectedFailure } from "../values/errors.ts";

export interface Mail {
  /** One address. */
  to: string;
  subject: string;
  /** Plain text. */
  text: string;
  /** The same as a page. It must load nothing from elsewhere. */
  html?: string;
  /** Address at which one POST ends such mails (RFC 8058). */
  unsubscribe_url?: string;
  /** Stays the same when the mail is sent again, so that a mailbox can recognize a repetition. */
  id?: string;
}

/** Sends mail through the operator's server. */
export interface Mailer {
  /** Resolves when the server has accepted the mail. Throws a `MailError` if it did not. */
  send(mail: Mail): Promise<void>;
  /** Ends the connections that are kept for later mails. */
  close(): void;
}

/** The mail server is unreachable or refused a mail. */
export class MailError extends ExpectedFailure {
  override name = "MailError";
  readonly #reason: "unreachable" | "later" | "refused";
  constructor(reason: "unreachable" | "later" | "refused", message: string) {
    super(message);
    this.#reason = reason;
  }

  override get is_transient(): boolean {
    return this.#reason !== "refused";
  }

  override get is_unreachable(): boolean {
    return this.#reason === "unreachable";
  }
}

/** A mailer that opens at the first mail, because loading its library takes time. */
export function createLazyMailer(open: () => Promise<Mailer>): Mailer {
  let opened: Promise<Mailer> | undefined;
  return {
    send: async (mail) => (await (opened ??= open())).send(mail),
    close: () => void opened?.then((mailer) => mailer.close()),
  };
}
