import { type Client, createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { findings, inEveryLook } from "./axe.ts";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const DIFF = "--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";

const { browser, service } = await setupConsole();

/** Fills a board so that every view shows something. */
async function fill() {
  const { api } = service;
  const { id: board_id } = await makeBoard(api, "Decisions", { require_approval_for_done: true });
  const params = { path: { board_id } };
  const agent = await api.post("/api/v1/agents", { body: { name: "Milo", board_id } });
  const { id: first } = await makeTask(api, board_id, "Comes first", { assigned_agent_id: agent.id });
  const { id: task_id } = await makeTask(api, board_id, "Seen by axe", {
    priority: "high",
    due_at: "2030-01-01T00:00:00Z",
    description: "Text",
    depends_on_task_ids: [first],
  });
  await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/comments", {
    params: { path: { board_id, task_id } },
    body: { content: "Looks good" },
  });
  await api.post("/api/v1/boards/{board_id}/approvals", {
    params,
    body: { action_type: "refund.pay", task_id, description: "Asked by the customer" },
  });
  await api.post("/api/v1/boards/{board_id}/webhooks", { params, body: { description: "Read the orders" } });
  await api.post("/api/v1/budgets", { body: { scope: "task", scope_id: task_id, limit: { total_tokens: 1_000 } } });
  const milo = createClient({ url: service.url, agent_token: agent.auth_token! });
  const run = await work(milo, board_id, first);
  await milo.post("/api/v1/agent/boards/{board_id}/approvals", { params, body: { action_type: "Sail", description: "Asked" } });
  await api.post("/api/v1/tags", { body: { name: "Urgent" } });
  await api.post("/api/v1/board-groups", { body: { name: "Coast" } });
  await api.post("/api/v1/organizations/me/custom-fields", { body: { field_key: "region", board_ids: [board_id] } });
  const addFile = async (name: string, content_type: string, text: string) => {
    const body = { name, content_type, content: Buffer.from(text).toString("base64") };
    const path = { board_id, task_id };
    return (await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", { params: { path }, body })).id;
  };
  const files = {
    diff: await addFile("change.diff", "text/x-diff", DIFF),
    markdown: await addFile("report.md", "text/markdown", "# Report\n\n| A | B |\n|---|---|\n| 1 | 2 |\n"),
    csv: await addFile("sums.csv", "text/csv", "ship,crates\nAnna,12\n"),
  };
  return { board_id, task_id, run, agent_id: agent.id, gateway_id: agent.gateway_id, files };
}

/** Adds a run on another task, with its usage and a step of each kind, and returns its id. */
async function work(agent: Client, board_id: string, task_id: string): Promise<string> {
  await agent.post("/api/v1/agent/tasks/next", { body: { board_id } });
  const path = { board_id, task_id };
  const [run] = (await agent.get("/api/v1/boards/{board_id}/tasks/{task_id}/runs", { params: { path } })).items;
  const at = new Date().toISOString();
  const call = { at, kind: "tool_call", tool_call_id: "1", title: "Edit", tool_kind: "edit", status: "completed" } as const;
  await agent.post("/api/v1/agent/runs/{run_id}/steps", {
    params: { path: { run_id: run!.id } },
    body: {
      from: 0,
      steps: [
        { at, kind: "message", text: "Seen by axe" },
        { at, kind: "thought", text: "Perhaps" },
        { ...call, input: "a", output: "b", diff: { path: "a.ts", old: "one", new: "two" }, locations: [{ path: "a.ts" }] },
        { at, kind: "plan", entries: [{ content: "Read", priority: "high", status: "completed" }] },
        { at, kind: "permission", title: "Remove the folder", outcome: "rejected" },
        { at, kind: "usage", model: "sonnet", input_tokens: 10, output_tokens: 20, cost_usd: "0.01" },
        { at, kind: "log", stream: "stderr", text: "failed" },
      ],
    },
  });
  await agent.post("/api/v1/agent/usage", {
    body: { entries: [{ key: "1", run_id: run!.id, input_tokens: 900, cost_usd: "0.5" }] },
  });
  return `boards/${board_id}/tasks/${task_id}/runs/${run!.id}`;
}

type Shown = readonly [fragment: string, selector: string, text: string];

/** Opens each view in each look, and expects neither a finding nor an error of the page. */
async function expectNoFindings(views: readonly Shown[]): Promise<void> {
  const view = await openConsole(await browser.createBrowserContext(), service.link);
  const found: string[] = [];
  await inEveryLook(view.page, async (look) => {
    for (const [fragment, selector, text] of views) {
      await view.go(`#/${fragment}`);
      await view.sees(selector, text);
      await vi.waitFor(async () => expect(await view.count(".loading")).toBe(0), WAIT);
      await view.page.evaluate('document.querySelectorAll(".run-step summary").forEach((item) => item.click())');
      found.push(...(await findings(view.page, `${fragment} ${look}`)));
    }
  });
  expect(found).toEqual([]);
  expect([view.errors, view.outside]).toEqual([[], []]);
}

