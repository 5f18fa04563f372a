import { expect, test, vi } from "vitest";
import { makeBoard, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);
const { id: board_id } = await makeBoard(api, "Harbour");
const agent = await api.post("/api/v1/agents", { body: { name: "Nora", board_id } });

/** Returns the selector of a form's field. It selects by attribute, because the name of a field may contain dots. */
const field = (form: string, name: string) => `[id="field-${form}-${name}"]`;
const fill = (form: string, name: string, text: string) => view.page.locator(field(form, name)).fill(text);
const isClosed = () => vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);

test("a tag is created, changed and removed, and a refusal is shown at its field", async () => {
  await view.go("#/organization/tags");
  await view.sees("main", "There are no tags.");
  await view.click("New tag");
  await view.click("Create tag");
  await view.sees("dialog [role='alert']", "at least 1 character");
  expect(await view.page.evaluate(`document.querySelector('${field("tag.new", "name")}').ariaInvalid`)).toBe("true");
  await fill("tag.new", "name", "Urgent");
  await view.click("Create tag");
  await view.sees(".rows", "Urgent");
  await isClosed();
  await view.click("Change the tag Urgent");
  const [tag] = (await api.get("/api/v1/tags")).items;
  await fill(`tag.${tag!.id}`, "name", "Very urgent");
  await view.click("Save");
  await view.sees(".rows", "Very urgent");
  await isClosed();
  await view.click("Remove");
  await view.click("Remove the tag");
  await view.sees("main", "There are no tags.");
  expect(view.errors).toEqual([]);
});

test("what was typed into a form survives a refusal and a reload", async () => {
  await view.go("#/organization/fields");
  await view.click("New field");
  await fill("custom-field.new", "field_key", "region");
  await fill("custom-field.new", "default_value", "north");
  await view.click("Create field");
  await view.sees("dialog [role='alert']", "This is not JSON");
  await view.page.reload();
  await view.click("New field");
  const kept = await view.page.evaluate(`document.querySelector('${field("custom-field.new", "field_key")}').value`);
  expect(kept).toBe("region");
  await fill("custom-field.new", "default_value", '"north"');
  await view.click("Create field");
  await view.sees("dialog [role='alert']", "at least 1 item");
  await view.page.locator("dialog .choices input").click();
  await view.click("Create field");
  await view.sees(".rows", "region");
  await isClosed();
  expect((await api.get("/api/v1/organizations/me/custom-fields"))[0]).toMatchObject({ default_value: "north" });
});

test("a person is invited with access to a board, and the invite can be withdrawn", async () => {
  await view.go("#/organization/invites");
  await view.click("Invite a person");
  await fill("invite", "invited_email", "not an address");
  await view.click("Invite");
  await view.sees("dialog [role='alert']", "email");
  await fill("invite", "invited_email", "ann@example.com");
  await view.page.locator('dialog fieldset:last-of-type .choices input[type="checkbox"]').click();
  await view.click("Invite");
  await view.sees("main", "Token of the invite");
  await view.sees(".rows", "ann@example.com");
  await view.click("Withdraw");
  await view.click("Withdraw the invite");
  await view.sees("main", "Nobody is invited.");
  expect((await api.get("/api/v1/organizations/me/invites")).total).toBe(0);
});

test("a board group is created, and a board joins it in its settings", async () => {
  await view.go("#/organization/groups");
  await view.click("New group");
  await fill("group.new", "name", "Coast");
  await view.click("Create group");
  await view.sees(".rows", "Coast");
  const [group] = (await api.get("/api/v1/board-groups")).items;
  await view.go(`#/boards/${board_id}/settings`);
  await view.sees("h1", "Settings of Harbour");
  await view.page.locator(field(`board.Board.${board_id}`, "name")).wait();
  await view.page.select(field(`board.Board.${board_id}`, "board_group_id"), group!.id);
  await view.page.locator('.card-panel:has([id*="board_group_id"]) button.primary').click();
  await view.sees(".notices", "The board was changed.");
  expect((await api.get("/api/v1/boards/{board_id}", { params: { path: { board_id } } })).board_group_id).toBe(group!.id);
});

test("a rule of a board is switched on and off, and the goal rule is explained in words", async () => {
  await view.go(`#/boards/${board_id}/settings`);
  await view.page.locator(field(`board.Rules.${board_id}`, "require_review_before_done")).click();
  await view.page.locator('.card-panel:has([id*="require_review_before_done"]) button.primary').click();
  const read = () => api.get("/api/v1/boards/{board_id}", { params: { path: { board_id } } });
  await vi.waitFor(async () => expect((await read()).require_review_before_done).toBe(true), WAIT);
  await view.page.select(field(`board.Goal.${board_id}`, "board_type"), "goal");
  await view.page.locator(field(`board.Goal.${board_id}`, "goal_confirmed")).click();
  await view.page.locator('.card-panel:has([id*="goal_confirmed"]) button.primary').click();
  await view.sees("[role='alert']", "Confirmed goal boards require objective and success_metrics");
});

