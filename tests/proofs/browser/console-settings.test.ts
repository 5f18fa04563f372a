import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../support/program.ts";
import { field, makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);
const { id: board_id, gateway_id } = await makeBoard(api, "Harbour");
const quay = await makeBoard(api, "Quay");
await api.post("/api/v1/agents", { body: { name: "Nora", board_id } });
const params = { path: { board_id } };
const readBoard = () => api.get("/api/v1/boards/{board_id}", { params });
const form = `board.Board.${board_id}`;
const save = (name: string) => view.page.locator(`.card-panel:has(${field(form, name)}) button.primary`).click();

test("short name, limit, escalation and gateway of a board are changed, and refusals are shown in the form", async () => {
  const other = await api.post("/api/v1/gateways", { body: { name: "Pier", kind: "pull" } });
  await view.sees("h1", "Harbour");
  await view.go(`#/boards/${board_id}/settings`);
  await view.sees("h1", "Settings of Harbour");
  await view.fill(form, "slug", "quay");
  await save("slug");
  await view.sees(".card-panel [role='alert']", "Board slug already exists in this organization.");
  await view.fill(form, "slug", "haven");
  await view.fill(form, "max_agents", "-1");
  await view.fill(form, "escalate_after_minutes", "soon");
  await save("slug");
  await view.page.waitForSelector(`[id="field-${form}-max_agents-problem"]`);
  await view.page.waitForSelector(`[id="field-${form}-escalate_after_minutes-problem"]`);
  await view.fill(form, "max_agents", "7");
  await view.fill(form, "escalate_after_minutes", "30");
  await save("slug");
  await view.sees(".notices", "The board was changed.");
  expect(await readBoard()).toMatchObject({ slug: "haven", max_agents: 7, escalate_after_minutes: 30, gateway_id });
  await view.page.select(field(form, "gateway_id"), other.id);
  await save("slug");
  await view.sees(".card-panel [role='alert']", "Board has agents on its current gateway; move or delete them first.");
  await view.page.select(field(form, "gateway_id"), gateway_id);
  await view.fill(form, "escalate_after_minutes", "");
  await save("slug");
  await vi.waitFor(async () => expect((await readBoard()).escalate_after_minutes).toBeNull(), WAIT);
  await view.go(`#/boards/${quay.id}/settings`);
  await view.sees("h1", "Settings of Quay");
  await view.page.locator(field(`board.Board.${quay.id}`, "gateway_id")).wait();
  await view.page.select(field(`board.Board.${quay.id}`, "gateway_id"), other.id);
  await view.page.locator(`.card-panel:has(${field(`board.Board.${quay.id}`, "gateway_id")}) button.primary`).click();
  const readQuay = () => api.get("/api/v1/boards/{board_id}", { params: { path: { board_id: quay.id } } });
  await vi.waitFor(async () => expect((await readQuay()).gateway_id).toBe(other.id), WAIT);
  expect(view.errors).toEqual([]);
});

test("a person writes into the memory of a board, under a key and into the chat, and searches it", async () => {
  await view.go(`#/boards/${board_id}/settings`);
  const name = `memory.${board_id}`;
  const write = async (content: string, more: () => Promise<unknown>) => {
    await view.click("Write: Memory and chat");
    await view.fill(name, "content", content);
    await more();
    await view.click("Write it down");
    await view.hasNoDialog();
    await view.sees(".rows", content);
  };
  await view.click("Write: Memory and chat");
  await view.click("Write it down");
  await view.sees(`[id="field-${name}-content-problem"]`, "content must not be blank");
  await view.page.keyboard.press("Escape");
  await view.hasNoDialog();
  await write("High tide is at noon", () => view.fill(name, "key", "tide"));
  await view.sees(".rows code", "tide");
  await write("Who has the keys?", () => view.page.locator(field(name, "is_chat")).click());
  await view.sees(".rows .badge", "chat");
  await view.page.locator("::-p-aria(Search: Memory and chat)").fill("noon");
  await vi.waitFor(async () => expect(await view.text(".rows")).not.toContain("Who has the keys?"), WAIT);
  await view.sees(".rows", "High tide is at noon");
  const { items } = await api.get("/api/v1/boards/{board_id}/memory", { params });
  expect(items.map(({ content, is_chat }) => [content, is_chat])).toEqual([
    ["Who has the keys?", true],
    ["High tide is at noon", false],
  ]);
  expect(view.errors).toEqual([]);
});

