import { createClient } from "@board/client/client";
import { expect, test } from "vitest";
import { dataFolder } from "../../support/program.ts";
import { makeBoard, makeTask, openConsole, setupBrowser, startService } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";
import { startSignInProvider } from "./sign-in-provider.ts";

const browser = await setupBrowser();

test("a page continues without a reload when the service is killed and started again", async () => {
  const [folder, port] = [dataFolder(), await freePort()];
  const first = await startService(folder, port);
  const { id: board_id } = await makeBoard(first.api, "Restart");
  await makeTask(first.api, board_id, "Before");
  const view = await openConsole(await browser.createBrowserContext(), first.link);
  await view.hasCards("inbox", ["Before"]);
  await view.page.evaluate("void (window.marked = true)");

  await first.program.stop("SIGKILL");
  await view.sees(".offline", "The service does not answer");
  await view.drag("Before", "review");
  await view.sees('[role="alert"]', "The service does not answer");
  await view.hasCards("inbox", ["Before"]);

  const second = await startService(folder, port);
  await makeTask(second.api, board_id, "After");
  await view.hasCards("inbox", ["Before", "After"]);
  await view.drag("Before", "review");
  await view.hasCards("review", ["Before"]);
  expect(await view.page.evaluate("[window.marked, document.querySelector('.offline')]")).toEqual([true, null]);
  expect(view.errors).toEqual([]);
  await second.program.stop();
});

test("when the token ends, signing in again loses neither typed text nor the last action", async () => {
  const [folder, port] = [dataFolder(), await freePort()];
  const [old, next] = ["a".repeat(60), "b".repeat(60)];
  const first = await startService(folder, port, { LOCAL_AUTH_TOKEN: old });
  const { id: board_id } = await makeBoard(first.api, "Expiry");
  const { id: task_id } = await makeTask(first.api, board_id, "Talk");
  expect(first.link).not.toContain(old);
  const view = await openConsole(await browser.createBrowserContext(), first.url);
  await view.page.locator('input[type="password"]').fill("wrong");
  await view.click("Sign in");
  await view.sees('[role="alert"]', "The service does not accept this token.");
  await view.page.locator('input[type="password"]').fill(old);
  await view.click("Sign in");
  await view.hasCards("inbox", ["Talk"]);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.page.locator(".story textarea").fill("Typed before the end");

  await first.program.stop();
  const second = await startService(folder, port, { LOCAL_AUTH_TOKEN: next });
  await view.sees("dialog", "Sign in again");
  await view.page.locator('dialog input[type="password"]').fill(next);
  await view.page.locator("dialog .primary").click();
  await view.sees(".story", "Comments");
  expect(await view.page.evaluate("document.querySelector('.story textarea').value")).toBe("Typed before the end");
  await view.click("Send");
  await view.sees(".comments", "Typed before the end");
  await view.page.reload();
  await view.sees(".comments", "Typed before the end");
  await second.program.stop();
});

test("a person signs in at the identity provider, and sees no buttons for what the role does not allow", async () => {
  const provider = await startSignInProvider();
  const service = await startService(dataFolder(), await freePort(), {
    AUTH_MODE: "oidc",
    OIDC_ISSUER: provider.issuer,
    OIDC_JWKS_URL: `${provider.issuer}/keys`,
    CONSOLE_OIDC_CLIENT_ID: "console",
  });
  const owner = createClient({ url: service.url, token: await provider.token("ann") });
  await owner.post("/api/v1/auth/bootstrap");
  const { id: board_id } = await makeBoard(owner, "Shared", { require_approval_for_done: true });
  const { id: task_id } = await makeTask(owner, board_id, "Look only");
  await owner.post("/api/v1/boards/{board_id}/approvals", {
    params: { path: { board_id } },
    body: { action_type: "deploy", description: "Ready", task_id },
  });
  const { token } = await owner.post("/api/v1/organizations/me/invites", {
    body: { invited_email: "bob@example.com", role: "member", all_boards_read: true },
  });

  const mine = await openConsole(await browser.createBrowserContext(), service.url, [provider.issuer]);
  await mine.page.locator("button.primary").click();
  await mine.hasCards("inbox", ["Look only"]);
  expect(new URL(mine.page.url()).search).toBe("");
  expect(await mine.count("button.primary")).toBe(1);

  const bob = createClient({ url: service.url, token: await provider.token("bob") });
  await bob.post("/api/v1/auth/bootstrap");
  const { organization_id } = await bob.post("/api/v1/organizations/invites/accept", { body: { token } });
  await bob.patch("/api/v1/organizations/me/active", { body: { organization_id } });
  provider.signsIn("bob");
  const view = await openConsole(await browser.createBrowserContext(), `${service.url}/#/boards/${board_id}/tasks/${task_id}`, [
    provider.issuer,
  ]);
  await view.page.locator("button.primary").click();
  await view.sees(".story", "deploy");
  expect(await view.count(".story select, .story textarea, .story .primary, .view-actions .primary")).toBe(0);
  await view.page.locator("::-p-aria(Close the task)").click();
  await view.drag("Look only", "review");
  // A later change arrives after everything that the drag could have caused.
  await makeTask(owner, board_id, "Later");
  await view.hasCards("inbox", ["Later", "Look only"]);
  for (const [fragment, text] of [
    ["#/needs-you", "deploy"],
    ["#/agents", "There are no agents yet."],
    ["#/webhooks", "You need the right to write"],
    ["#/activity", "Comments"],
  ] as const) {
    await view.go(fragment);
    await view.sees("main", text);
    expect(await view.count("main button"), fragment).toBe(0);
  }
  expect([mine.errors, mine.outside, view.errors, view.outside]).toEqual([[], [], [], []]);
  await provider.close();
});
