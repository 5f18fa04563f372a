import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();

test("the printed link signs in, and its token leaves the address bar", async () => {
  await makeBoard(service.api, "First");
  const page = await openConsole(await browser.createBrowserContext(), service.link);
  await page.sees("h1", "First");
  expect(page.page.url()).not.toContain(service.token);
  expect(await page.page.evaluate("Object.keys(localStorage)")).toEqual(["board.token"]);
  expect([page.errors, page.outside]).toEqual([[], []]);
});

test("two windows see each other's moves and comments without a reload", async () => {
  const { id: board_id } = await makeBoard(service.api, "Two windows");
  const { id: task_id } = await makeTask(service.api, board_id, "Ship the lamp");
  const [one, other] = [
    await openConsole(await browser.createBrowserContext(), service.link),
    await openConsole(await browser.createBrowserContext(), service.link),
  ];
  for (const page of [one, other]) {
    await page.go(`#/boards/${board_id}`);
    await page.hasCards("inbox", ["Ship the lamp"]);
  }
  const started = performance.now();
  await one.drag("Ship the lamp", "in_progress");
  await one.hasCards("in_progress", ["Ship the lamp"]);
  await other.hasCards("in_progress", ["Ship the lamp"]);
  process.stdout.write(`A move is seen in another window after ${Math.round(performance.now() - started)} ms\n`);
  await other.drag("Ship the lamp", "review");
  await one.hasCards("review", ["Ship the lamp"]);

  await one.go(`#/boards/${board_id}/tasks/${task_id}`);
  await other.go(`#/boards/${board_id}/tasks/${task_id}`);
  await other.page.locator(".story textarea").fill("On its way");
  await other.click("Send");
  await one.sees(".comments", "On its way");
  await makeTask(service.api, board_id, "Another one");
  await one.hasCards("inbox", ["Another one"]);
  expect([one.errors, other.errors]).toEqual([[], []]);
});

test("a move that the board's rules refuse is undone, and the page shows the explanation of the API", async () => {
  const { id: board_id } = await makeBoard(service.api, "Rules", { require_approval_for_done: true });
  await makeTask(service.api, board_id, "Pay the bill", { status: "review" });
  const page = await openConsole(await browser.createBrowserContext(), service.link);
  await page.go(`#/boards/${board_id}`);
  await page.hasCards("review", ["Pay the bill"]);
  await page.drag("Pay the bill", "done");
  await page.sees('[role="alert"]', "Task can only be marked done when a linked approval has been approved.");
  await page.hasCards("review", ["Pay the bill"]);
  await page.hasCards("done", []);
  expect(page.errors).toEqual([]);
});

test("a task can be created, worked on and finished with the keyboard alone", async () => {
  const { id: board_id } = await makeBoard(service.api, "Keys");
  await makeTask(service.api, board_id, "Here before");
  const { page, ...view } = await openConsole(await browser.createBrowserContext(), service.link);
  await view.go(`#/boards/${board_id}`);
  await view.hasCards("inbox", ["Here before"]);
  const { keyboard } = page;

  await keyboard.press("?");
  await view.sees("dialog", "Keyboard");
  await keyboard.press("Escape");
  await vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
  await keyboard.press("c");
  await view.sees("dialog", "New task");
  await keyboard.type("Typed by keys");
  await keyboard.press("Tab");
  await keyboard.type("What has to be done");
  await keyboard.down("Control");
  await keyboard.press("Enter");
  await keyboard.up("Control");
  await view.hasCards("inbox", ["Here before", "Typed by keys"]);
  const isFocused = (title: string) =>
    vi.waitFor(
      async () => expect(await page.evaluate("document.activeElement.closest('.card')?.textContent")).toContain(title),
      WAIT,
    );
  await isFocused("Typed by keys");
  await keyboard.press("ArrowUp");
  await isFocused("Here before");
  await keyboard.press("ArrowDown");
  await isFocused("Typed by keys");

  await keyboard.down("Shift");
  await keyboard.press("ArrowRight");
  await keyboard.up("Shift");
  await view.hasCards("in_progress", ["Typed by keys"]);
  await isFocused("Typed by keys");
  await keyboard.press("Enter");
  await view.sees(".story", "What has to be done");
  const focuses = async (selector: string) => {
    for (let presses = 0; presses < 30; presses++) {
      if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
      await keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${selector}`);
  };
  await focuses(".story textarea");
  await keyboard.type("Done by keys");
  await keyboard.down("Control");
  await keyboard.press("Enter");
  await keyboard.up("Control");
  await view.sees(".comments", "Done by keys");
  await keyboard.press("Escape");
  await isFocused("Typed by keys");
  await keyboard.press("4");
  await view.hasCards("review", ["Typed by keys"]);
  await isFocused("Typed by keys");
  await keyboard.press("5");
  await view.hasCards("done", ["Typed by keys"]);
  expect(view.errors).toEqual([]);
});

test("hostile texts are shown as text everywhere", async () => {
  const hostile = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> \u202Etxt\u202C \u{1f680} مرحبا`;
  const { id: board_id } = await makeBoard(service.api, `Hostile ${hostile}`);
  const long = "x".repeat(10_000);
  const description = `${hostile} javascript:alert(1) ${long}`;
  const { id: task_id } = await makeTask(service.api, board_id, hostile, { description, priority: "<b>now</b>" });
  await makeTask(service.api, board_id, "y".repeat(500));
  const agent = await service.api.post("/api/v1/agents", { body: { name: "<i>Eve</i>", board_id } });
  const path = { board_id, task_id };
  await service.api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", {
    params: { path },
    body: { assigned_agent_id: agent.id },
  });
  for (const content of [hostile, long])
    await service.api.post("/api/v1/boards/{board_id}/tasks/{task_id}/comments", { params: { path }, body: { content } });
  await service.api.post("/api/v1/boards/{board_id}/approvals", {
    params: { path: { board_id } },
    body: { action_type: hostile, description: hostile, task_id },
  });
  const view = await openConsole(await browser.createBrowserContext(), service.link);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".story", long);
  await view.sees(".comments", "<script>window.pwned=1</script>");
  await view.sees(".board", "<i>Eve</i>");
  for (const fragment of ["#/needs-you", "#/activity", "#/agents"]) {
    await view.go(fragment);
    await view.sees("main", fragment === "#/agents" ? "<i>Eve</i>" : "<script>window.pwned=1</script>");
  }
  const sideways = "document.documentElement.scrollWidth > innerWidth";
  expect(
    await view.page.evaluate(`[window.pwned ?? null, document.querySelectorAll("#app img, #app script").length, ${sideways}]`),
  ).toEqual([null, 0, false]);
  expect([view.errors, view.outside]).toEqual([[], []]);
});
