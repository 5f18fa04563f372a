import { expect, test, vi } from "vitest";
import { type Page, setHidden } from "./chromium.ts";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

/** More changes than one answer of the feed holds. */
const MANY = 101;

const { browser, service } = await setupConsole();

async function hide(page: Page, isHidden: boolean): Promise<void> {
  await setHidden(page, isHidden);
  const state = isHidden ? "hidden" : "visible";
  await vi.waitFor(async () => expect(await page.evaluate("document.visibilityState")).toBe(state), WAIT);
}

async function openBoard(board_id: string, titles: string[]) {
  const view = await openConsole(await browser.createBrowserContext(), service.link);
  await view.go(`#/boards/${board_id}`);
  await view.hasCards("inbox", titles);
  return view;
}

test("a hidden page sends no requests, and shows what it missed once it is visible again", async () => {
  const { id: board_id } = await makeBoard(service.api, "Hidden");
  const { id: task_id } = await makeTask(service.api, board_id, "Moves");
  const [hidden, seen] = [await openBoard(board_id, ["Moves"]), await openBoard(board_id, ["Moves"])];
  const requests: string[] = [];
  await hide(hidden.page, true);
  hidden.page.on("request", (request) => requests.push(request.url()));
  await makeTask(service.api, board_id, "Missed");
  const path = { board_id, task_id };
  await service.api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path }, body: { status: "review" } });
  await seen.hasCards("inbox", ["Missed"]);
  await seen.hasCards("review", ["Moves"]);
  expect(requests).toEqual([]);

  await hide(hidden.page, false);
  await hidden.hasCards("inbox", ["Missed"]);
  await hidden.hasCards("review", ["Moves"]);
  await makeTask(service.api, board_id, "Live again");
  await hidden.hasCards("inbox", ["Live again", "Missed"]);
  expect([hidden.errors, seen.errors]).toEqual([[], []]);
});

test("a page that was hidden for long reads the board once instead of all that has happened", async () => {
  const { id: board_id } = await makeBoard(service.api, "Long ago");
  await makeTask(service.api, board_id, "First");
  const view = await openBoard(board_id, ["First"]);
  await hide(view.page, true);
  for (let index = 0; index < MANY; index++) await makeTask(service.api, board_id, `Task ${index}`, { status: "review" });
  const paths: string[] = [];
  view.page.on("request", (request) => paths.push(new URL(request.url()).pathname));
  await hide(view.page, false);
  await view.sees('[data-status="review"] .count', String(MANY));
  const reads = paths.filter((path) => path.startsWith(`/api/v1/boards/${board_id}`));
  expect(reads).toEqual([`/api/v1/boards/${board_id}/snapshot`]);
  expect(view.errors).toEqual([]);
});
