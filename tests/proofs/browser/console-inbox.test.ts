import { createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { type BrowserSubscription, startPushService } from "../../support/push-service.ts";
import type { DevTools } from "./chromium.ts";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

interface Shown {
  title: string;
  body: string;
  actions: string[];
  data: unknown;
}

const { browser, service } = await setupConsole();
const push = await setup(startPushService());
const { api } = service;
const origin = new URL(service.url).origin;

const { id: board_id } = await makeBoard(api, "Harbour");
const agent = await api.post("/api/v1/agents", { body: { name: "Milo", board_id } });
const milo = createClient({ url: service.url, agent_token: agent.auth_token! });

const context = await browser.createBrowserContext();
await context.overridePermissions(origin, ["notifications"]);
const view = await openConsole(context, service.link);
const { page } = view;
const subscription = push.subscribe();
await stubPushManager(subscription);

/** Replaces the browser's push service, which cannot be reached, by a subscription at this test's push service. */
async function stubPushManager({ endpoint, keys }: BrowserSubscription): Promise<void> {
  const made = `{ endpoint: ${JSON.stringify(endpoint)}, toJSON: () => (${JSON.stringify({ endpoint, keys })}),
    unsubscribe: async () => { localStorage.removeItem("test.subscribed"); return true; } }`;
  await page.evaluateOnNewDocument(`
    Object.defineProperty(Notification, "permission", { get: () => "granted" });
    PushManager.prototype.getSubscription = async () => localStorage.getItem("test.subscribed") ? ${made} : null;
    PushManager.prototype.subscribe = async (options) => {
      localStorage.setItem("test.subscribed", JSON.stringify(options));
      return ${made};
    };`);
  // The link signs in first.
  await view.sees("nav", "Harbour");
  await page.reload();
  await view.sees("nav", "Harbour");
}

const ask = (body: object) =>
  milo.post("/api/v1/agent/boards/{board_id}/approvals", {
    params: { path: { board_id } },
    body: { action_type: "Deploy", description: "All tests pass", ...body },
  });

const readApproval = (approval_id: string) =>
  api.get("/api/v1/boards/{board_id}/approvals/{approval_id}", { params: { path: { board_id, approval_id } } });

/** A browser without a screen shows no notifications, so a list in the service worker takes their place. */
const SHOW = `globalThis.shown ??= (() => {
  const shown = [];
  ServiceWorkerRegistration.prototype.showNotification = async (title, { tag, body, actions = [], data }) => {
    const notification = { title, tag, body, actions, data, close: () => void shown.splice(shown.indexOf(notification), 1) };
    shown.find((other) => other.tag === tag)?.close();
    shown.push(notification);
  };
  return shown;
})()`;

const worker = async () => {
  const target = await context.waitForTarget((candidate) => candidate.type() === "service_worker");
  const script = (await target.worker())!;
  await script.evaluate(`void (${SHOW})`);
  return script;
};

const listShown = async () =>
  (await (
    await worker()
  ).evaluate(
    "shown.map(({ title, body, actions, data }) => ({ title, body, actions: actions.map((action) => action.title), data }))",
  )) as Shown[];

/** Waits for a message at the push service and gives it to the browser, as its push service would. */
async function deliver(part: string): Promise<Shown> {
  const isWanted = ({ message }: { message: { title: string } }) => message.title.includes(part);
  await vi.waitFor(() => expect(push.messagesOf(subscription).filter(isWanted)).toHaveLength(1), WAIT);
  const { message } = push.messagesOf(subscription).find(isWanted)!;
  await worker();
  const tools = await page.createCDPSession();
  const registrationId = await registrationOf(tools);
  await tools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data: JSON.stringify(message) });
  await tools.detach();
  return vi.waitFor(async () => {
    const found = (await listShown()).find(({ title }) => title.includes(part));
    expect(found).toBeDefined();
    return found!;
  }, WAIT);
}

async function registrationOf(tools: DevTools): Promise<string> {
  const found = new Promise<string>((resolve) =>
    tools.on("ServiceWorker.workerRegistrationUpdated", (data) => {
      const { registrations } = data as { registrations: { registrationId: string; isDeleted: boolean }[] };
      const known = registrations.find(({ isDeleted }) => !isDeleted);
      if (known) resolve(known.registrationId);
    }),
  );
  await tools.send("ServiceWorker.enable");
  return found;
}

/** Presses a button of a notification, or the notification itself. */
async function press(part: string, action = ""): Promise<void> {
  const script = `(async () => {
    const notification = shown.find(({ title }) => title.includes(${JSON.stringify(part)}));
    let done;
    const waitUntil = (work) => void (done = work);
    dispatchEvent(Object.assign(new Event("notificationclick"), { notification, action: ${JSON.stringify(action)}, waitUntil }));
    // Only a person's own click may move the focus to another window.
    await done.catch((error) => { if (error.name !== "InvalidAccessError") throw error; });
  })()`;
  await (await worker()).evaluate(script);
}

