/** Tests links that sign in. Anybody can create such a link and get somebody to open it. */
import { createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { dataFolder } from "../../support/program.ts";
import { type Page } from "./chromium.ts";
import { makeBoard, makeTask, openConsole, setupBrowser, signInLink, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";
import { startSignInProvider } from "./sign-in-provider.ts";

const browser = await setupBrowser();

const storedToken = (page: Page) => page.evaluate("localStorage.getItem('board.token')");

test("a link with a token that the service does not accept signs nobody in", async () => {
  const service = await startService(dataFolder(), await freePort());
  const view = await openConsole(await browser.createBrowserContext(), signInLink(service.url, "somebody-elses-token"));
  await view.sees('[role="alert"]', "The service does not accept its token.");
  await view.sees(".sign-in", "Token");
  expect([await storedToken(view.page), new URL(view.page.url()).hash]).toEqual([null, ""]);

  // The next link is opened while the page is already open.
  await view.go(new URL(service.link).hash);
  await vi.waitFor(async () => expect(await storedToken(view.page)).toBe(service.token), WAIT);
  await view.sees("main", "Begin with a board");
  expect([view.page.url().includes(service.token), view.errors]).toEqual([false, []]);
  await service.program.stop();
});

test("a link asks before it signs in somebody who is signed in", async () => {
  const [folder, port] = [dataFolder(), await freePort()];
  const [mine, other] = ["a".repeat(60), "b".repeat(60)];
  const first = await startService(folder, port, { LOCAL_AUTH_TOKEN: mine });
  const { id: board_id } = await makeBoard(first.api, "Asked");
  await makeTask(first.api, board_id, "Stays");
  const view = await openConsole(await browser.createBrowserContext(), signInLink(first.url, mine));
  await view.hasCards("inbox", ["Stays"]);
  await first.program.stop();

  const second = await startService(folder, port, { LOCAL_AUTH_TOKEN: other });
  await view.go(`#token=${other}`);
  await view.sees("dialog", "You are signed in already.");
  await view.click("Stay signed in");
  await view.sees("dialog", "Sign in again");
  expect([await storedToken(view.page), new URL(view.page.url()).hash.includes(other)]).toEqual([mine, false]);

  await view.go(`#token=${other}`);
  await view.sees("dialog", "You are signed in already.");
  await view.click("Sign in by the link");
  await view.hasCards("inbox", ["Stays"]);
  expect([await storedToken(view.page), view.errors]).toEqual([other, []]);
  await second.program.stop();
});

test("with an identity provider a link signs nobody in, even with a token that the service accepts", async () => {
  const provider = await startSignInProvider();
  const service = await startService(dataFolder(), await freePort(), {
    AUTH_MODE: "oidc",
    OIDC_ISSUER: provider.issuer,
    OIDC_JWKS_URL: `${provider.issuer}/keys`,
    CONSOLE_OIDC_CLIENT_ID: "console",
  });
  const token = await provider.token("mallory");
  await createClient({ url: service.url, token }).post("/api/v1/auth/bootstrap");
  const view = await openConsole(await browser.createBrowserContext(), signInLink(service.url, token));
  await view.sees(".sign-in", "Sign in with");
  expect([await storedToken(view.page), new URL(view.page.url()).hash, view.errors]).toEqual([null, "", []]);
  await service.program.stop();
  await provider.close();
});