const { board_id, task_id, run, agent_id, gateway_id, files } = await fill();

/** Each group of views is a separate test, because a busy machine takes minutes for one group. */
const VIEWS: Record<string, Shown[]> = {
  "the daily work": [
    ["needs-you", "main", "refund.pay"],
    ["inbox", ".rows", "Milo asks for approval: Sail"],
    ["personal/notifications", ".rows", "An approval is requested"],
    ["overview", ".figures", "Throughput"],
    ["activity", ".feed", "Seen by axe"],
    ["agents", ".rows", "Milo"],
    [`agents/${agent_id}`, "h1", "Milo"],
    [`agents/${agent_id}/files`, ".markdown", "Milo"],
    ["webhooks", ".rows", "Read the orders"],
    // The sum of the reported entry and of the step with usage.
    ["usage", ".table", "$0.51"],
    ["start", "h1", "Begin with a board"],
  ],
  boards: [
    [`boards/${board_id}`, "h1", "Decisions"],
    [`boards/${board_id}?view=list`, ".task-list", "Seen by axe"],
    [`boards/${board_id}/tasks/${task_id}`, ".story .comments", "Looks good"],
    [`boards/${board_id}/tasks/${task_id}/files/${files.diff}`, ".patch-lines", "three"],
    [`boards/${board_id}/tasks/${task_id}/files/${files.markdown}`, ".story", "Report"],
    [`boards/${board_id}/tasks/${task_id}/files/${files.csv}`, ".story", "crates"],
    [run, ".run-steps", "Seen by axe"],
    [`boards/${board_id}/settings`, "h1", "Settings of Decisions"],
    [`boards/${board_id}/onboarding`, "main", "Nobody has asked for the goal yet."],
  ],
  "the organization": [
    ["organization/members", ".rows", "owner"],
    ["organization/invites", "main", "Nobody is invited."],
    ["organization/tags", ".rows", "Urgent"],
    ["organization/fields", ".rows", "region"],
    ["organization/files", ".rows", "change.diff"],
    ["organization/groups", ".rows", "Coast"],
    ["organization/slack", "main", "Connect Slack"],
    ["organization/budgets", ".budget", "Tokens"],
    ["organization/keys", "main", "There are no keys."],
    ["organization/audit", ".rows", "Board made"],
    ["personal/profile", "main", "Danger zone"],
    ["personal/keys", "main", "There are no keys."],
    ["organization/general", "main", "Danger zone"],
  ],
  "gateways and skills": [
    ["gateways", ".rows", "Agents"],
    [`gateways/${gateway_id}`, "h1", "Agents"],
    ["skills/marketplace", "main", "No skill was found."],
    ["skills/packs", "h2", "Packs"],
    ["skills/souls", ".rows", "engineer"],
    ["souls", ".rows", "engineer"],
  ],
};

test.each(Object.keys(VIEWS))(
  "axe finds no problem in any view of %s, in light and in dark, on a desktop and on a phone",
  async (group) => {
    await expectNoFindings(VIEWS[group]!);
    expect(VIEWS[group]).not.toEqual([]);
  },
);

test("axe finds no problem in the form of a budget, even after a refusal", async () => {
  const { page, ...view } = await openConsole(await browser.createBrowserContext(), service.link);
  const found: string[] = [];
  await view.go("#/usage");
  await view.click("New budget");
  await view.click("Create budget");
  await view.sees("dialog [role='alert']", "a budget needs a limit");
  await inEveryLook(page, async (look) => void found.push(...(await findings(page, `budget ${look}`))));
  expect(found).toEqual([]);
});

test("axe finds no problem in the dialogs", async () => {
  const { page, ...view } = await openConsole(await browser.createBrowserContext(), service.link);
  const found: string[] = [];
  await view.sees("h1", "Decisions");
  await inEveryLook(page, async (look) => {
    for (const [key, title] of [
      ["?", "Keyboard"],
      ["c", "New task"],
    ] as const) {
      await page.keyboard.press(key);
      await view.sees("dialog", title);
      found.push(...(await findings(page, `${title} ${look}`)));
      await page.keyboard.press("Escape");
      await vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
    }
  });
  expect(found).toEqual([]);
});

test("axe finds no problem in the sign-in page, even after a refusal", async () => {
  const { page, ...view } = await openConsole(await browser.createBrowserContext(), `${service.url}/`);
  const found: string[] = [];
  await inEveryLook(page, async (look) => {
    await page.reload();
    await view.sees("form", "Token");
    found.push(...(await findings(page, `sign in ${look}`)));
    await page.locator('input[type="password"]').fill("wrong");
    await view.click("Sign in");
    await view.sees('[role="alert"]', "The service does not accept this token.");
    found.push(...(await findings(page, `refused ${look}`)));
  });
  expect(found).toEqual([]);
  expect([view.errors, view.outside]).toEqual([[], []]);
});
