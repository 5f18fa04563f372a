import { createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const view = await openConsole(await browser.createBrowserContext(), service.link);

test("an empty service leads a person to a board, then to an agent, then to a test webhook", async () => {
  await view.sees("h1", "Begin with a board");
  await view.page.locator("::-p-aria(Name)").fill("Shop");
  await view.page.locator("::-p-aria(What it is for)").fill("Keep it running");
  await view.click("Make the board");
  await view.page.locator("::-p-aria(Name of the agent)").fill("Milo");
  await view.click("Create the agent");
  await view.sees(".steps", "claude mcp add --scope user --transport http board");
  const snippet = await view.text(".snippet pre");
  const agent_token = /X-Agent-Token: ([^"]+)"/.exec(snippet)![1]!;
  const { name } = await createClient({ url: service.url, agent_token }).post("/api/v1/agent/heartbeat", { body: {} as never });
  expect(name).toBe("Milo");
  await view.click("Send a test webhook");
  await view.sees(".steps", "Latest payloads");
  await view.sees(".steps", "Sent by the console");
  expect(view.errors).toEqual([]);
});

test("the view of agents can connect another agent and lists the agents with their presence", async () => {
  await view.go("#/agents");
  await view.sees("main", "Milo");
  await view.click("Connect an agent");
  await view.page.locator("dialog input").fill("Juno");
  await view.click("Create the agent");
  await view.sees("dialog", "Juno is ready");
  await view.page.keyboard.press("Escape");
  await view.sees("main .rows", "Juno");
  await view.sees("main .rows", "never seen");
  expect(view.errors).toEqual([]);
});

test("the view of webhooks creates a webhook, shows its payloads, and redelivers them", async () => {
  await view.go("#/webhooks");
  await view.click("New webhook");
  await view.page.locator("dialog textarea").fill("Read the orders");
  await view.click("Create webhook");
  await view.sees(".rows", "Read the orders");
  const [board] = (await service.api.get("/api/v1/boards")).items;
  const list = await service.api.get("/api/v1/boards/{board_id}/webhooks", { params: { path: { board_id: board!.id } } });
  const webhook = list.items.find(({ description }) => description === "Read the orders")!;
  await view.sees(".snippet pre", `${service.url}${webhook.endpoint_path}`);
  await view.page.locator(".row summary").click();
  await view.sees(".row", "Nothing was received yet.");
  await fetch(service.url + webhook.endpoint_path, { method: "POST", body: '{"order":4711}' });
  await view.click("Send a test");
  await view.sees(".notices", "The test payload was accepted.");
  await view.sees(".row .payload", "4711");
  await view.sees(".row", "no target");
  await view.page.locator(".row .row button").click();
  await view.sees(".row", "no target");

  const payload_params = { path: { board_id: board!.id, webhook_id: webhook.id } };
  const payloads = await service.api.get("/api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads", { params: payload_params });
  const { id: task_id } = await makeTask(service.api, board!.id, "Pack the order", {
    description: `Payload ${payloads.items[0]!.id}`,
  });
  await view.go(`#/boards/${board!.id}/tasks/${task_id}`);
  await view.sees(".story", "Came from a webhook");
  expect(view.errors).toEqual([]);
});

test("the view of what needs a person decides approvals and puts stopped work back", async () => {
  const { id: board_id } = await makeBoard(service.api, "Decisions", { require_approval_for_done: true });
  const { id: task_id } = await makeTask(service.api, board_id, "Refund", { status: "review" });
  const ask = (action_type: string) =>
    service.api.post("/api/v1/boards/{board_id}/approvals", {
      params: { path: { board_id } },
      body: { action_type, task_id, description: "Asked by the customer" },
    });
  await ask("refund.pay");
  await view.go("#/needs-you");
  await view.sees("main", "refund.pay");
  await view.click("Approve");
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("refund.pay"), WAIT);
  await ask("refund.again");
  await view.sees("main", "refund.again");
  await view.click("Reject");
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("refund.again"), WAIT);
  const { items } = await service.api.get("/api/v1/boards/{board_id}/approvals", { params: { path: { board_id } } });
  expect(items.map(({ action_type, status }) => [action_type, status])).toEqual([
    ["refund.again", "rejected"],
    ["refund.pay", "approved"],
  ]);
});

test("work in review on a board without a lead waits for people, who see which agent handed it in", async () => {
  const { api } = service;
  const addAgent = (board_id: string, name: string, is_board_lead = false) =>
    api.post("/api/v1/agents", { body: { name, board_id, is_board_lead } });
  const handIn = async (board_id: string, title: string, agent_token: string) => {
    const { id: task_id } = await makeTask(api, board_id, title);
    const agent = createClient({ url: service.url, agent_token });
    await agent.post("/api/v1/agent/tasks/next", { body: { board_id } });
    const params = { path: { board_id, task_id } };
    await agent.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", { params, body: { status: "review", comment: "Done" } });
    return task_id;
  };
  const led = await makeBoard(api, "Led");
  const lead = await addAgent(led.id, "Iris", true);
  await createClient({ url: service.url, agent_token: lead.auth_token! }).get("/api/v1/agent/inbox");
  const follower = await addAgent(led.id, "Fay");
  await handIn(led.id, "Reviewed by Iris", follower.auth_token!);
  const free = await makeBoard(api, "Leaderless");
  const worker = await addAgent(free.id, "Nora");
  const task_id = await handIn(free.id, "Sort the screws", worker.auth_token!);
  const assigned = await makeTask(api, free.id, "Oil the hinges", { status: "review", assigned_agent_id: worker.id });

  await view.go("#/needs-you");
  await view.sees("main", "Sort the screws");
  await view.sees("main", "Nora, Leaderless: handed in");
  await view.sees("main", "Oil the hinges");
  await view.sees("main", "A person, Decisions: handed in");
  expect(await view.text("main")).not.toContain("Reviewed by Iris");
  await view.go(`#/boards/${free.id}/tasks/${task_id}`);
  await view.sees(`[data-task="${task_id}"]`, "handed in by Nora");
  await view.sees(".story .properties", "Handed in byNora");

  // Done work waits for nobody. The other board has lost its lead, so its work now waits for people.
  await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", {
    params: { path: { board_id: free.id, task_id: assigned.id } },
    body: { status: "done" },
  });
  await api.delete("/api/v1/agents/{agent_id}", { params: { path: { agent_id: lead.id } } });
  await view.go("#/needs-you");
  await view.sees("main", "Fay, Led: handed in");
  expect(await view.text("main")).not.toContain("Oil the hinges");
  expect(view.errors).toEqual([]);
});

