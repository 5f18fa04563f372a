import { createSmtpMailer } from "@board/core/mail/smtp";
import { parseSettings } from "@board/core/config/settings";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import { TEST_KEYS } from "../support/world.ts";

const server = await setup(startMailServer());
const from = "Board <board@example.com>";
const mailer = await setup(createSmtpMailer({ smtp_url: server.url, from }));
const mail = { to: "ada@example.com", subject: "A task waits", text: "Please look." };

test("a mail arrives with its texts, its sender and a way to stop such mails with one click", async () => {
  await mailer.send({ ...mail, html: "<p>Please look.</p>", unsubscribe_url: "https://board.example.com/off", id: "one" });
  const received = server.mails.at(-1)!;
  expect(received.recipients).toEqual(["ada@example.com"]);
  expect(received.from?.text).toBe('"Board" <board@example.com>');
  expect(received.subject).toBe("A task waits");
  expect(received.text).toContain("Please look.");
  expect(received.html).toContain("<p>Please look.</p>");
  expect(received.messageId).toBe("<one@example.com>");
  expect(received.raw).toContain("List-Unsubscribe: <https://board.example.com/off>");
  expect(received.raw).toContain("List-Unsubscribe-Post: List-Unsubscribe=One-Click");
});

test("a subject cannot add headers to a mail", async () => {
  await mailer.send({ ...mail, subject: "Hello\r\nBcc: eve@example.com" });
  const received = server.mails.at(-1)!;
  expect(received.recipients).toEqual(["ada@example.com"]);
  expect(received.bcc).toBeUndefined();
});

test("an address cannot name a second recipient", async () => {
  const before = server.mails.length;
  await mailer.send({ ...mail, to: "ada@example.com, eve@example.com" }).catch(() => {});
  expect(server.mails.slice(before).flatMap(({ recipients }) => recipients)).not.toContain("eve@example.com");
});

test("a refused mail is not sent again, and a busy server is asked again", async () => {
  server.refuse(550);
  await expect(mailer.send(mail)).rejects.toMatchObject({ is_transient: false });
  server.refuse(451);
  await expect(mailer.send(mail)).rejects.toMatchObject({ is_transient: true, is_unreachable: false });
  server.refuse(null);
});

test("a server that is down is reported without its password", async () => {
  const down = createSmtpMailer({ smtp_url: "smtp://user:hunter2@127.0.0.1:9", from });
  const failure = await down.send(mail).catch((error: unknown) => error);
  expect(failure).toMatchObject({ is_transient: true, is_unreachable: true });
  expect(String(failure)).not.toContain("hunter2");
});

test("SMTP_URL needs MAIL_FROM", () => {
  const environment = { ...TEST_KEYS, LOCAL_AUTH_TOKEN: "x".repeat(50), SMTP_URL: "smtp://mail.example.com:587" };
  expect(() => parseSettings(environment, "local")).toThrow("MAIL_FROM is required with SMTP_URL");
});
