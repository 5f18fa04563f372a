import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const { id: task_id } = await makeTask(api, board_id, "Paint the fence", { description: "In white" });
const params = { path: { board_id } };

const WIDTH = 390;
/** Longer than a finger has to rest on a card. */
const PRESS_MS = 3_000;
/** Waits longer between attempts to tap, so that a page that is still moving comes to rest. */
const SLOW = { ...WAIT, interval: 1_000 };
const view = await openConsole(await browser.createBrowserContext(), service.link);
await view.hasCards("inbox", ["Paint the fence"]);
// A page supports touch only after it is loaded again.
await view.page.setViewport({ width: WIDTH, height: 844, isMobile: true, hasTouch: true });
await view.page.waitForFunction("navigator.maxTouchPoints > 0");
await view.hasCards("inbox", ["Paint the fence"]);
const tools = await view.page.createCDPSession();

interface Point {
  x: number;
  y: number;
}

const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...touchPoints: Point[]) =>
  tools.send("Input.dispatchTouchEvent", { type, touchPoints });
const centerOf = async (selector: string): Promise<Point> => {
  await view.page.waitForSelector(selector);
  return (await view.page.evaluate(
    `(() => { const box = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
      return { x: box.x + Math.min(60, box.width / 2), y: box.y + Math.min(20, box.height / 2) }; })()`,
  )) as Point;
};
async function tap(selector: string): Promise<void> {
  await touch("touchStart", await centerOf(selector));
  await touch("touchEnd");
}
const CARD = `[data-task="${task_id}"]`;

test("a finger opens a card, answers in it and closes it", async () => {
  await vi.waitFor(async () => {
    await tap(CARD);
    expect(await view.count(".story")).toBe(1);
  }, SLOW);
  await view.sees(".story", "In white");
  await view.sees(".story", "Nobody has commented.");
  // The parts of the opened task move while they are loaded.
  await vi.waitFor(async () => {
    await view.page.evaluate(`document.querySelector(".story textarea").scrollIntoView({ block: "center" })`);
    await tap(".story textarea");
    expect(await view.page.evaluate("document.activeElement.matches('.story textarea')")).toBe(true);
  }, SLOW);
  await view.page.keyboard.type("It dries");
  await tap(".comment-form .primary");
  await view.sees(".comments", "It dries");
  await tap('[aria-label="Close the task"]');
  await vi.waitFor(async () => expect(await view.count(".story")).toBe(0), WAIT);
  expect(await view.page.evaluate("document.documentElement.scrollWidth")).toBe(WIDTH);
  expect(view.errors).toEqual([]);
});

test("a finger that moves at once scrolls the board, and one that rests on a card moves it to another column", async () => {
  await view.go(`#/boards/${board_id}`);
  await vi.waitFor(async () => expect(await view.count(".story")).toBe(0), WAIT);
  const scrolled = () => view.page.evaluate("document.querySelector('.board').scrollLeft") as Promise<number>;
  const from = await centerOf(CARD);
  const before = await scrolled();
  await touch("touchStart", { x: 340, y: from.y });
  for (let x = 330; x >= 100; x -= 10) await touch("touchMove", { x, y: from.y });
  await touch("touchEnd");
  await vi.waitFor(async () => expect(await scrolled()).toBeGreaterThan(before), WAIT);
  // The board first comes to rest at a column.
  await vi.waitFor(async () => {
    await view.page.evaluate("document.querySelector('.board').scrollTo({ left: 0, behavior: 'instant' })");
    expect(await scrolled()).toBe(0);
  }, SLOW);
  expect((await api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } } })).status).toBe(
    "inbox",
  );

  const start = await centerOf(CARD);
  await vi.waitFor(async () => {
    await touch("touchStart", start);
    try {
      await view.page.waitForSelector(".ghost", { timeout: PRESS_MS });
    } catch (error) {
      // A board that has just been scrolled stops at the first touch, as lists on phones do.
      await touch("touchEnd");
      throw error;
    }
  }, SLOW);
  const edge = { x: WIDTH - 10, y: start.y };
  await touch("touchMove", edge);
  // The board scrolls while the card is held at its edge, until another column is in the middle.
  const isInside = `document.querySelector('[data-status="in_progress"]').getBoundingClientRect().left < ${WIDTH / 2 - 60}`;
  await vi.waitFor(async () => expect(await view.page.evaluate(isInside)).toBe(true), WAIT);
  await touch("touchMove", { x: WIDTH / 2, y: start.y });
  const column = await vi.waitUntil(
    () => view.page.evaluate("document.querySelector('.target:not([data-status=inbox])')?.dataset.status") as Promise<string>,
    WAIT,
  );
  await touch("touchEnd");
  await view.hasCards(column!, ["Paint the fence"]);
  expect(column).not.toBe("inbox");
  await vi.waitFor(async () => {
    const path = { board_id, task_id };
    expect((await api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path } })).status).toBe(column);
  }, WAIT);
  expect(view.errors).toEqual([]);
});

test("a finger decides an approval", async () => {
  await view.go(`#/boards/${board_id}`);
  await vi.waitFor(async () => expect(await view.count(".story")).toBe(0), WAIT);
  const { id } = await api.post("/api/v1/boards/{board_id}/approvals", {
    params,
    body: { action_type: "Buy the paint", description: "For the fence", task_id },
  });
  await tap('.nav-links a[href="#/needs-you"]');
  await view.sees("main", "Needs you");
  await view.sees("main", "Buy the paint");
  await tap("main .approval .primary");
  await vi.waitFor(async () => {
    const path = { board_id, approval_id: id };
    const { status } = await api.get("/api/v1/boards/{board_id}/approvals/{approval_id}", { params: { path } });
    expect(status).toBe("approved");
  }, WAIT);
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("Buy the paint"), WAIT);
  expect(view.errors).toEqual([]);
});