test("a group of boards is changed, a heartbeat set for it reports agents without a host, and its boards stay when it is removed", async () => {
  const group = await api.post("/api/v1/board-groups", { body: { name: "Coast" } });
  await api.patch("/api/v1/boards/{board_id}", { params, body: { board_group_id: group.id } });
  await view.go("#/organization/groups");
  await view.sees(".rows", "1 board");
  await view.click("Change the group Coast");
  await view.fill(`group.${group.id}`, "name", "");
  await view.click("Save");
  await view.sees("dialog [role='alert']", "at least 1 character");
  await view.fill(`group.${group.id}`, "name", "Shore");
  await view.fill(`group.${group.id}`, "description", "Where ships land");
  await view.click("Save");
  await view.hasNoDialog();
  await view.sees(".rows", "Where ships land");
  await view.click("Heartbeat of Shore");
  await view.fill(`group.heartbeat.${group.id}`, "every", "often");
  await view.click("Set the heartbeat");
  await view.page.waitForSelector(`[id="field-group.heartbeat.${group.id}-every-problem"]`);
  await view.fill(`group.heartbeat.${group.id}`, "every", "20m");
  await view.click("Set the heartbeat");
  await view.hasNoDialog();
  await view.sees(".notices", "0 agents were changed, 1 without a host.");
  await view.click("Remove");
  await view.sees(".confirm", "The boards stay, without a group.");
  await view.click("Remove the group");
  await view.sees("main", "There are no groups.");
  expect((await readBoard()).board_group_id).toBeNull();
  expect(view.errors).toEqual([]);
});

test("a custom field is changed, and can be removed once no task has a value of it", async () => {
  const made = await api.post("/api/v1/organizations/me/custom-fields", { body: { field_key: "region", board_ids: [board_id] } });
  const { id: task_id } = await makeTask(api, board_id, "Sail", { custom_field_values: { region: "north" } });
  await view.go("#/organization/fields");
  await view.click("Change the field region");
  const name = `custom-field.${made.id}`;
  await view.fill(name, "label", "Region");
  await view.page.select(field(name, "field_type"), "integer");
  await view.click("Save");
  await view.sees("dialog [role='alert']", "Tasks have values that do not fit this change");
  await view.page.select(field(name, "field_type"), "text_long");
  await view.click("Save");
  await view.hasNoDialog();
  await view.sees(".rows", "Region");
  await view.sees(".rows .badge", "Long text");
  await view.click("Remove");
  await view.sees(".confirm", "Only a field without values on tasks can be removed.");
  await view.click("Remove the field");
  await view.sees(".notices", "Cannot delete a custom field definition while task values exist.");
  await api.delete("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } } });
  await view.click("Remove the field");
  await view.sees("main", "There are no custom fields.");
  expect(view.errors).toEqual([]);
});

test("the audit log can be limited to a range of days, and its export as CSV or JSON starts with the first of them", async () => {
  const downloads = temporaryFolder();
  const tools = await view.page.createCDPSession();
  await tools.send("Page.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
  const saved = (name: string) => vi.waitFor(() => readFileSync(path.join(downloads, name), "utf8"), WAIT);
  await view.go("#/organization/audit");
  await view.sees(".rows", "Board made");
  await view.click("Export as CSV");
  const lines = (await saved("audit.csv")).trim().split("\r\n");
  expect(lines[0]).toContain("seq,at,action");
  expect(lines.filter((line) => line.includes("board.create"))).toHaveLength(2);
  const date = (label: string) => view.page.locator(`::-p-aria(${label})`);
  await date("to").fill("2020-12-31");
  await view.sees("main", "No entry matches.");
  await view.click("Show all");
  await view.sees(".rows", "Board made");
  await date("From").fill("2099-01-01");
  await view.sees("main", "No entry matches.");
  await view.sees("main", "An export has every entry from the first day on");
  await view.click("Export as JSON");
  expect(await saved("audit.ndjson")).toBe("");
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("the last day of the audit log ends when the next day begins, also if the clock is set back on that day", async () => {
  const tools = await view.page.createCDPSession();
  await tools.send("Emulation.setTimezoneOverride", { timezoneId: "Europe/Berlin" });
  const ends: (string | null)[] = [];
  view.page.on("request", (request) => ends.push(new URL(request.url()).searchParams.get("until")));
  await view.go("#/organization/audit?until=2026-10-25");
  await vi.waitFor(() => expect(ends).toContain("2026-10-25T23:00:00.000Z"), WAIT);
  await tools.detach();
  expect(view.errors).toEqual([]);
});

test("a board is removed for good after its name is typed, and another board is shown", async () => {
  await view.go(`#/boards/${board_id}/settings`);
  await view.click("Remove the board");
  const typed = view.page.locator("::-p-aria(Type Harbour to go on)");
  await typed.fill("harbour");
  expect(await view.page.evaluate(`document.querySelector(".confirm .danger").disabled`)).toBe(true);
  await typed.fill("Harbour");
  await view.click("Remove for ever");
  await view.sees("h1", "Quay");
  expect((await api.get("/api/v1/boards")).items.map(({ id }) => id)).toEqual([quay.id]);
  expect(view.errors).toEqual([]);
});