const title = () => page.evaluate("document.title") as Promise<string>;
const hasTitle = (text: string) => vi.waitFor(async () => expect(await title()).toBe(text), WAIT);

test("the console can be installed", async () => {
  const tools = await page.createCDPSession();
  const { errors, manifest } = (await tools.send("Page.getAppManifest")) as { errors: object[]; manifest?: object };
  expect(errors).toEqual([]);
  expect(manifest).toMatchObject({ display: "kStandalone", startUrl: `${origin}/` });
  const { installabilityErrors } = (await tools.send("Page.getInstallabilityErrors")) as { installabilityErrors: object[] };
  expect(installabilityErrors).toEqual([]);
  await tools.detach();
});

test("a person adds the browser as a channel, gets a test message, and is asked with buttons that decide at once", async () => {
  await view.go("#/personal/notifications");
  await view.sees("main", "You are notified only in the console.");
  await view.click("Notify me in this browser");
  await view.sees(".rows", "this browser");
  const { public_key } = await api.get("/api/v1/users/me/push");
  expect(JSON.parse((await page.evaluate(`localStorage.getItem("test.subscribed")`)) as string)).toEqual({
    userVisibleOnly: true,
    applicationServerKey: public_key,
  });
  await page.locator('[aria-label^="Send a test to"]').click();
  await view.sees('[aria-label="Notices"]', "The test message was sent.");
  await deliver("test");

  const { id } = await ask({});
  const asked = await deliver("Deploy");
  expect(asked).toMatchObject({ title: "Milo asks for approval: Deploy", actions: ["Approve", "Reject"] });
  expect(asked.body).toContain("Harbour");
  expect(JSON.stringify(asked)).not.toContain(service.token);
  await hasTitle("(1) Board");
  await press("Deploy", "0");
  await vi.waitFor(async () => expect((await readApproval(id)).status).toBe("approved"), WAIT);
  expect((await listShown()).map((shown) => shown.title)).toContain("Approved.");
});

test("a button that is pressed after the decision decides nothing and shows what was decided", async () => {
  const { id } = await ask({ action_type: "Refund" });
  await deliver("Refund");
  const path = { board_id, approval_id: id };
  await api.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", { params: { path }, body: { status: "rejected" } });
  await press("Refund", "0");
  expect((await readApproval(id)).status).toBe("rejected");
  expect((await listShown()).some((shown) => shown.title.startsWith("Already rejected"))).toBe(true);
});

test("a question has its options as buttons, and the answer is stored", async () => {
  const { id } = await ask({ action_type: "question", description: "Which port?", payload: { options: ["North", "South"] } });
  expect((await deliver("Which port?")).actions).toEqual(["North", "South"]);
  await press("Which port?", "1");
  expect(await readApproval(id)).toMatchObject({ status: "approved", payload: { answer: { option: "South" } } });
});

test("pressing a message opens its page, and a page that is already open navigates to the subject of the message", async () => {
  await ask({ action_type: "Sail" });
  await deliver("Sail");
  const script = await worker();
  await script.evaluate("clients.openWindow = async (url) => void (globalThis.opened = String(url))");
  await press("Sail");
  expect(await script.evaluate("globalThis.opened")).toMatch(new RegExp(`^${origin}/decide\\?token=`));

  const { id: task_id } = await makeTask(api, board_id, "Paint the hull", { assigned_agent_id: agent.id });
  await api.put("/api/v1/users/me/notifications", { body: { choices: { "task.blocked": { push: "now" } } } });
  await milo.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", {
    params: { path: { board_id, task_id } },
    body: { status: "in_progress" },
  });
  await milo.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", {
    params: { path: { board_id, task_id } },
    body: { status: "blocked", comment: "There is no paint" },
  });
  await deliver("Blocked: Paint the hull");
  await press("Blocked: Paint the hull");
  await view.sees(".story", "Paint the hull");
  // The link names the organization, and the page has followed it already.
  await vi.waitFor(() => expect(page.url()).toMatch(new RegExp(`#/boards/${board_id}/tasks/${task_id}$`)), WAIT);
});

test("a question is answered in the inbox, which marks it as read, and the title of the page counts unread entries", async () => {
  await api.post("/api/v1/users/me/inbox/read", { body: {} });
  await page.reload();
  await hasTitle("Board");
  const { id } = await ask({ action_type: "question", description: "Which colour?", payload: { options: ["Red", "Blue"] } });
  await view.go("#/inbox?show=unread");
  await view.sees(".rows", "Which colour?");
  await hasTitle("(1) Board");
  await view.sees('nav a[aria-current="page"]', "1 unread");
  await page.evaluate(`document.querySelector(".row details summary").click()`);
  await page.locator('.question input[type="radio"]').click();
  await view.click("Answer");
  await view.sees("main", "Everything is read.");
  expect(await readApproval(id)).toMatchObject({ status: "approved", payload: { answer: { option: "Red" } } });
  await hasTitle("Board");
  await page.select('main select[aria-label="Show"]', "");
  await view.sees(".rows", "Which colour?");
});

