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
  const [run] = (await service.api.get(RUNS, { params: { path: { board_id, task_id } } })).items;
  return { board_id, task_id, run_id: run!.id, agent, fragment: `#/boards/${board_id}/tasks/${task_id}/runs/${run!.id}` };
}

const RUNS = "/api/v1/boards/{board_id}/tasks/{task_id}/runs";

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

test("a task lists its runs, of whose links only those with https can be opened", async () => {
  const { board_id, task_id, run_id, agent } = await startWork("Listed", "Link the results");
  await agent.patch("/api/v1/agent/runs/{run_id}", {
    params: { path: { run_id } },
    body: {
      client: { name: "claude-code", version: "2.1", host: "lap\u202etop" },
      links: [
        { kind: "pull_request", url: "https://example.com/pr/1", title: "The <b>change</b>" },
        { kind: "branch", url: "git@example.com:shop/web.git", title: "fix" },
      ],
    },
  });
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".run-list", "claude-code 2.1 on lap‹202e›top");
  await view.sees(".run-links", "The <b>change</b>");
  await view.sees(".run-links", "fix (git@example.com:shop/web.git)");
  const links = '[...document.querySelectorAll(".run-links a")].map((item) => [item.href, item.rel, item.target])';
  expect(await view.page.evaluate(links)).toEqual([["https://example.com/pr/1", "noopener noreferrer", "_blank"]]);
  expect(view.errors).toEqual([]);
});

test("a person stops a run, which says why, and its task waits in the inbox again", async () => {
  const { board_id, task_id, run_id, fragment } = await startWork("Stopped", "Go too far");
  await view.go(fragment);
  await view.click("Stop");
  await view.page.locator('.run-view input[aria-label="Why"]').fill("Too <b>dear</b>");
  await view.click("Let it go on");
  await view.click("Stop");
  await view.page.locator('.run-view input[aria-label="Why"]').fill("Too <b>dear</b>");
  await view.click("Stop the run");
  await view.sees(".run-view", "Too <b>dear</b>");
  await view.sees(".run-view .badge", "stopped");
  expect(await view.count(".run-view button.danger")).toBe(0);
  const task = await service.api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } } });
  expect([task.status, task.run!.id, task.run!.status]).toEqual(["inbox", run_id, "stopped"]);
  expect(view.errors).toEqual([]);
});

/** A page that gets no changes any more, as when its connection has just been lost. */
const DEAF = `{
  const ask = fetch;
  window.fetch = (request) => (/changes\\/stream/.test(request.url) ? new Promise(() => {}) : ask(request));
}`;

test("stopping a run that has ended is refused in the words of the API, and the reason stays typed", async () => {
  const { board_id, run_id, fragment } = await startWork("Ended", "End before");
  const deaf = await openConsole(await browser.createBrowserContext(), service.link);
  await deaf.sees(".nav", "Needs you");
  await deaf.page.evaluateOnNewDocument(DEAF);
  await deaf.go(fragment);
  await deaf.page.reload();
  await deaf.click("Stop");
  await deaf.page.locator('.run-view input[aria-label="Why"]').fill("Too late");
  await service.api.post("/api/v1/boards/{board_id}/runs/{run_id}/stop", { params: { path: { board_id, run_id } }, body: {} });
  await deaf.click("Stop the run");
  await deaf.sees('.run-view [role="alert"]', "The run has ended.");
  expect(await deaf.page.evaluate("document.querySelector('.run-view input').value")).toBe("Too late");
  expect(deaf.errors).toEqual([]);
});
