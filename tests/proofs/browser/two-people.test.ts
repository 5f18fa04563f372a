import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startProgram, temporaryFolder } from "../../support/program.ts";
import { addAuthenticator, type Console, openConsole, setupBrowser } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const MOST_ACTIONS = { first: 6, second: 3 };

const browser = await setupBrowser();

/** Returns a person who does one thing after another: opens a link, types a text or presses a button. */
function openPerson() {
  let page: Console;
  let actions = 0;
  return {
    get page() {
      return page;
    },
    count: () => actions,
    async open(address: string) {
      actions += 1;
      page = await openConsole(await browser.createBrowserContext(), address);
    },
    async type(selector: string, text: string) {
      actions += 1;
      await page.page.locator(selector).fill(text);
    },
    async press(name: string) {
      actions += 1;
      await page.click(name);
    },
    /** The key that sends the form of the field that was typed into last. */
    async enter() {
      actions += 1;
      await page.page.keyboard.press("Enter");
    },
  };
}

/** Starts a service in an empty folder and without a setting. Returns the link that it prints. */
async function start(port: number): Promise<string> {
  const program = startProgram("main", { DATA_DIR: temporaryFolder(), PORT: String(port), LOG_LEVEL: "error" });
  const [, file] = await program.waitForOutput(/^ {2}link +in (\S+)$/m);
  await program.waitForOutput(/^ {2}data +/m);
  const link = readFileSync(file!, "utf8").trim();
  expect(link).toContain(`http://localhost:${port}/#link=`);
  return link;
}

test("at the address that a start without a setting prints, the owner adds a passkey", async () => {
  const owner = openPerson();
  await owner.open(await start(await freePort()));
  await owner.page.sees("h1", "Begin with a board");
  await addAuthenticator(owner.page.page);
  await owner.page.go("#/personal/account");
  await owner.press("Add a passkey");
  await owner.type('[id="field-passkey.new-name"]', "Laptop");
  await owner.enter();
  await owner.page.sees(".rows", "Laptop");
  expect(owner.page.errors).toEqual([]);
});

test("from an empty folder and without a setting, two people share a board after six actions of the owner and three of the invited person", async ({
  task,
}) => {
  const started = Date.now();
  const port = await freePort();
  const link = await start(port);
  const ready = Date.now();

  const olga = openPerson();
  await olga.open(link);
  await olga.page.sees("h1", "Begin with a board");
  await olga.type('[id="field-board.new-name"]', "Harbour");
  await olga.type('[id="field-board.new-description"]', "Ships come and go");
  await olga.press("Make the board");
  await olga.page.sees("main", "is ready");
  await olga.type('[id="field-invite.first-invited_email"]', "ann@example.com");
  await olga.press("Invite");
  await olga.page.sees(".snippet pre", "/#invite=");
  const invite = /http\S+#invite=\S+/.exec(await olga.page.text(".snippet pre"))![0];

  const ann = openPerson();
  await ann.open(invite);
  await ann.type('input[autocomplete="name"]', "Ann");
  await ann.enter();
  await ann.page.sees("h1", "Harbour");
  task.meta.summary = {
    started_after_s: (ready - started) / 1_000,
    together_after_s: (Date.now() - started) / 1_000,
    actions_of_the_first: olga.count(),
    actions_of_the_second: ann.count(),
  };
  expect(olga.count()).toBeLessThanOrEqual(MOST_ACTIONS.first);
  expect(ann.count()).toBeLessThanOrEqual(MOST_ACTIONS.second);
  expect([olga.page.errors, ann.page.errors]).toEqual([[], []]);
}, 300_000);