test("a board is paused and resumed", async () => {
  await view.go(`#/boards/${board_id}/settings`);
  await view.sees("main", "goes on");
  await view.click("Pause");
  await view.sees("main", "paused");
  await view.click("Resume");
  await view.sees("main", "goes on");
  const { items } = await api.get("/api/v1/boards/{board_id}/memory", { params: { path: { board_id } } });
  expect(items.map(({ content }) => content)).toEqual(["/resume", "/pause"]);
});

test("a gateway is registered, and the refusal of an address is shown at its field", async () => {
  await view.go("#/gateways");
  await view.click("Register a gateway");
  await fill("gateway.new", "name", "Far away");
  await fill("gateway.new", "url", "nowhere");
  await view.click("Register");
  await view.sees("dialog [role='alert']", "url must be ws, wss, http or https with a host");
  await fill("gateway.new", "url", "ws://127.0.0.1:1");
  await view.click("Register");
  await isClosed();
  await view.sees(".rows", "Far away");
  const gateway = (await api.get("/api/v1/gateways")).items.find(({ name }) => name === "Far away");
  await view.go(`#/gateways/${gateway!.id}`);
  await view.sees("h1", "Far away");
  await view.click("Test the connection");
  await view.sees("[role='status'] .danger-text", "");
  await view.click("Sync");
  await view.click("Begin the sync");
  await isClosed();
  await view.sees("main", "0 agents synced");
  await view.page.reload();
  await view.sees("main", "0 agents synced");
  expect(view.errors).toEqual([]);
});

test("an agent is changed on its page, and text that is not JSON is refused at the field", async () => {
  await view.go("#/agents");
  await view.page.locator("::-p-aria(Nora)").click();
  await view.sees("h1", "Nora");
  await fill(`agent.${agent.id}`, "identity_profile", "engineer");
  await view.click("Save");
  await view.sees("[role='alert']", "This is not JSON");
  await fill(`agent.${agent.id}`, "identity_profile", '{"role": "Engineer"}');
  await fill(`agent.${agent.id}`, "every", "5m");
  await view.click("Save");
  await view.sees(".notices", "The agent was changed.");
  const read = await api.get("/api/v1/agents/{agent_id}", { params: { path: { agent_id: agent.id } } });
  expect(read).toMatchObject({ heartbeat_config: { every: "5m" }, identity_profile: { role: "Engineer" } });
});

test("a skill pack on a host that is not allowed is refused, and souls are found and read", async () => {
  await view.go("#/skills/packs");
  await view.click("Add a pack");
  await fill("pack.new", "source_url", "https://example.com/a/b");
  await view.click("Add the pack");
  await view.sees("dialog [role='alert']", "source_url host is not allowed");
  await view.page.keyboard.press("Escape");
  await isClosed();
  await view.go("#/skills/souls");
  await view.page.locator("::-p-aria(Search the souls)").fill("review");
  await view.click("Read code-reviewer");
  await view.sees("dialog .markdown", "review");
  await view.page.keyboard.press("Escape");
  await isClosed();
  expect(view.errors).toEqual([]);
});

test("the overview has a chart and a table of each figure, and works with the keyboard", async () => {
  await view.go("#/overview");
  await vi.waitFor(async () => expect(await view.count(".figures .chart")).toBe(4), WAIT);
  await view.page.evaluate(`document.querySelector(".figures [data-bar]").focus()`);
  await view.page.keyboard.press("End");
  await view.sees(".figures .chart-value", "0 tasks, before that 0 tasks");
  expect(await view.count(".figures .table table")).toBe(4);
  expect(view.errors).toEqual([]);
});

test("typing a few letters and Enter leads to a page, a board and an agent", async () => {
  const jump = async (letters: string) => {
    await view.page.keyboard.down("Control");
    await view.page.keyboard.press("k");
    await view.page.keyboard.up("Control");
    await view.page.locator('dialog input[role="combobox"]').fill(letters);
    await view.sees('[role="option"][aria-selected="true"]', letters);
    await view.page.keyboard.press("Enter");
    await isClosed();
  };
  await view.go("#/activity");
  await view.sees("h1", "Activity");
  await jump("Organization: tags");
  await view.sees("h2", "Tags");
  await jump("Nora");
  await view.sees("h1", "Nora");
  await jump("Harbour");
  await view.sees("h1", "Harbour");
  expect(view.errors).toEqual([]);
});
