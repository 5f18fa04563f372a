import { type Client, createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { dataFolder } from "../../support/program.ts";
import { makeBoard, makeTask, openConsole, setupBrowser, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";
import { startSignInProvider } from "./sign-in-provider.ts";

const browser = await setupBrowser();

/** More than a page of the lists that the story reads. */
const BUSY = 210;

const askFor = (api: Client, board_id: string, action_type: string, more: { task_id?: string } = {}) =>
  api.post("/api/v1/boards/{board_id}/approvals", {
    params: { path: { board_id } },
    body: { action_type, description: "Asked by an agent", ...more },
  });

test("a task on a busy board shows its whole history and its approvals, even after very many other events on the board", async () => {
  const service = await startService(dataFolder(), await freePort());
  const { api } = service;
  const { id: board_id } = await makeBoard(api, "Busy");
  const { id: task_id } = await makeTask(api, board_id, "Long ago");
  const params = { path: { board_id, task_id } };
  for (let round = 0; round < 20; round++)
    await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params, body: { priority: round % 2 ? "low" : "high" } });
  await askFor(api, board_id, "refund.pay", { task_id });
  // Each request for an approval also records two events.
  for (let index = 0; index < BUSY; index++) await askFor(api, board_id, "other.deploy");
  const { total } = await api.get("/api/v1/activity", { params: { query: { task_id, limit: 1 } } });
  expect(total).toBeGreaterThan(40);

  const view = await openConsole(await browser.createBrowserContext(), service.link);
  await view.sees("main", "Busy");
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".approval", "refund.pay");
  await vi.waitFor(async () => expect(await view.count(".history li")).toBe(30), WAIT);
  await view.click("Show earlier events");
  await vi.waitFor(async () => expect(await view.count(".history li")).toBe(total), WAIT);
  await view.click("Reject");
  await view.sees(".approval", "rejected");
  await vi.waitFor(async () => expect(await view.count(".history li")).toBeGreaterThan(total), WAIT);
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("a member sees who follows a task; its history is shown if members may read the log, and otherwise no error", async () => {
  const provider = await startSignInProvider();
  for (const readers of ["member", "admin"]) {
    const service = await startService(dataFolder(), await freePort(), {
      AUTH_MODE: "oidc",
      OIDC_ISSUER: provider.issuer,
      OIDC_JWKS_URL: `${provider.issuer}/keys`,
      CONSOLE_OIDC_CLIENT_ID: "console",
      ACTIVITY_READERS: readers,
    });
    const owner = createClient({ url: service.url, token: await provider.token("ann") });
    await owner.post("/api/v1/auth/bootstrap");
    const { id: board_id } = await makeBoard(owner, "Shared");
    const { id: task_id } = await makeTask(owner, board_id, "Read by Bob");
    const { token } = await owner.post("/api/v1/organizations/me/invites", {
      body: { invited_email: "bob@example.com", role: "member", all_boards_read: true },
    });
    const bob = createClient({ url: service.url, token: await provider.token("bob") });
    await bob.post("/api/v1/auth/bootstrap");
    const { organization_id } = await bob.post("/api/v1/organizations/invites/accept", { body: { token } });
    await bob.patch("/api/v1/organizations/me/active", { body: { organization_id } });
    provider.signsIn("bob");
    const address = `${service.url}/#/boards/${board_id}/tasks/${task_id}`;
    const view = await openConsole(await browser.createBrowserContext(), address, [provider.issuer]);
    await view.page.locator("button.primary").click();
    if (readers === "member") await view.sees(".history", "Task created");
    await view.sees(".followers summary", "1 follower");
    await view.click("Follow");
    await view.sees(".followers summary", "2 followers");
    await view.page.locator(".followers summary").click();
    await view.sees(".followers", "ann");
    await view.sees(".followers", "bob");
    await view.sees(".story", "Comments");
    expect([await view.count(".story [role='alert']"), view.errors, view.outside]).toEqual([0, [], []]);
  }
  await provider.close();
});
