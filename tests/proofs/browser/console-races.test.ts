/** Answers that come late, out of order or not at all. A script in the page decides when an answer reaches the console. */
import { type Client, createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { type Console, makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const agent = await api.post("/api/v1/agents", { body: { name: "Nora", board_id } });
const nora: Client = createClient({ url: service.url, agent_token: agent.auth_token! });

const open = async (): Promise<Console> => openConsole(await browser.createBrowserContext(), service.link);

/**
 * Replaces the page's `fetch`. Requests that match `held.pattern` get their answer from the service, but the page gets it only when
 * `held.release(n)` is called with the number of the request. Requests that match `failing` get no answer.
 */
const HOLD = `{
  const { fetch } = globalThis;
  const waiting = [];
  globalThis.held = { pattern: null, failing: null, count: 0, release: (n) => waiting[n]() };
  globalThis.fetch = async (request, init) => {
    const text = (request.method ?? "GET") + " " + (request.url ?? request);
    if (held.failing?.test(text)) throw new TypeError("Failed to fetch");
    const answer = await fetch(request, init);
    if (held.pattern?.test(text)) await new Promise((resolve) => { waiting[held.count++] = resolve; });
    return answer;
  };
}`;

const hold = (view: Console, pattern: string) =>
  view.page.evaluate(`void (held.pattern = new RegExp(${JSON.stringify(pattern)}))`);
const isHeld = (view: Console, count = 1) =>
  vi.waitFor(async () => expect(await view.page.evaluate("held.count")).toBe(count), WAIT);
const release = (view: Console, n = 0) => view.page.evaluate(`held.pattern = null, held.release(${n}), 1`);
const fail = (view: Console, pattern: string | null) =>
  view.page.evaluate(`void (held.failing = ${pattern === null ? null : `new RegExp(${JSON.stringify(pattern)})`})`);
const valueOf = (view: Console, selector: string) =>
  view.page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.value`);

test("an answer that arrives after the answer to a later request does not replace it", async () => {
  const { id: task_id } = await makeTask(api, board_id, "Read it twice");
  const view = await open();
  await view.hasCards("inbox", ["Read it twice"]);
  await view.page.evaluate(HOLD);
  await hold(view, "/comments");
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await isHeld(view);
  await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/comments", {
    params: { path: { board_id, task_id } },
    body: { content: "Said meanwhile" },
  });
  await isHeld(view, 2);
  await release(view, 1);
  await view.sees(".comments", "Said meanwhile");
  await release(view, 0);
  await view.sees(".story", "History");
  expect(await view.text(".comments")).toContain("Said meanwhile");
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("what is typed while a comment is on its way stays in the field", async () => {
  const { id: task_id } = await makeTask(api, board_id, "Talk on");
  const view = await open();
  await view.page.evaluate(HOLD);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.page.locator(".story textarea").fill("First.");
  await hold(view, "POST .*/comments");
  await view.click("Send");
  await isHeld(view);
  await view.page.focus(".story textarea");
  await view.page.keyboard.press("End");
  await view.page.keyboard.type(" Second.");
  await release(view);
  await view.sees(".comments", "First.");
  expect(await valueOf(view, ".story textarea")).toBe("Second.");
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("what is typed while a form is on its way stays in the form, and what was sent is forgotten", async () => {
  const view = await open();
  await view.page.evaluate(HOLD);
  await view.go(`#/boards/${board_id}/settings`);
  const form = `board.Board.${board_id}`;
  await view.fill(form, "description", "Ships");
  await hold(view, "PATCH .*/boards/");
  await view.page.evaluate(`document.querySelector('[id="field-${form}-name"]').form.requestSubmit()`);
  await isHeld(view);
  await view.fill(form, "slug", "harbour-one");
  await release(view);
  await view.sees(".notices", "The board was changed.");
  expect(await view.value(form, "slug")).toBe("harbour-one");
  expect(await view.value(form, "description")).toBe("Ships");
  expect(await view.page.evaluate(`sessionStorage.getItem("board.draft.form.${form}")`)).toBe('{"slug":"harbour-one"}');
  await view.page.evaluate("sessionStorage.clear()");
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("a refused choice of a priority or an assignee is not shown as if it were stored", async () => {
  const { id: task_id } = await makeTask(api, board_id, "Stay medium");
  const view = await open();
  await view.page.evaluate(HOLD);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.page.waitForSelector('.story [aria-label="Priority"]');
  await fail(view, "PATCH");
  await view.page.select('.story [aria-label="Priority"]', "high");
  await view.sees(".notice.error", "The task was not changed");
  expect(await valueOf(view, '.story [aria-label="Priority"]')).toBe("medium");
  await view.page.select('.story [aria-label="Assignee"]', agent.id);
  await vi.waitFor(async () => expect(await view.count(".notice.error")).toBe(2), WAIT);
  expect(await valueOf(view, '.story [aria-label="Assignee"]')).toBe("");
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("a task that a shortened snapshot lacks is read when it is opened", async () => {
  const { id: task_id } = await makeTask(api, board_id, "Older than the newest tasks");
  const view = await open();
  await view.page.evaluate(`{
    const { fetch } = globalThis;
    globalThis.fetch = async (request) => {
      const answer = await fetch(request);
      if (!request.url.endsWith("/snapshot")) return answer;
      const body = await answer.json();
      const tasks = body.tasks.filter(({ id }) => id !== "${task_id}");
      return Response.json({ ...body, tasks, truncated_fields: ["tasks"] });
    };
  }`);
  await view.go("#/activity");
  await view.sees("h1", "Activity");
  await view.go(`#/boards/${board_id}`);
  await view.sees(".note", "This board has more tasks than an answer may have.");
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".story h2", "Older than the newest tasks");
  await view.go(`#/boards/${board_id}/tasks/${crypto.randomUUID()}`);
  await view.sees(".story", "This task does not exist, or was removed.");
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("no file of a diff can be marked as reviewed before the earlier marks are known", async () => {
  const { id: task_id } = await makeTask(api, board_id, "Two files");
  const file = (name: string) => `--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+Read this\n`;
  const content = Buffer.from(file("one.md") + file("two.md")).toString("base64");
  const { id: artifact_id } = await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
    params: { path: { board_id, task_id } },
    body: { name: "change.diff", content_type: "text/x-diff", content },
  });
  const marks = { params: { path: { board_id, artifact_id } } };
  const path = "/api/v1/boards/{board_id}/artifacts/{artifact_id}/reviewed-files";
  await api.put(path, { ...marks, body: { paths: ["one.md"] } });
  const view = await open();
  await view.page.evaluate(HOLD);
  await hold(view, "GET .*/reviewed-files");
  await view.go(`#/boards/${board_id}/tasks/${task_id}/files/${artifact_id}`);
  await isHeld(view);
  await view.page.waitForSelector('[aria-label="Reviewed two.md"]');
  await view.page.evaluate(`document.querySelector('[aria-label="Reviewed two.md"]').click()`);
  await release(view);
  await view.sees(".file-view", "1 reviewed");
  await view.page.locator('[aria-label="Reviewed two.md"]').click();
  await view.sees(".file-view", "2 reviewed");
  await vi.waitFor(async () => expect((await api.get(path, marks)).paths).toEqual(["one.md", "two.md"]), WAIT);
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("a search for tasks shows that it is still running, and offers no task that was found for another text", async () => {
  await makeTask(api, board_id, "Count the zebras");
  const view = await open();
  await view.go("#/activity");
  await view.sees("h1", "Activity");
  await view.page.evaluate(HOLD);
  await view.page.keyboard.down("Control");
  await view.page.keyboard.press("k");
  await view.page.keyboard.up("Control");
  const input = 'dialog input[role="combobox"]';
  await view.page.locator(input).fill("zebras");
  await view.sees('dialog [role="option"]', "Count the zebras");
  await hold(view, "/tasks");
  await view.page.locator(input).fill("giraffes");
  await isHeld(view);
  expect(await view.text('dialog [role="option"]')).not.toContain("zebras");
  expect(await view.text("dialog")).toContain("Searching");
  expect(await view.text("dialog")).not.toContain("Nothing was found");
  await release(view);
  await view.sees("dialog", "Nothing was found.");
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("older entries of the audit log are complete after two clicks at once, and are not cut short by a failed request", async () => {
  for (let n = 0; n < 120; n++)
    await api.patch("/api/v1/boards/{board_id}", { params: { path: { board_id } }, body: { description: `Berth ${n}` } });
  const newest = (await api.get("/api/v1/audit", { params: { query: { limit: 1 } } })).items[0]!.seq;
  const view = await open();
  await view.page.evaluate(HOLD);
  await view.go("#/organization/audit");
  await view.sees("main", "Show older entries");
  const rows = () => view.count(".rows > .row");
  expect(await rows()).toBe(50);
  await fail(view, "/audit");
  await view.click("Show older entries");
  await view.sees('main [role="alert"]', "The service does not answer.");
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("Show older entries"), WAIT);
  await fail(view, null);
  // The page may have tried again by itself.
  await view.page.evaluate(`document.querySelector('main [role="alert"] button')?.click()`);
  await view.sees("main", "Show older entries");
  const more = `[...document.querySelectorAll("main button")].find((button) => button.textContent === "Show older entries")`;
  await view.page.evaluate(`{ const button = ${more}; button.click(); button.click(); }`);
  await vi.waitFor(async () => expect(await rows()).toBe(100), WAIT);
  const shown = (await view.page.evaluate(
    `[...document.querySelectorAll(".rows > .row")].map((row) => /Entry(\\d+) /.exec(row.textContent)[1])`,
  )) as string[];
  expect(shown.map(Number)).toEqual(Array.from({ length: 100 }, (_, n) => newest - n));
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("a typed answer to a question survives a reload, and the browser forgets it once the service has stored it", async () => {
  const { id: task_id } = await makeTask(api, board_id, "Ask me", { assigned_agent_id: agent.id });
  await nora.post("/api/v1/agent/boards/{board_id}/approvals", {
    params: { path: { board_id } },
    body: { action_type: "question", description: "Which berth?", task_id, payload: {} },
  });
  const view = await open();
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.page.locator(".question textarea").fill("The northern one");
  await view.page.keyboard.press("Escape");
  await vi.waitFor(async () => expect(await view.count(".story")).toBe(0), WAIT);
  await view.page.reload();
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.page.waitForSelector(".question textarea");
  expect(await valueOf(view, ".question textarea")).toBe("The northern one");
  await view.click("Answer");
  await vi.waitFor(async () => expect(await view.count(".question")).toBe(0), WAIT);
  expect(await view.page.evaluate("Object.keys(sessionStorage).some((key) => key.includes('answer'))")).toBe(false);
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("when new notifications arrive, older ones that no longer fit on the first page stay in the list", async () => {
  const ask = (n: number) =>
    nora.post("/api/v1/agent/boards/{board_id}/approvals", {
      params: { path: { board_id } },
      body: { action_type: `Wish ${n}`, description: "Please" },
    });
  for (let n = 0; n < 60; n++) await ask(n);
  const view = await open();
  await view.go("#/inbox");
  await vi.waitFor(async () => expect(await view.text("main")).toContain("Show older ones"), WAIT);
  await vi.waitFor(async () => {
    const { unread } = await api.get("/api/v1/users/me/inbox", { params: { query: { limit: 1 } } });
    expect(unread).toBeGreaterThan(60);
  }, WAIT);
  await view.page.reload();
  await view.click("Show older ones");
  await view.sees(".rows", "Wish 0");
  for (let n = 60; n < 63; n++) await ask(n);
  await view.sees(".rows", "Wish 62");
  const text = await view.text(".rows");
  for (let n = 0; n < 63; n++) expect(text).toContain(`Wish ${n}`);
  expect(view.errors).toEqual([]);
  await view.page.close();
});

test("signing out in one tab signs out the other tabs, and removes what was typed", async () => {
  const context = await browser.createBrowserContext();
  const one = await openConsole(context, service.link);
  await one.sees("h1", "Harbour");
  const other = await openConsole(context, service.url);
  await other.sees("h1", "Harbour");
  await one.page.evaluate(`sessionStorage.setItem("board.draft.comment.x", "Only for me")`);
  await other.click("Sign out");
  await other.sees("main", "Token");
  await one.sees("main", "Token");
  expect(await one.page.evaluate(`sessionStorage.getItem("board.draft.comment.x")`)).toBe(null);
  expect([one.errors, other.errors]).toEqual([[], []]);
});
