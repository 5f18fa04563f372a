import { ExpectedFailure } from "../values/errors.ts";
import { openOnce } from "../values/open-once.ts";

export interface Mail {
  /** A single e-mail address. */
  to: string;
  subject: string;
  /** The content as plain text. */
  text: string;
  /** The same content as HTML. It must not load anything from the network. */
  html?: string;
  /** An address to which mail programs can POST once to unsubscribe (RFC 8058). */
  unsubscribe_url?: string;
  /** Stays the same when the e-mail is sent again, so that a mailbox can recognize the duplicate. */
  id?: string;
}

/** Sends e-mail through the operator's server. */
export interface Mailer {
  /** Resolves when the server has accepted the e-mail. Throws a `MailError` if it did not. */
  send(mail: Mail): Promise<void>;
  /** Closes the connections that are kept open for later e-mails. */
  close(): void;
}

/** The mail server is unreachable or refused an e-mail. */
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

/** Creates a mailer that is opened at the first e-mail, because loading its library takes time. */
export function createLazyMailer(open: () => Promise<Mailer>): Mailer {
  let opened: Promise<Mailer> | undefined;
  const opening = openOnce(() => (opened = open()));
  return {
    send: async (mail) => (await opening()).send(mail),
    // If the mailer could not be opened, there is nothing to close.
    close: () =>
      void opened?.then(
        (mailer) => mailer.close(),
        () => {},
      ),
  };
}
