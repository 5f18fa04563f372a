import { beforeEach, expect, test, vi } from "vitest";
import { field, makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";
import { closeNotices, type OfflineForm, sendTwice, toConnection } from "./offline.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const board = { params: { path: { board_id } } };
const { id: task_id } = await makeTask(api, board_id, "Paint the fence");
const tag = await api.post("/api/v1/tags", { body: { name: "Calm" } });
const group = await api.post("/api/v1/board-groups", { body: { name: "Shore" } });
await api.patch("/api/v1/boards/{board_id}", { ...board, body: { board_group_id: group.id } });
const custom = await api.post("/api/v1/organizations/me/custom-fields", { body: { field_key: "region", board_ids: [board_id] } });
const webhook = await api.post("/api/v1/boards/{board_id}/webhooks", { ...board, body: { description: "Read the orders" } });
const subscription = await api.post("/api/v1/subscriptions", { body: { url: "https://example.com/events" } });
const pier = await api.post("/api/v1/gateways", {
  body: { name: "Far away", url: "wss://agents.example", workspace_root: "/srv" },
});
const { id: questions } = await api.post("/api/v1/boards", {
  body: { name: "Questions", description: "Has no goal", gateway_id: pier.id },
});
const onboarding = await api.post("/api/v1/boards/{board_id}/onboarding/start", {
  params: { path: { board_id: questions } },
  body: {},
});
const [pack] = await api.get("/api/v1/skills/packs");
const me = await api.get("/api/v1/users/me");
const organization = await api.get("/api/v1/organizations/me");

const view = await openConsole(await browser.createBrowserContext(), service.link);
await view.sees("h1", "Harbour");
const cut = await toConnection(view.page);
beforeEach(() => cut(false));

const settings = `boards/${board_id}/settings`;
const story = `boards/${board_id}/tasks/${task_id}`;
const boardPath = `/api/v1/boards/${board_id}`;

/** The forms that need no host, each with the address at which the stored text is read. */
const FORMS: Record<string, OfflineForm & { path: string }> = {
  "a new board": {
    page: "start",
    field: field("board.new", "name"),
    text: "Quay",
    more: (of) => of.fill("board.new", "description", "Boats"),
    path: "/api/v1/boards",
  },
  "a new task": {
    page: `boards/${board_id}`,
    opener: "New task",
    field: field(`new-task.${board_id}`, "title"),
    text: "Repair the net",
    path: `${boardPath}/tasks`,
  },
  "a task": {
    page: story,
    opener: "Change",
    field: field(`task.${task_id}`, "description"),
    text: "In white",
    path: `${boardPath}/tasks/${task_id}`,
  },
  "the budget of a task": {
    page: story,
    opener: "Limit what this task may spend",
    field: '[id="field-limit.total_tokens"]',
    text: "4711",
    path: "/api/v1/budgets?scope=task",
  },
  "a saved view": {
    page: `boards/${board_id}?view=list`,
    opener: "Views",
    field: field(`view.${board_id}`, "name"),
    text: "Everything",
    path: `${boardPath}/saved-views`,
  },
  "the settings of a board": {
    page: settings,
    field: field(`board.Board.${board_id}`, "description"),
    text: "Ships come and go",
    path: boardPath,
  },
  "the goal of a board": {
    page: settings,
    field: field(`board.Goal.${board_id}`, "objective"),
    text: "No ship waits",
    path: boardPath,
  },
  "an answer to the main agent": {
    page: `boards/${questions}/onboarding`,
    field: field(`onboarding.${onboarding.id}`, "answer"),
    text: "Ten of them",
    path: `/api/v1/boards/${questions}/onboarding`,
  },
  "the memory of a board": {
    page: settings,
    opener: "Write: Memory and chat",
    field: field(`memory.${board_id}`, "content"),
    text: "High tide is at noon",
    path: `${boardPath}/memory`,
  },
  "the memory of a group": {
    page: settings,
    opener: "Write: Memory of the group",
    field: field(`memory.group-of.${board_id}`, "content"),
    text: "The sale begins in June",
    path: `/api/v1/board-groups/${group.id}/memory`,
  },
  "a new agent": {
    page: "agents",
    opener: "Connect an agent",
    field: field("agent.new", "name"),
    text: "Milo",
    path: "/api/v1/agents",
  },
  "a new webhook": {
    page: `webhooks/${board_id}`,
    opener: "New webhook",
    field: field(`webhook.new.${board_id}`, "description"),
    text: "Read the letters",
    path: `${boardPath}/webhooks`,
  },
  "a webhook": {
    page: `webhooks/${board_id}`,
    opener: "Change the webhook Read the orders",
    field: field(`webhook.${webhook.id}`, "description"),
    text: "Read the bills",
    path: `${boardPath}/webhooks`,
  },
  "a new budget": {
    page: "usage",
    opener: "New budget",
    field: '[id="field-limit.runs"]',
    text: "815",
    path: "/api/v1/budgets",
  },
  "an invite": {
    page: "organization/invites",
    opener: "Invite a person",
    field: field("invite", "invited_email"),
    text: "ann@example.com",
    path: "/api/v1/organizations/me/invites",
  },
  "a new tag": {
    page: "organization/tags",
    opener: "New tag",
    field: field("tag.new", "name"),
    text: "Urgent",
    path: "/api/v1/tags",
  },
  "a tag": {
    page: "organization/tags",
    opener: "Change the tag Calm",
    field: field(`tag.${tag.id}`, "description"),
    text: "Without haste",
    path: "/api/v1/tags",
  },
  "a new custom field": {
    page: "organization/fields",
    opener: "New field",
    field: field("custom-field.new", "field_key"),
    text: "customer",
    more: ({ page }) => page.locator("dialog .choices input").click(),
    path: "/api/v1/organizations/me/custom-fields",
  },
  "a custom field": {
    page: "organization/fields",
    opener: "Change the field region",
    field: field(`custom-field.${custom.id}`, "label"),
    text: "Part of the land",
    path: "/api/v1/organizations/me/custom-fields",
  },
  "a new group": {
    page: "organization/groups",
    opener: "New group",
    field: field("group.new", "name"),
    text: "Coast",
    path: "/api/v1/board-groups",
  },
  "a group": {
    page: "organization/groups",
    opener: "Change the group Shore",
    field: field(`group.${group.id}`, "description"),
    text: "Where ships land",
    path: "/api/v1/board-groups",
  },
  "a new subscription": {
    page: "organization/subscriptions",
    opener: "New subscription",
    field: field("subscription.new.organization", "url"),
    text: "https://example.com/bills",
    path: "/api/v1/subscriptions",
  },
  "a subscription": {
    page: "organization/subscriptions",
    opener: "Change the subscription https://example.com/events",
    field: field(`subscription.${subscription.id}`, "description"),
    text: "Bookkeeping",
    path: "/api/v1/subscriptions",
  },
  "a key of the organization": {
    page: "organization/keys",
    opener: "New key",
    field: field("key.new.organization", "name"),
    text: "Nightly",
    path: "/api/v1/keys",
  },
  "a personal key": {
    page: "personal/keys",
    opener: "New key",
    field: field("key.new.own", "name"),
    text: "Laptop",
    path: "/api/v1/users/me/keys",
  },
  "the name of the organization": {
    page: "organization/general",
    field: field(`organization.${organization.id}`, "name"),
    text: "Sea trade",
    path: "/api/v1/organizations/me",
  },
  "a new gateway": {
    page: "gateways",
    opener: "Register a gateway",
    field: field("gateway.new", "name"),
    text: "Pier",
    more: ({ page }) => page.select(field("gateway.new", "kind"), "pull"),
    path: "/api/v1/gateways",
  },
  "a new skill": {
    page: "skills/marketplace",
    opener: "Add a skill",
    field: field("skill.new", "source_url"),
    text: "https://github.com/acme/tools/tree/main/review",
    path: "/api/v1/skills/marketplace",
  },
  "a new pack": {
    page: "skills/packs",
    opener: "Add a pack",
    field: field("pack.new", "source_url"),
    text: "https://github.com/acme/tools",
    path: "/api/v1/skills/packs",
  },
  "a pack": {
    page: "skills/packs",
    opener: `Change the pack ${pack!.name}`,
    field: field(`pack.${pack!.id}`, "description"),
    text: "For every day",
    path: "/api/v1/skills/packs",
  },
  "the profile": {
    page: "personal/profile",
    field: field(`profile.${me.id}`, "notes"),
    text: "Likes short answers",
    path: "/api/v1/users/me",
  },
  "the times of notifications": {
    page: "personal/notifications",
    field: field("notifications.when", "digest_time"),
    text: "06:45",
    path: "/api/v1/users/me/notifications",
  },
};

test.each(Object.keys(FORMS))(
  "the form of %s that is sent without a connection keeps what was typed, says why, and can be sent again",
  async (name) => {
    const form = FORMS[name]!;
    await sendTwice(view, form, cut);
    const read = () => fetch(service.url + form.path, { headers: { authorization: `Bearer ${service.token}` } });
    expect(await (await read()).text()).toContain(form.text);
    expect(view.errors).toEqual([]);
  },
);

test("a comment that is sent without a connection stays in its field, and is sent once by the second try", async () => {
  await view.go(`#/${story}`);
  await view.page.locator(".story textarea").fill("On its way");
  await closeNotices(view);
  await cut(true);
  await view.click("Send");
  await view.sees(".notices [role='alert'], .story form [role='alert']", "The service does not answer.");
  expect(await view.page.evaluate('document.querySelector(".story textarea").value')).toBe("On its way");
  await cut(false);
  await closeNotices(view);
  await view.click("Send");
  await view.sees(".comments", "On its way");
  const params = { path: { board_id, task_id } };
  expect((await api.get("/api/v1/boards/{board_id}/tasks/{task_id}/comments", { params })).total).toBe(1);
});

test("a file whose sending is cut is named in a notice, and can be removed and sent again", async () => {
  const sent: string[] = [];
  view.page.on("request", (request) => void sent.push(`${request.method()} ${request.url()}`));
  await view.go(`#/${story}`);
  await view.sees(".story", "There are no files.");
  const choose = () =>
    view.page.evaluate(`(() => {
      const input = document.querySelector('.story input[type="file"]');
      const transfer = new DataTransfer();
      transfer.items.add(new File(["0123456789abcdef".repeat(65_536)], "map.txt", { type: "text/plain" }));
      input.files = transfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    })()`);
  await cut(false, 20_000);
  await choose();
  await vi.waitFor(() => expect(sent).toContainEqual(expect.stringMatching(/^PUT .*\/content$/)), WAIT);
  await cut(true);
  await view.sees(".notices", "“map.txt” was not added");
  await cut(false);
  await view.sees(".story", "is being sent");
  await view.click("Remove");
  await view.click("Remove the file");
  await view.sees(".story", "There are no files.");
  await choose();
  await view.sees(".story .rows", "1.0 MB");
  const params = { path: { board_id, task_id } };
  const { items } = await api.get("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", { params });
  expect(items.map(({ name, status }) => [name, status])).toEqual([["map.txt", "ready"]]);
});

test("what could not be read without a connection is read as soon as the connection is back, without a click", async () => {
  const pages = [
    [story, ".story .comments", "On its way"],
    [settings, "h1", "Settings of"],
    ["personal/profile", "main", "Full name"],
    ["organization/tags", ".rows", "Calm"],
    ["organization/audit", ".rows", "Board made"],
  ] as const;
  for (const [page, selector, text] of pages) {
    await view.go(`#/${page}`);
    await view.sees(selector, text);
    await view.go("#/start");
    await view.sees("h1", "Begin with a board");
    await cut(true);
    await view.go(`#/${page}`);
    await view.sees(".problem", "The service does not answer.");
    await view.sees(".offline", "The page goes on by itself when it runs again.");
    await cut(false);
    await view.sees(selector, text);
    const remarks = () => view.count(".problem, .offline");
    await vi.waitFor(async () => expect(await remarks(), page).toBe(0), WAIT);
  }
  expect(view.errors).toEqual([]);
});

test("a token that is entered without a connection stays in its field, and signs in with the second try", async () => {
  const page = await openConsole(await browser.createBrowserContext(), `${service.url}/`);
  const cutPage = await toConnection(page.page);
  await page.page.locator('input[type="password"]').fill(service.token);
  await cutPage(true);
  await page.click("Sign in");
  await page.sees('[role="alert"]', "The service does not answer.");
  await cutPage(false);
  await page.click("Sign in");
  await page.sees("h1", "Harbour");
  expect(page.errors).toEqual([]);
});

test("the form of a new organization that is sent without a connection can be sent again, and then opens it", async () => {
  await sendTwice(view, { page: "organization/general", field: field("organization.new", "name"), text: "Hills" }, cut);
  await view.sees("h1", "Begin with a board");
  expect([view.errors, view.outside]).toEqual([[], []]);
});
