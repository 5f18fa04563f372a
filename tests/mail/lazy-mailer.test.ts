import { createLazyMailer } from "@board/core/context/mailer";
import { expect, test } from "vitest";

const mail = { to: "ann@example.com", subject: "Hello", text: "Hello" };

test("a mailer that could not be opened is opened again with the next mail, even if it was closed in between", async () => {
  const sent: string[] = [];
  const openings = [
    () => Promise.reject(new Error("too many open files")),
    () => Promise.resolve({ send: async ({ to }: { to: string }) => void sent.push(to), close: () => void sent.push("closed") }),
  ];
  const mailer = createLazyMailer(() => openings.shift()!());
  const failed = mailer.send(mail);
  mailer.close();
  await expect(failed).rejects.toThrow("too many open files");
  await mailer.send(mail);
  await mailer.send(mail);
  mailer.close();
  await Promise.resolve();
  expect(sent).toEqual(["ann@example.com", "ann@example.com", "closed"]);
});
