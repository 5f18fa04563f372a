import { type Client, createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { dataFolder } from "../../support/program.ts";
import { makeBoard, makeTask, openConsole, setupConsole, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";
import { startSignInProvider } from "./sign-in-provider.ts";

const { browser, service } = await setupConsole();
const view = await openConsole(await browser.createBrowserContext(), service.link);

async function makeAgent(board_id: string, name: string) {
  const { id, auth_token } = await service.api.post("/api/v1/agents", { body: { name, board_id } });
  return { id, api: createClient({ url: service.url, agent_token: auth_token! }) };
}

let reports = 0;
const report = (agent: Client, more: { task_id?: string; model?: string; input_tokens: number; cost_usd?: string | null }) =>
  agent.post("/api/v1/agent/usage", { body: { entries: [{ key: `report ${++reports}`, ...more }] } });

const choose = (name: string, value: string) => view.page.select(`select[aria-label="${name}"]`, value);
const cells = (row: string) =>
  view.page.evaluate(
    `[...document.querySelectorAll(".table tr")].filter((item) => item.cells[0].textContent === ${JSON.stringify(row)})
      .map((item) => [...item.cells].slice(1).map((cell) => cell.textContent))[0]`,
  ) as Promise<string[] | undefined>;
const hasCells = (row: string, expected: string[]) => vi.waitFor(async () => expect(await cells(row)).toEqual(expected), WAIT);

test("usage is shown as a chart and a table by agent, board, model, task and day; an agent that reports nothing is not shown as zero", async () => {
  await view.page.keyboard.press("g");
  await view.page.keyboard.press("u");
  await view.sees("main", "No agent has reported usage in this time.");
  const { id: board_id } = await makeBoard(service.api, "Spenders");
  const other = await makeBoard(service.api, "Savers");
  const milo = await makeAgent(board_id, "Milo");
  const juno = await makeAgent(board_id, "<b>Juno</b>");
  await makeAgent(other.id, "Silent");
  const { id: task_id } = await makeTask(service.api, board_id, "Count the beans");
  await milo.api.post("/api/v1/agent/tasks/next", { body: { board_id } });
  await report(milo.api, { task_id, model: "sonnet", input_tokens: 1_200, cost_usd: "0.25" });
  await report(milo.api, { task_id, model: "haiku", input_tokens: 300, cost_usd: "0.0500" });
  await report(milo.api, { input_tokens: 50, cost_usd: "0.001" });
  await report(juno.api, { task_id, model: "sonnet", input_tokens: 70, cost_usd: null });

  await view.page.reload();
  await view.sees(".tiles", "$0.30");
  await choose("Group by", "agent");
  await hasCells("Milo", ["1", "1,500", "0", "0", "$0.30", "50", "$0.001"]);
  await hasCells("<b>Juno</b>", ["0", "70", "0", "0", "–", "0", "–"]);
  await hasCells("Silent", ["not reported"]);
  const bars = 'const bars = document.querySelectorAll(".chart [data-bar]");';
  await view.page.evaluate(`(() => { ${bars} bars[0].focus(); })()`);
  await view.sees(".chart-value", "Milo: $0.30, idle $0.001");
  await view.page.keyboard.press("ArrowDown");
  await view.sees(".chart-value", "<b>Juno</b>: no price");
  expect(await view.count(".chart [data-bar]")).toBe(2);
  expect(await view.count('.chart [data-bar][tabindex="0"]')).toBe(1);
  await choose("Chart of", "tokens");
  await view.sees(".chart-value", "<b>Juno</b>: 70 tokens");

  for (const [grouping, row, expected] of [
    ["board", "Spenders", ["1", "1,570", "0", "0", "$0.30", "50", "$0.001"]],
    ["model", "haiku", ["0", "300", "0", "0", "$0.05", "0", "–"]],
    ["task", "Count the beans", ["1", "1,570", "0", "0", "$0.30", "0", "–"]],
  ] as const) {
    await choose("Group by", grouping);
    await hasCells(row, [...expected]);
  }
  await choose("Group by", "day");
  await hasCells("Sum", ["1", "1,570", "0", "0", "$0.30", "50", "$0.001"]);
  await choose("Board", other.id);
  await view.sees("main", "No agent has reported usage in this time.");
  await choose("Board", "");
  await hasCells("Sum", ["1", "1,570", "0", "0", "$0.30", "50", "$0.001"]);

  // The longest table is shown whole, above the budgets.
  await choose("Time", "1y");
  await vi.waitFor(async () => expect(await view.count(".table tbody tr")).toBeGreaterThan(360), WAIT);
  const isApart = `document.querySelector(".table").getBoundingClientRect().bottom <= document.querySelector("main > section").getBoundingClientRect().top`;
  const isWhole = "(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight + 1)(document.querySelector('.table'))";
  expect(await view.page.evaluate(`[${isApart}, ${isWhole}]`)).toEqual([true, true]);
  await choose("Time", "7d");
  await view.page.evaluate(
    `void (URL.createObjectURL = (file) => { void file.text().then((text) => { window.saved = text; }); return "#/usage"; })`,
  );
  await view.click("Save as CSV");
  const saved = `${service.url}/api/v1/metrics/usage.csv?range_key=7d&group_by=day`;
  const csv = await (await fetch(saved, { headers: { Authorization: `Bearer ${service.token}` } })).text();
  await vi.waitFor(async () => expect(await view.page.evaluate("window.saved")).toBe(csv), WAIT);
  expect([view.errors, view.outside]).toEqual([[], []]);
});

const field = (name: string) => `[id="field-${name}"]`;
const valueOf = (name: string) => view.page.evaluate(`document.querySelector('${field(name)}').value`);

test("a budget is created, changed and removed; a refusal is shown at its field, and the typed values stay in the form", async () => {
  const { id: board_id } = await makeBoard(service.api, "Limited");
  const agent = await makeAgent(board_id, "Otto");
  await view.go("#/usage");
  await view.click("New budget");
  await view.page.select(field("scope"), "board");
  await view.sees(field("scope_id"), "Limited");
  await view.page.select(field("scope_id"), board_id);
  await view.page.locator(field("limit.cost_usd")).fill("ten");
  await view.page.locator(field("timezone")).fill("Mars/Olympus");
  await view.click("Create budget");
  await view.sees(".field:has([id='field-limit.cost_usd']) [role='alert']", "must be a decimal number such as 0.0123");
  await view.sees(".field:has([id='field-timezone']) [role='alert']", "timezone must be an IANA name");
  expect(await view.page.evaluate(`document.querySelector('${field("timezone")}').getAttribute("aria-invalid")`)).toBe("true");

  await view.page.reload();
  await view.click("New budget");
  expect([await valueOf("limit.cost_usd"), await valueOf("timezone"), await valueOf("scope_id")]).toEqual([
    "ten",
    "Mars/Olympus",
    board_id,
  ]);
  await view.page.locator(field("limit.cost_usd")).fill("10");
  await view.page.locator(field("reserve.cost_usd")).fill("1.5");
  await view.page.locator(field("timezone")).fill("Europe/Berlin");
  await view.click("Create budget");
  await view.sees(".budget", "Limited");
  await view.sees(".budget", "$0.00 of $10.00");
  await makeTask(service.api, board_id, "Costly");
  await agent.api.post("/api/v1/agent/tasks/next", { body: { board_id } });
  await view.sees(".budget", "$1.50 set aside");

  const { items } = await service.api.get("/api/v1/budgets", { params: { query: { scope: "board", scope_id: board_id } } });
  const params = { path: { budget_id: items[0]!.id } };
  await view.click("Change");
  await view.page.locator(field("limit.cost_usd")).fill("20");
  await service.api.patch("/api/v1/budgets/{budget_id}", { params, body: { warn_at: 0.5 } });
  await view.click("Save");
  await view.sees("dialog [role='alert']", "The budget has changed since you opened it.");
  expect(await valueOf("limit.cost_usd")).toBe("20");
  expect((await service.api.get("/api/v1/budgets/{budget_id}", { params })).limit.cost_usd).toBe("10");
  await view.click("Save");
  await vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
  await view.sees(".budget", "of $20.00");

  await view.click("Remove");
  await view.click("Keep it");
  await view.click("Remove");
  await view.click("Remove the budget");
  await view.sees("main", "There are no budgets.");
  expect(view.errors).toEqual([]);
});

test("a kept draft of a budget does not undo what others changed in other fields meanwhile", async () => {
  const { id: board_id } = await makeBoard(service.api, "Shared");
  const body = { scope: "board", scope_id: board_id, limit: { cost_usd: "10" } } as const;
  const { id: budget_id } = await service.api.post("/api/v1/budgets", { body });
  const params = { path: { budget_id } };
  await view.go("#/usage");
  await view.sees(".budget", "of $10.00");
  await view.click("Change");
  await view.page.locator(field("limit.cost_usd")).fill("30");
  await view.page.keyboard.press("Escape");
  await service.api.patch("/api/v1/budgets/{budget_id}", { params, body: { on_limit: "warn" } });
  await view.page.reload();
  await view.sees(".budget", "only warns");
  await view.click("Change");
  expect(await valueOf("limit.cost_usd")).toBe("30");
  await view.click("Save");
  await view.sees(".budget", "of $30.00");
  const saved = await service.api.get("/api/v1/budgets/{budget_id}", { params });
  expect([saved.limit.cost_usd, saved.on_limit]).toEqual(["30", "warn"]);
  await service.api.delete("/api/v1/budgets/{budget_id}", { params: { ...params, header: { "If-Match": "*" } } });
  expect(view.errors).toEqual([]);
});

test("a spent budget and the work that it stopped are listed among what needs a person", async () => {
  const { id: board_id } = await makeBoard(service.api, "Broke");
  const agent = await makeAgent(board_id, "Vera");
  const { id: task_id } = await makeTask(service.api, board_id, "Burn money");
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.click("Limit what this task may spend");
  await view.page.locator(field("limit.total_tokens")).fill("1000");
  await view.click("Create budget");
  await view.sees(".story .budget", "0 of 1K");
  await agent.api.post("/api/v1/agent/tasks/next", { body: { board_id } });
  await view.sees(`[data-task="${task_id}"]`, "running");
  await report(agent.api, { task_id, input_tokens: 1_500, cost_usd: "0.75" });
  await view.sees(`[data-task="${task_id}"]`, "run stopped");
  await view.sees(`[data-task="${task_id}"]`, "1.5K tokens · $0.75");
  await view.sees(".story .budget", "spent");
  await view.go("#/needs-you");
  await view.sees("main", "Spent budgets");
  await view.sees("main", "1,500 of 1,000 tokens");
  await view.sees("main", "Vera, Broke: stopped");
  expect(view.errors).toEqual([]);
});

test("a card shows how the latest run of its task ended and how long it took, and what all runs have used", async () => {
  const { id: board_id } = await makeBoard(service.api, "Done work");
  const agent = await makeAgent(board_id, "Pia");
  const { id: task_id } = await makeTask(service.api, board_id, "Sweep");
  await agent.api.post("/api/v1/agent/tasks/next", { body: { board_id } });
  await report(agent.api, { task_id, input_tokens: 2_000, cost_usd: "0.25" });
  const params = { path: { board_id, task_id } };
  await agent.api.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", {
    params,
    body: { status: "review", comment: "Swept" },
  });
  await view.go(`#/boards/${board_id}`);
  await view.sees(`[data-task="${task_id}"]`, "run submitted after ");
  await view.sees(`[data-task="${task_id}"]`, "2K tokens · $0.25");
  expect(view.errors).toEqual([]);
});

