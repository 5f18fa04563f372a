import { createClient } from "@board/client/client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cleanUpPrograms, dataFolder } from "../../support/program.ts";
import { type Browser, openBrowser } from "./chromium.ts";
import { type Console, freePort, makeBoard, makeTask, openConsole, type Service, startService, WAIT } from "./console-fixture.ts";

let browser: Browser;
let service: Service;
let view: Console;

beforeAll(async () => {
  service = await startService(dataFolder(), await freePort());
  browser = await openBrowser();
  view = await openConsole(await browser.createBrowserContext(), service.link);
});
afterAll(async () => {
  await browser?.close();
  await cleanUpPrograms();
});

test("an empty service leads from a board over an agent to a test webhook", async () => {
  await view.sees("h1", "Begin with a board");
  await view.page.locator("::-p-aria(Name)").fill("Shop");
  await view.page.locator("::-p-aria(What it is for)").fill("Keep it running");
  await view.click("Make the board");
  await view.page.locator("::-p-aria(Name of the agent)").fill("Milo");
  await view.click("Create the agent");
  await view.sees(".steps", "claude mcp add --scope user --transport http board");
  const snippet = await view.text(".snippet pre");
  const agent_token = /X-Agent-Token: ([^"]+)"/.exec(snippet)![1]!;
  const { name } = await createClient({ url: service.url, agent_token }).post("/api/v1/agent/heartbeat", { body: {} as never });
  expect(name).toBe("Milo");
  await view.click("Send a test webhook");
  await view.sees(".steps", "Latest payloads");
  await view.sees(".steps", "Sent by the console");
  expect(view.errors).toEqual([]);
});

test("the view of agents connects another one and shows who is there", async () => {
  await view.go("#/agents");
  await view.sees("main", "Milo");
  await view.click("Connect an agent");
  await view.page.locator("dialog input").fill("Juno");
  await view.click("Create the agent");
  await view.sees("dialog", "Juno is ready");
  await view.page.keyboard.press("Escape");
  await view.sees("main .rows", "Juno");
  await view.sees("main .rows", "never seen");
  expect(view.errors).toEqual([]);
});

test("the view of webhooks makes one, shows what it received, and delivers it again", async () => {
  await view.go("#/webhooks");
  await view.click("New webhook");
  await view.page.locator("dialog textarea").fill("Read the orders");
  await view.click("Create webhook");
  await view.sees(".rows", "Read the orders");
  const [board] = (await service.api.get("/api/v1/boards")).items;
  const list = await service.api.get("/api/v1/boards/{board_id}/webhooks", { params: { path: { board_id: board!.id } } });
  const webhook = list.items.find(({ description }) => description === "Read the orders")!;
  await view.sees(".snippet pre", `${service.url}${webhook.endpoint_path}`);
  await view.page.locator(".row summary").click();
  await view.sees(".row", "Nothing was received yet.");
  await fetch(service.url + webhook.endpoint_path, { method: "POST", body: '{"order":4711}' });
  await view.click("Send a test");
  await view.sees(".notices", "The test payload was accepted.");
  await view.sees(".row .payload", "4711");
  await view.sees(".row", "no target");
  await view.page.locator(".row .row button").click();
  await view.sees(".row", "no target");

  const payload_params = { path: { board_id: board!.id, webhook_id: webhook.id } };
  const payloads = await service.api.get("/api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads", { params: payload_params });
  const { id: task_id } = await makeTask(service.api, board!.id, "Pack the order", {
    description: `Payload ${payloads.items[0]!.id}`,
  });
  await view.go(`#/boards/${board!.id}/tasks/${task_id}`);
  await view.sees(".story", "Came from a webhook");
  await view.go("#/webhooks");
  await view.click("New subscription");
  await view.page.locator('dialog input[type="url"]').fill("ftp://example.com/");
  await view.click("Create subscription");
  await view.sees('[role="alert"]', "The url must be https, at a public host and port 443.");
  await view.page.locator('dialog input[type="url"]').fill("https://example.com/events");
  await view.click("Create subscription");
  await view.sees("dialog", "whsec_");
  await view.page.keyboard.press("Escape");
  await view.sees("main", "https://example.com/events");
  await view.click("Switch off");
  await view.sees("main", "Switch on");
  expect(view.errors).toEqual([]);
});

test("what needs a person is decided and put back to work in one place", async () => {
  const { id: board_id } = await makeBoard(service.api, "Decisions", { require_approval_for_done: true });
  const { id: task_id } = await makeTask(service.api, board_id, "Refund", { status: "review" });
  const ask = (action_type: string) =>
    service.api.post("/api/v1/boards/{board_id}/approvals", {
      params: { path: { board_id } },
      body: { action_type, task_id, description: "Asked by the customer" },
    });
  await ask("refund.pay");
  await view.go("#/needs-you");
  await view.sees("main", "refund.pay");
  await view.click("Approve");
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("refund.pay"), WAIT);
  await ask("refund.again");
  await view.sees("main", "refund.again");
  await view.click("Reject");
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("refund.again"), WAIT);
  const { items } = await service.api.get("/api/v1/boards/{board_id}/approvals", { params: { path: { board_id } } });
  expect(items.map(({ action_type, status }) => [action_type, status])).toEqual([
    ["refund.again", "rejected"],
    ["refund.pay", "approved"],
  ]);
});

test("the feed shows what happens, by board", async () => {
  await view.go("#/activity");
  await view.sees(".feed", "Refund");
  const { id: board_id } = await makeBoard(service.api, "Quiet");
  await makeTask(service.api, board_id, "Whisper");
  await view.sees(".feed", "Task created: Whisper.");
  await view.sees(".filters", "Quiet");
  await view.page.select(".filters select", board_id);
  await vi.waitFor(async () => expect(await view.text(".feed")).not.toContain("Refund"), WAIT);
  await view.sees(".feed", "Task created: Whisper.");
});