test("the choices and times of notifications are stored, and a refusal is shown at its field", async () => {
  await view.go("#/personal/notifications");
  await page.waitForSelector('select[aria-label="Browsers: A task is ready for review"]');
  await page.select('select[aria-label="Browsers: A task is ready for review"]', "off");
  await vi.waitFor(async () => {
    const { choices } = await api.get("/api/v1/users/me/notifications");
    expect(choices["task.submitted"]).toMatchObject({ push: "off", email: "digest" });
  }, WAIT);
  await page.evaluate(`document.querySelector("[id='field-notifications.when-is_quiet']").click()`);
  await page.waitForSelector("[id='field-notifications.when-quiet_hours.from']");
  await page.select("[id='field-notifications.when-time_zone']", "Europe/Berlin");
  await view.click("Save");
  await view.sees('[aria-label="Notices"]', "The times are stored.");
  expect(await api.get("/api/v1/users/me/notifications")).toMatchObject({
    quiet_hours: { from: "22:00", until: "07:00" },
    time_zone: "Europe/Berlin",
  });
  await page.evaluate(`{
    const field = document.querySelector("[id='field-notifications.when-digest_time']");
    field.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }`);
  // The form is sent by a script, because a notice covers its button.
  await page.evaluate(`document.querySelector("[id='field-notifications.when-digest_time']").form.requestSubmit()`);
  await view.sees("[id='field-notifications.when-digest_time-problem']", "time");
});

/** Slack cannot be reached from here, so a script in the page answers the requests that need it, and records what was sent. */
const ANSWER_FOR_SLACK = `{
  const { fetch } = globalThis;
  const at = new Date().toISOString();
  const json = (body, status = 200) => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
  let app = null;
  globalThis.sent = [];
  globalThis.fetch = async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/api/v1/users/me/slack" && app) return json({ command: "/board link abc.def", expires_at: at });
    if (pathname !== "/api/v1/organizations/me/slack") return fetch(request);
    if (request.method === "PUT") {
      sent.push(await request.json());
      app = { team_id: "T1", team_name: "Acme", last_error: "Slack asks to wait.", retry_at: at, created_at: at };
    }
    if (request.method === "DELETE") app = null;
    return app ? json(app) : request.method === "DELETE" ? json({ ok: true }) : json({ detail: "Not Found" }, 404);
  };
}`;

test("an admin connects Slack and disconnects it, and a person gets the command that links their Slack user", async () => {
  await view.go("#/personal/notifications");
  await view.click("Link your Slack user");
  await view.sees('[aria-label="Notices"]', "The organization has no Slack app.");
  await page.evaluate(ANSWER_FOR_SLACK);
  await view.go("#/organization/slack");
  await view.sees("main", "Connect Slack");
  await page.locator("[id='field-slack.app-bot_token']").fill("xoxb-1");
  await page.locator("[id='field-slack.app-signing_secret']").fill("0".repeat(32));
  await page.evaluate(`document.querySelector("[id='field-slack.app-bot_token']").form.requestSubmit()`);
  await view.sees(".rows", "Acme");
  await view.sees(".rows", "Slack asks to wait.");
  expect(await page.evaluate("globalThis.sent")).toEqual([{ bot_token: "xoxb-1", signing_secret: "0".repeat(32) }]);
  await view.go("#/personal/notifications");
  await view.click("Link your Slack user");
  await view.sees(".snippet", "/board link abc.def");
  await view.click("I have sent it");
  await view.sees("main", "Link your Slack user");
  await view.go("#/organization/slack");
  await view.click("Disconnect");
  await view.click("Disconnect Acme");
  await view.sees('[aria-label="Notices"]', "Slack is disconnected.");
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("Acme"), WAIT);
});

test("a link in a message switches to its organization and opens the linked page", async () => {
  const [home] = await api.get("/api/v1/organizations/me/list");
  await api.post("/api/v1/organizations", { body: { name: "Coast" } });
  await page.reload();
  await vi.waitFor(async () => expect(await view.text(".nav-boards")).toBe("New board"), WAIT);
  await view.go(`#/boards/${board_id}?organization=${home!.id}`);
  await view.sees("h1", "Harbour");
  await vi.waitFor(() => expect(page.url()).toBe(`${origin}/#/boards/${board_id}`), WAIT);
  const list = await api.get("/api/v1/organizations/me/list");
  expect(list.find(({ is_active }) => is_active)?.id).toBe(home!.id);
});

test("a person who signs out is not notified in the browser any more", async () => {
  expect((await api.get("/api/v1/users/me/channels")).map(({ type }) => type)).toEqual(["push"]);
  await view.click("Sign out");
  await view.sees("h1", "Board");
  expect(await api.get("/api/v1/users/me/channels")).toEqual([]);
  expect(
    await page.evaluate(`Promise.all([localStorage.getItem("test.subscribed"), localStorage.getItem("board.push"),
    navigator.serviceWorker.getRegistration("/").then((found) => found === undefined)])`),
  ).toEqual([null, null, true]);
  expect([view.errors, view.outside]).toEqual([[], []]);
});