test("a member sees the budgets of boards that the member may change, and may set no other", async () => {
  const provider = await startSignInProvider();
  const shared = await startService(dataFolder(), await freePort(), {
    AUTH_MODE: "oidc",
    OIDC_ISSUER: provider.issuer,
    OIDC_JWKS_URL: `${provider.issuer}/keys`,
    CONSOLE_OIDC_CLIENT_ID: "console",
  });
  const owner = createClient({ url: shared.url, token: await provider.token("ann") });
  await owner.post("/api/v1/auth/bootstrap");
  const open = await makeBoard(owner, "Open");
  const closed = await makeBoard(owner, "Closed");
  for (const body of [
    { scope: "organization", limit: { runs: 1_000 } },
    { scope: "board", scope_id: open.id, limit: { runs: 20 } },
    { scope: "board", scope_id: closed.id, limit: { runs: 30 } },
  ] as const)
    await owner.post("/api/v1/budgets", { body });
  const { token } = await owner.post("/api/v1/organizations/me/invites", {
    body: {
      invited_email: "bob@example.com",
      role: "member",
      all_boards_read: true,
      board_access: [{ board_id: open.id, can_read: true, can_write: true }],
    },
  });
  const bob = createClient({ url: shared.url, token: await provider.token("bob") });
  await bob.post("/api/v1/auth/bootstrap");
  const { organization_id } = await bob.post("/api/v1/organizations/invites/accept", { body: { token } });
  await bob.patch("/api/v1/organizations/me/active", { body: { organization_id } });
  provider.signsIn("bob");
  const page = await openConsole(await browser.createBrowserContext(), `${shared.url}/#/usage`, [provider.issuer]);
  await page.page.locator("button.primary").click();
  await page.sees(".budget", "0 of 20");
  expect([await page.count(".budget"), await page.text(".budget a")]).toEqual([1, "Open"]);
  await page.click("New budget");
  const options = (name: string) =>
    page.page.evaluate(`[...document.querySelector('${field(name)}').options].map((item) => item.text)`);
  expect([await options("scope"), await options("scope_id")]).toEqual([["a board"], ["Choose", "Open"]]);
  expect([page.errors, page.outside]).toEqual([[], []]);
  await provider.close();
});
