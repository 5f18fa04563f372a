import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const { id: first } = await makeTask(api, board_id, "Load the crates");
const { id: task_id } = await makeTask(api, board_id, "Set sail");
const path = { board_id, task_id };
const view = await openConsole(await browser.createBrowserContext(), service.link);
await view.sees("h1", "Harbour");

test("a person follows a task and stops following it, and the button shows whether the person follows it", async () => {
  const readFollow = async () =>
    (await api.get("/api/v1/boards/{board_id}/tasks/{task_id}/follow", { params: { path } })).following;
  const isPressed = () => view.page.evaluate(`document.querySelector(".story [aria-pressed]")?.ariaPressed`);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".story-title [aria-pressed]", "Follow");
  for (const isFollowed of [!(await readFollow()), await readFollow()]) {
    await view.click(isFollowed ? "Follow" : "Following");
    await vi.waitFor(async () => expect(await isPressed()).toBe(String(isFollowed)), WAIT);
    expect(await readFollow()).toBe(isFollowed);
  }
  expect(view.errors).toEqual([]);
});

test("a person chooses the dependencies of a task in its form, which also shows the refusal of a cycle", async () => {
  const check = (title: string) => view.page.locator(`dialog ::-p-aria([name="${title}"][role="checkbox"])`).click();
  await view.click("Change");
  await check("Load the crates (Inbox)");
  await view.click("Save");
  await view.hasNoDialog();
  await view.sees(".dependency", "Load the crates");
  await view.sees(".dependency .warning", "Inbox");
  await view.go(`#/boards/${board_id}/tasks/${first}`);
  await view.sees(".story h2", "Load the crates");
  await view.click("Change");
  await check("Set sail (Inbox)");
  await view.click("Save");
  await view.page.waitForSelector("dialog [role='alert']");
  await check("Set sail (Inbox)");
  await view.page.keyboard.press("Escape");
  await view.hasNoDialog();
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".dependency", "Load the crates");
  await view.click("Change");
  await check("Load the crates (Inbox)");
  await view.click("Save");
  await view.hasNoDialog();
  await vi.waitFor(async () => expect(await view.count(".dependency")).toBe(0), WAIT);
  const task = await api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path } });
  expect(task.depends_on_task_ids).toEqual([]);
  expect(view.errors).toEqual([]);
});

test("a task is removed after a confirmation, and its card is gone in every window", async () => {
  const other = await openConsole(await browser.createBrowserContext(), service.link);
  await other.hasCards("inbox", ["Load the crates", "Set sail"]);
  await view.click("Remove this task");
  await view.click("Keep it");
  await view.click("Remove this task");
  await view.sees(".confirm", "Remove it with its comments?");
  await view.page.locator(".story .confirm .danger").click();
  await view.hasCards("inbox", ["Load the crates"]);
  await vi.waitFor(async () => expect(await view.count(".story")).toBe(0), WAIT);
  await other.hasCards("inbox", ["Load the crates"]);
  await other.go(`#/boards/${board_id}/tasks/${task_id}`);
  await other.sees(".story", "This task does not exist, or was removed.");
  expect([view.errors, other.errors]).toEqual([[], []]);
});