test("an expired lease is shown as expired, on its card and among what needs a person", async () => {
  const { api } = service;
  const { id: board_id } = await makeBoard(api, "Leased");
  const { auth_token } = await api.post("/api/v1/agents", { body: { name: "Otto", board_id } });
  const { id: task_id } = await makeTask(api, board_id, "Weigh the crates");
  await createClient({ url: service.url, agent_token: auth_token! }).post("/api/v1/agent/tasks/next", { body: { board_id } });
  await view.go(`#/boards/${board_id}`);
  await view.sees(`[data-task="${task_id}"]`, "lease ends");
  // The clock of this page is two hours ahead, so the page sees an expired lease that no process has ended.
  const later = await openConsole(await browser.createBrowserContext(), service.link);
  // Until the link's token is checked, a reload would lose it.
  await later.sees(".nav", "Needs you");
  await later.page.evaluateOnNewDocument("{ const now = Date.now; Date.now = () => now() + 7_200_000; }");
  await later.go(`#/boards/${board_id}`);
  await later.page.reload();
  await later.sees(`[data-task="${task_id}"]`, "lease expired");
  await later.go("#/needs-you");
  await later.sees("main", "Expired leases");
  await later.sees("main", "Otto, Leased: expired");
  expect([view.errors, later.errors]).toEqual([[], []]);
});

test("no view scrolls sideways on a phone, even with long names", async () => {
  const name = "Wholesale_and_returns_of_the_northern_region_".repeat(4).slice(0, 190);
  const { id: board_id } = await makeBoard(service.api, name);
  const { id: task_id } = await makeTask(service.api, board_id, `${"x".repeat(300)} ${name}`, { description: "y".repeat(500) });
  await service.api.post("/api/v1/agents", { body: { name, board_id } });
  await service.api.post("/api/v1/boards/{board_id}/approvals", {
    params: { path: { board_id } },
    body: { action_type: "z".repeat(90), task_id, description: "w".repeat(300) },
  });
  await service.api.post("/api/v1/budgets", { body: { scope: "board", scope_id: board_id, limit: { cost_usd: "100000.25" } } });
  await service.api.post("/api/v1/keys", { body: { name, access: "read" } });
  await service.api.post("/api/v1/subscriptions", { body: { url: `https://example.com/events/${"x".repeat(200)}` } });
  const widths = `(() => {
    const [page, bar, content] = ["html", ".nav-more", ".content"].map((selector) => document.querySelector(selector));
    const outside = [...document.querySelectorAll(".nav-foot *, .nav-links *")].filter((item) => item.getBoundingClientRect().right > 390);
    const isWhole = [bar, content].every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth);
    return [page.scrollWidth, isWhole, outside.map((item) => item.textContent)];
  })()`;
  await view.page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
  const seen: [string, string, string][] = [
    ["#/start", "h1", "board"],
    ["#/needs-you", "main", "zzz"],
    ["#/activity", ".feed", "xxx"],
    ["#/agents", "main", "Wholesale"],
    ["#/webhooks", "main", "Outgoing"],
    ["#/organization/subscriptions", "main", "https://example.com/events"],
    ["#/organization/keys", ".rows", "Wholesale"],
    ["#/organization/audit", ".rows", "Wholesale"],
    ["#/personal/profile", "main", "Danger zone"],
    ["#/personal/keys", "main", "There are no keys."],
    ["#/usage", ".budget", "Wholesale"],
    [`#/boards/${board_id}`, ".card", "xxx"],
    [`#/boards/${board_id}/tasks/${task_id}`, ".story", "yyy"],
  ];
  for (const [fragment, selector, part] of seen) {
    await view.go(fragment);
    await view.sees(selector, part);
    expect(await view.page.evaluate(widths), fragment).toEqual([390, true, []]);
  }
  await view.page.setViewport({ width: 1280, height: 800 });
  expect(view.errors).toEqual([]);
});

test("the feed shows what happens, by board", async () => {
  await view.go("#/activity");
  await view.sees(".feed", "Refund");
  const { id: board_id } = await makeBoard(service.api, "Quiet");
  await makeTask(service.api, board_id, "Whisper");
  await view.sees(".feed", "Task created: Whisper.");
  await view.sees(".filters", "Quiet");
  await view.page.select(".filters select", board_id);
  await vi.waitFor(async () => expect(await view.text(".feed")).not.toContain("Refund"), WAIT);
  await view.sees(".feed", "Task created: Whisper.");
});
