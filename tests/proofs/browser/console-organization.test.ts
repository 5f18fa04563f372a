import { expect, test, vi } from "vitest";
import { startFakeGateway } from "../../support/fake-gateway/server.ts";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const context = await browser.createBrowserContext();
const view = await openConsole(context, service.link);

test("the organization's page shows how much room webhook payloads take, next to the room that files take", async () => {
  const { id: board_id } = await makeBoard(api, "Post office");
  await view.go("#/organization/files");
  await view.sees("main", "All payloads together use 0 bytes of 1.0 GB.");
  const webhook = await api.post("/api/v1/boards/{board_id}/webhooks", {
    params: { path: { board_id } },
    body: { description: "Read the letters" },
  });
  expect((await fetch(service.url + webhook.endpoint_path, { method: "POST", body: "x".repeat(50_000) })).status).toBe(202);
  const { used } = await api.get("/api/v1/webhooks/payload-usage");
  expect(used).toBeGreaterThan(50_000);
  await view.page.reload();
  await view.sees("main", `All payloads together use ${(used / 1_024).toFixed(1)} KB of 1.0 GB.`);
  await view.sees("main", "There are no files.");
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("the page of a gateway lists when its host was lost and came back, with the error and the version", async () => {
  const host = await startFakeGateway({ token: "gateway-token-0815", dialect: "2026.9.6" });
  const body = { name: "Harbour host", url: host.url, token: "gateway-token-0815", workspace_root: "/srv/agents" };
  const { id } = await api.post("/api/v1/gateways", { body });
  await view.go(`#/gateways/${id}`);
  await view.sees("main", "History of the connection");
  const states = () =>
    view.page.evaluate(`[...document.querySelectorAll(".row-head")].filter((row) => row.textContent.includes("version"))
      .map((row) => row.querySelector(".badge").textContent)`);
  await vi.waitFor(async () => expect(await states()).toEqual(["connected"]), WAIT);
  await host.stop();
  await view.click("Test the connection");
  await vi.waitFor(async () => expect(await states()).toEqual(["does not answer", "connected"]), WAIT);
  await view.sees(".row", "ECONNREFUSED");
  await view.sees(".row", "version 2026.9.6");
  await host.start();
  await view.click("Test the connection");
  await vi.waitFor(async () => expect(await states()).toEqual(["connected", "does not answer", "connected"]), WAIT);
  expect([view.errors, view.outside]).toEqual([[], []]);
  await host.close();
});

test("a sync that was begun in a tab is found again in another tab, and forgotten when the service has removed it", async () => {
  const host = await startFakeGateway({ token: "gateway-token-0815", dialect: "2026.9.6" });
  const body = { name: "Synced host", url: host.url, token: "gateway-token-0815", workspace_root: "/srv/agents" };
  const { id } = await api.post("/api/v1/gateways", { body });
  const address = `${service.url}/#/gateways/${id}`;
  await view.go(`#/gateways/${id}`);
  await view.sees("h1", "Synced host");
  await view.click("Sync");
  await view.click("Begin the sync");
  await view.sees(".panel", "agents synced");
  const other = await openConsole(context, address);
  await other.sees(".panel", "agents synced");
  const key = `board.work.sync.${id}`;
  await other.page.evaluate(`localStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(crypto.randomUUID())})`);
  await other.page.reload();
  await other.sees("h1", "Synced host");
  await vi.waitFor(
    async () => expect(await other.page.evaluate(`localStorage.getItem(${JSON.stringify(key)})`)).toBe(null),
    WAIT,
  );
  expect([await other.count(".panel"), await other.count('[role="alert"]')]).toEqual([0, 0]);
  expect([view.errors, other.errors]).toEqual([[], []]);
  await other.page.close();
  await host.close();
});

test("dates and numbers are in the language that the person chose in this browser, or in the browser's language", async () => {
  const { id: board_id } = await makeBoard(api, "Languages");
  const { id: task_id } = await makeTask(api, board_id, "Say when");
  const choose = (tag: string) => view.page.select("#language", tag);
  const shownTime = () =>
    view.page.evaluate(`(({ title, lang, textContent }) => [title, lang, textContent])(document.querySelector(".story time"))`);
  await view.go("#/personal/profile");
  await view.sees("#language option", "Deutsch");
  await choose("de");
  await vi.waitFor(async () => expect(await view.text("#language ~ .hint")).toMatch(/: \d\d\.\d\d\.\d{4}, \d\d:\d\d\./), WAIT);
  await view.page.reload();
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".story .properties", "Created");
  expect(await shownTime()).toEqual([
    expect.stringMatching(/^\d\d\.\d\d\.\d{4}, \d\d:\d\d$/),
    "de",
    expect.stringMatching(/jetzt|vor/),
  ]);
  await view.go("#/personal/profile");
  await view.sees("#language option", "Deutsch");
  expect(await view.page.evaluate(`document.querySelector("#language").value`)).toBe("de");
  await choose("");
  await vi.waitFor(async () => expect(await view.text("#language ~ .hint")).toMatch(/: [A-Z][a-z]{2} \d+, \d{4}/), WAIT);
  expect(await view.page.evaluate(`localStorage.getItem("board.language")`)).toBe(null);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".story .properties", "Created");
  expect(await shownTime()).toEqual([
    expect.stringMatching(/^[A-Z][a-z]{2} \d+, \d{4}/),
    "en-US",
    expect.stringMatching(/now|ago/),
  ]);
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("the settings of a board show its lead and how often each agent looks for work, and connect a lead if there is none", async () => {
  const { id: board_id } = await makeBoard(api, "Led by none");
  const worker = { name: "Milo", board_id, heartbeat_config: { every: "25m" } };
  await api.post("/api/v1/agents", { body: worker });
  await view.go(`#/boards/${board_id}/settings`);
  await view.sees(".row", "Milo");
  await view.sees(".row", "never seen, looks for work every 25m");
  await view.sees("main", "This board has no lead");
  await view.click("Connect a lead");
  await view.page.locator("dialog input").fill("Iris");
  await view.click("Create the agent");
  await view.sees("dialog", "Iris is ready.");
  await view.page.keyboard.press("Escape");
  await view.sees(".row .badge", "lead");
  expect(await view.text("main")).not.toContain("This board has no lead");
  const { agents } = await api.get("/api/v1/boards/{board_id}/snapshot", { params: { path: { board_id } } });
  expect(agents.filter(({ is_board_lead }) => is_board_lead).map(({ name }) => name)).toEqual(["Iris"]);
  expect([view.errors, view.outside]).toEqual([[], []]);
});
