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

/** An agent with a task that it works on. */
async function startWork(board_name: string, title: string) {
  const { id: board_id } = await makeBoard(service.api, board_name);
  const { auth_token } = await service.api.post("/api/v1/agents", { body: { name: "Milo", board_id } });
  const agent = createClient({ url: service.url, agent_token: auth_token! });
  const { id: task_id } = await makeTask(service.api, board_id, title);
  await agent.post("/api/v1/agent/tasks/next", { body: { board_id } });
  return { board_id, task_id, agent };
}

test("a card shows for how long its agent has been at work, counting while it is looked at, until the run is over", async () => {
  const { board_id, task_id, agent } = await startWork("Counting", "Count the seconds");
  const card = `[data-task="${task_id}"]`;
  await view.go(`#/boards/${board_id}`);
  await view.sees(card, "running");
  const before = await view.text(`${card} time`);
  await vi.waitFor(async () => expect(await view.text(`${card} time`)).not.toBe(before), WAIT);
  const params = { path: { board_id, task_id } };
  await agent.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", { params, body: { status: "review", comment: "Done" } });
  await view.hasCards("review", ["Count the seconds"]);
  await vi.waitFor(async () => expect(await view.text(card)).not.toContain("running"), WAIT);
  expect(view.errors).toEqual([]);
});
