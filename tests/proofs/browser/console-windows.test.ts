import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const { id: task_id } = await makeTask(api, board_id, "Paint the fence", { description: "In white" });
const params = { path: { board_id } };

/** Opens another window, in which the person is signed in. */
async function open() {
  const view = await openConsole(await browser.createBrowserContext(), service.link);
  await view.page.waitForSelector(".board");
  return view;
}

const field = (form: string, name: string) => `[id="field-${form}-${name}"]`;
const readTask = () => api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } } });

/** Opens the form of the task, which shows its present description. */
async function openForm(view: Awaited<ReturnType<typeof open>>) {
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.click("Change");
  await view.page.locator(field(`task.${task_id}`, "description")).wait();
  const fill = (name: string, text: string) => view.page.locator(field(`task.${task_id}`, name)).fill(text);
  const read = (name: string) => view.page.evaluate(`document.querySelector('${field(`task.${task_id}`, name)}').value`);
  const isClosed = () => vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
  return { fill, read, isClosed };
}

test("two people change different fields of a task at once, and both changes stay", async () => {
  const [one, other] = [await open(), await open()];
  const [first, second] = [await openForm(one), await openForm(other)];
  await first.fill("title", "Paint the long fence");
  await second.fill("description", "In green");
  await one.click("Save");
  await first.isClosed();
  await other.click("Save");
  await second.isClosed();
  expect(await readTask()).toMatchObject({ title: "Paint the long fence", description: "In green" });
  expect([one.errors, other.errors]).toEqual([[], []]);
});

/** A page whose stream of changes never begins. */
const NO_STREAM = `(() => {
  const ask = window.fetch;
  window.fetch = (request) => (/changes\\/stream/.test(request.url) ? new Promise(() => {}) : ask(request));
})()`;

test.each([
  ["sees it", false],
  ["cannot see it", true],
])("a text that another person changed meanwhile is not replaced unasked when the page %s", async (_when, isBlind) => {
  await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", {
    params: { path: { board_id, task_id } },
    body: { description: "In white" },
  });
  const [one, other] = [await open(), await open()];
  if (isBlind) {
    await other.page.evaluateOnNewDocument(NO_STREAM);
    await other.page.reload();
  }
  const [first, second] = [await openForm(one), await openForm(other)];
  await first.fill("description", "In red");
  await second.fill("description", "In blue");
  await one.click("Save");
  await first.isClosed();
  await other.click("Save");
  await other.sees(`[id="field-task.${task_id}-description-problem"]`, "Somebody else made this “In red” meanwhile.");
  expect([await second.read("description"), (await readTask()).description]).toEqual(["In blue", "In red"]);
  await other.click("Save");
  await second.isClosed();
  expect((await readTask()).description).toBe("In blue");
  expect([one.errors, other.errors]).toEqual([[], []]);
});

test("settings that another person changed meanwhile are not replaced unasked, even after a reload", async () => {
  const [one, other] = [await open(), await open()];
  const name = field(`board.Board.${board_id}`, "name");
  for (const view of [one, other]) {
    await view.go(`#/boards/${board_id}/settings`);
    await view.page.locator(name).wait();
  }
  const save = (view: typeof one) => view.page.locator(`.card-panel:has(${name}) button.primary`).click();
  await other.page.locator(name).fill("Port");
  await one.page.locator(name).fill("Quay");
  await save(one);
  await one.sees(".notices", "The board was changed.");
  await other.page.reload();
  await other.sees("h1", "Settings of Quay");
  await save(other);
  await other.sees(`[id="field-board.Board.${board_id}-name-problem"]`, "Somebody else made this “Quay” meanwhile.");
  expect((await api.get("/api/v1/boards/{board_id}", { params })).name).toBe("Quay");
  await save(other);
  await other.sees(".notices", "The board was changed.");
  expect((await api.get("/api/v1/boards/{board_id}", { params })).name).toBe("Port");
  expect([one.errors, other.errors]).toEqual([[], []]);
});

/** Pages in the order in which they are opened, with what each shows. */
const PAGES: readonly (readonly [fragment: string, selector: string, text: string])[] = [
  [`boards/${board_id}`, ".board", "Paint the"],
  [`boards/${board_id}?view=list&priority=medium`, ".task-list", "Paint the"],
  [`boards/${board_id}/tasks/${task_id}`, ".story", "Comments"],
  [`boards/${board_id}/settings`, "h1", "Settings of"],
  [`boards/${board_id}/onboarding`, "h1", "Goal of"],
  ["needs-you", "h1", "Needs you"],
  ["inbox", "h1", "Inbox"],
  ["overview", "h1", "Overview"],
  ["activity?board=all", "h1", "Activity"],
  ["agents", "h1", "Agents"],
  [`webhooks/${board_id}`, "h1", "Webhooks"],
  ["usage", "h1", "Usage"],
  ["organization/members", ".rows", "owner"],
  ["organization/audit?action=board.create", ".filters", "Board made"],
  ["gateways", "h1", "Gateways"],
  ["skills/packs", "h2", "Packs"],
  ["personal/profile", "main", "Danger zone"],
  ["personal/notifications", "main", "An approval is requested"],
  ["start", "h1", "Begin with a board"],
];

test("each page is shown again after a reload and after going back", async () => {
  const view = await open();
  await view.sees("h1", "Port");
  const address = () => view.page.evaluate("location.hash");
  for (const [fragment, selector, text] of PAGES) {
    await view.go(`#/${fragment}`);
    await view.sees(selector, text);
    await view.page.reload();
    await view.sees(selector, text);
    expect(await address()).toBe(`#/${fragment}`);
  }
  for (const [fragment, selector, text] of PAGES.slice(0, -1).toReversed()) {
    await view.page.evaluate("history.back()");
    await view.sees(selector, text);
    expect(await address()).toBe(`#/${fragment}`);
  }
  expect(view.errors).toEqual([]);
});
