import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);
const { id: board_id } = await makeBoard(api, "Harbour", { comment_required_for_review: true });
const tag = await api.post("/api/v1/tags", { body: { name: "Urgent" } });
const { id: first } = await makeTask(api, board_id, "Anchor", { due_at: "2031-01-01T00:00:00Z", tag_ids: [tag.id] });
await makeTask(api, board_id, "Buoy", { priority: "high", due_at: "2030-01-01T00:00:00Z" });
const { id: blocked } = await makeTask(api, board_id, "Crane", { depends_on_task_ids: [first] });

const titles = () => view.page.evaluate(`[...document.querySelectorAll(".task-list tbody th")].map((item) => item.textContent)`);

test("filters stay in the address, through an opened card, back and a reload", async () => {
  await view.go(`#/boards/${board_id}`);
  await view.hasCards("inbox", ["Anchor", "Buoy", "Crane"]);
  await view.page.select('[aria-label="Tag of the cards"]', tag.id);
  await view.hasCards("inbox", ["Anchor"]);
  expect(view.page.url()).toContain(`tag=${tag.id}`);
  await view.page.locator(".card").click();
  await view.sees(".story h2", "Anchor");
  await view.page.keyboard.press("Escape");
  await vi.waitFor(async () => expect(await view.count(".story")).toBe(0), WAIT);
  await view.page.reload();
  await view.hasCards("inbox", ["Anchor"]);
  await view.click("Show all");
  await view.hasCards("inbox", ["Anchor", "Buoy", "Crane"]);
});

test("the list has all tasks in the chosen order", async () => {
  await view.go(`#/boards/${board_id}?view=list&sort=due`);
  await vi.waitFor(async () => expect(await titles()).toEqual(["Buoy", "Anchor", "Crane"]), WAIT);
  await view.page.select('[aria-label="Order of the cards"]', "title");
  await vi.waitFor(async () => expect(await titles()).toEqual(["Anchor", "Buoy", "Crane"]), WAIT);
});

test("tasks that are moved together are moved one after the other, and a refusal names its task", async () => {
  await view.go(`#/boards/${board_id}?view=list`);
  await view.page.locator('[aria-label="Choose all that are listed"]').click();
  await view.page.select('[aria-label="Move the chosen tasks"]', "in_progress");
  await vi.waitFor(async () => {
    const { items } = await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } } });
    expect(
      items
        .filter(({ status }) => status === "in_progress")
        .map(({ title }) => title)
        .toSorted(),
    ).toEqual(["Anchor", "Buoy"]);
    expect(items.find(({ id }) => id === blocked)?.status).not.toBe("in_progress");
  }, WAIT);
  await view.page.locator('[aria-label="Choose Buoy"]').click();
  await view.page.select('[aria-label="Move the chosen tasks"]', "review");
  await view.sees(".notice.error", "“Buoy” stays in In progress");
  expect(view.errors).toEqual([]);
});

test("a view is saved under a name, opened again after a reload, and removed", async () => {
  await view.go(`#/boards/${board_id}?view=list&q=Buoy`);
  await view.sees(".task-list", "Buoy");
  await view.click("Views");
  await view.sees("dialog", "You have saved no view.");
  await view.click("Save the view");
  await view.sees("dialog [role='alert']", "Choose a name.");
  await view.page.locator(`[id="field-view.${board_id}-name"]`).fill("Buoys");
  await view.click("Save the view");
  await view.sees("dialog .rows", "shown now");
  await view.page.keyboard.press("Escape");
  await view.go(`#/boards/${board_id}`);
  await vi.waitFor(async () => expect(await view.count(".task-list")).toBe(0), WAIT);
  await view.page.reload();
  await view.click("Views");
  await view.page.locator("dialog .rows a").click();
  await view.sees(".task-list", "Buoy");
  expect(await titles()).toEqual(["Buoy"]);
  await view.click("Views");
  await view.click("Remove the view Buoys");
  await view.sees("dialog", "You have saved no view.");
  await view.page.keyboard.press("Escape");
  expect(view.errors).toEqual([]);
});
