import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
/** More boards than the page searches while a person types. */
const BOARDS = 20;
const boards: string[] = [];
for (let n = 0; n < BOARDS; n++) boards.push((await makeBoard(api, `Board ${String(n).padStart(2, "0")}`)).id);
const [first, last] = [boards[0]!, boards.at(-1)!];
await makeTask(api, last, "Count the zebras");
await makeTask(api, first, "Feed the zebras");
const view = await openConsole(await browser.createBrowserContext(), service.link);
await view.sees("nav", "Board 19");

const open = async (letters: string) => {
  await view.page.keyboard.down("Control");
  await view.page.keyboard.press("k");
  await view.page.keyboard.up("Control");
  await view.page.locator('dialog input[role="combobox"]').fill(letters);
};
const close = async () => {
  await view.page.keyboard.press("Escape");
  await vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
};

test.each([
  ["subscriptions", "Subscriptions"],
  ["slack", "Slack"],
  ["profile", "Profile"],
  ["theme", "This browser"],
  ["files", "Files"],
  ["payloads", "Webhook payloads"],
  ["invite a person", "Open invites"],
  ["Goal of Board 07", "Goal of Board 07"],
])("typing %j and Enter leads to the page with the heading %j", async (letters, heading) => {
  await view.go("#/activity");
  await view.sees("h1", "Activity");
  await open(letters);
  await view.sees('[role="option"][aria-selected="true"]', "Page");
  await view.page.keyboard.press("Enter");
  await view.sees("h1, h2", heading);
  expect(view.errors).toEqual([]);
});

test("a search for tasks says on how many boards it looked, and looks on all boards when asked", async () => {
  await view.go("#/activity");
  await view.sees("h1", "Activity");
  await open("zebras");
  await view.sees("dialog", "Tasks were searched on 12 of 20 boards.");
  expect(await view.text('dialog [role="option"]')).toContain("Feed the zebras");
  expect(await view.text('dialog [role="option"]')).not.toContain("Count the zebras");
  await view.click("Search all boards");
  await view.sees('dialog [role="option"]', "Count the zebras");
  expect(await view.text("dialog")).not.toContain("Tasks were searched");
  expect(await view.page.evaluate(`document.activeElement.getAttribute("role")`)).toBe("combobox");
  await close();
});

test("a board whose tasks could not be searched is reported, and the tasks of the other boards are shown", async () => {
  await view.go("#/activity");
  const devTools = await view.page.createCDPSession();
  await devTools.send("Network.enable");
  await devTools.send("Network.setBlockedURLs", { urls: [`*/boards/${boards[3]}/tasks*`] });
  await open("zebras");
  await view.sees("dialog .danger-text", "Tasks of some boards were not found: The service does not answer.");
  await view.sees('dialog [role="option"]', "Feed the zebras");
  await view.sees("dialog", "Tasks were searched on 11 of 20 boards.");
  await close();
  await devTools.detach();
  expect(view.outside).toEqual([]);
});

test("even when many pages match, a task that matches is in the list", async () => {
  await makeTask(api, first, "Goal of the season");
  await open("goal of");
  await view.sees('dialog [role="option"]', "Goal of the season");
  expect(await view.count('dialog [role="option"]')).toBe(12);
  await close();
  expect(view.errors).toEqual([]);
});
