import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { openOtherServices } from "../../accounts/other-services.ts";
import { setup } from "../../support/fixtures.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { dataFolder, startProgram } from "../../support/program.ts";
import { serve } from "../../support/serve.ts";
import { openConsole, setupBrowser, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const PASSWORD = "a green fence by the sea";

const browser = await setupBrowser();
const mail = await setup(startMailServer());

/** Starts a service whose people have accounts, and opens pages of people who are not signed in. */
async function start(environment: Record<string, string> = {}) {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const basics = { DATA_DIR: dataFolder(), PORT: String(port), BASE_URL: origin, AUTH_MODE: "accounts", LOG_LEVEL: "error" };
  const program = startProgram("main", { ...basics, ...environment });
  const [, file] = await program.waitForOutput(/^ {2}link +in (\S+)$/m);
  await program.waitForOutput(/^ {2}data +/m);
  const openPage = async (address = "") => openConsole(await browser.createBrowserContext(), `${origin}/${address}`);
  return { origin, openPage, ownerLink: new URL(readFileSync(file!, "utf8").trim()).hash };
}

test("a service without other ways to sign in shows no buttons for them", async () => {
  const { openPage } = await start();
  const page = await openPage();
  await page.sees("main", "E-mail");
  expect(await page.text("main")).not.toMatch(/GitHub|Google|link by e-mail/);
});

test("each way to sign in that the service offers has a button, and a mailed link signs in only when the button on its page is pressed", async () => {
  const github = { GITHUB_CLIENT_ID: "client", GITHUB_CLIENT_SECRET: "secret" };
  const { openPage, ownerLink } = await start({ ...mail.environment, ...github });
  const owner = await openPage(ownerLink);
  await owner.sees(".nav", "Sign out");
  await owner.go("#/personal/account");
  await owner.sees("main", "Sign in with GitHub too");
  expect(await owner.text("main")).not.toContain("Google");
  await owner.page.locator('[id="field-account-email"]').fill("olga@example.com");
  await owner.page.locator('.card-panel:has([id*="account-email"]) button.primary').click();
  await owner.sees(".notices", "Your account was changed.");

  const elsewhere = await openPage();
  await elsewhere.sees("main", "Sign in with GitHub");
  await elsewhere.page.locator('input[autocomplete="username"]').fill("olga@example.com");
  await elsewhere.click("Send a link by e-mail");
  await elsewhere.sees(".notices", "a link is on its way");
  await vi.waitFor(() => expect(mail.mails).toHaveLength(1), WAIT);
  const link = /#mail=\S+/.exec(mail.mails[0]!.text!)![0];
  // Mail programs load the page without pressing its button, so loading must not use up the link.
  const scanner = await openPage(link);
  await scanner.sees("main", "Sign in");
  const opened = await openPage(link);
  await opened.click("Sign in");
  await opened.sees(".nav", "Sign out");
  expect([owner.errors, elsewhere.errors, scanner.errors, opened.errors]).toEqual([[], [], [], []]);
});

test("a mailed link verifies the address at once in a browser that is signed in, and in another browser after signing in", async () => {
  const { openPage, ownerLink } = await start(mail.environment);
  const owner = await openPage(ownerLink);
  await owner.sees(".nav", "Sign out");
  await owner.go("#/personal/account");
  await owner.sees("main", "E-mail address");
  expect(await owner.page.evaluate(`document.querySelector('[id="field-account-email"]').value`)).toBe("");
  await owner.page.locator('[id="field-account.password-newPassword"]').fill(PASSWORD);
  await owner.click("Set the password");
  await owner.sees(".notices", "The password was changed.");
  await owner.page.locator('[id="field-account-email"]').fill("vera@example.com");
  await owner.page.locator('.card-panel:has([id*="account-email"]) button.primary').click();
  await owner.click("Verify the address");
  const linkIn = async (email: string) => {
    const find = () => mail.mails.findLast(({ recipients }) => recipients.includes(email));
    await vi.waitFor(() => expect(find()).toBeDefined(), WAIT);
    return /#email=\S+/.exec(find()!.text!)![0];
  };
  await owner.go(await linkIn("vera@example.com"));
  await owner.sees(".notices", "Your e-mail address is verified.");

  await owner.go("#/personal/account");
  await owner.page.locator('[id="field-account-email"]').fill("vera@work.example");
  await owner.page.locator('.card-panel:has([id*="account-email"]) button.primary').click();
  await owner.sees(".notices", "Open the link that was sent to vera@work.example.");
  const elsewhere = await openPage(await linkIn("vera@work.example"));
  await elsewhere.sees("main", "Sign in to confirm your e-mail address.");
  await elsewhere.page.locator('input[autocomplete="username"]').fill("vera@example.com");
  await elsewhere.page.locator('input[type="password"]').fill(PASSWORD);
  await elsewhere.click("Sign in");
  await elsewhere.sees(".notices", "Your e-mail address is verified.");
  await elsewhere.go("#/personal/account");
  await vi.waitFor(
    async () =>
      expect(await elsewhere.page.evaluate(`document.querySelector('[id="field-account-email"]')?.value`)).toBe(
        "vera@work.example",
      ),
    WAIT,
  );
  expect([owner.errors, elsewhere.errors]).toEqual([[], []]);
});

test("a person adds an account at another service and removes it again", async () => {
  const others = await openOtherServices();
  const services = await setup(
    serve((request) => {
      const [, host, path] = /^\/([^/]+)(\/.*)$/.exec(request.url.slice(new URL(request.url).origin.length))!;
      return others.fetch(new Request(`https://${host}${path}`, request));
    }),
  );
  const { origin, openPage, ownerLink } = await start({
    GITHUB_CLIENT_ID: "client",
    GITHUB_CLIENT_SECRET: "secret",
    NODE_OPTIONS: `--require ${path.resolve(import.meta.dirname, "../../support/fetch-redirect.cjs")}`,
    OTHERS_URL: services.url,
  });
  const owner = await openPage(ownerLink);
  await owner.sees(".nav", "Sign out");
  await owner.go("#/personal/account");
  await owner.page.locator('[id="field-account.password-newPassword"]').fill(PASSWORD);
  await owner.click("Set the password");
  await owner.sees(".notices", "The password was changed.");
  await owner.sees("main", "Sign in with GitHub too");
  // The person agrees at the service, which sends the browser back with a code.
  const asked = (await owner.page.evaluate(`(async () => (await (await fetch("/api/auth/link-social", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ provider: "github", callbackURL: "/" }),
  })).json()).url)()`)) as string;
  const code = others.codeOf({ id: "71", email: "olga@shop.example", verified: true });
  const state = new URL(asked).searchParams.get("state")!;
  await owner.page.goto(`${origin}/api/auth/callback/github?${new URLSearchParams({ code, state })}`);
  await owner.sees(".nav", "Sign out");
  await owner.go("#/personal/account");
  await owner.click("Remove");
  await owner.click("Remove GitHub");
  await owner.sees("main", "Sign in with GitHub too");
  expect(owner.errors).toEqual([]);
});
