/** The page of an agent: one without a host, and one on a fake OpenClaw host. */
import { expect, test, vi } from "vitest";
import { startFakeGateway } from "../../support/fake-gateway/server.ts";
import { setup } from "../../support/fixtures.ts";
import { dataFolder } from "../../support/program.ts";
import { filesOf, tokensOf } from "../../support/provisioning.ts";
import { findings, inEveryLook } from "./axe.ts";
import { makeBoard, openConsole, setupBrowser, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const HOST_TOKEN = "test-token-123";
const ITEM = "/api/v1/agents/{agent_id}";

const browser = await setupBrowser();
const host = await setup(startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" }));
const [folder, port] = [dataFolder(), await freePort()];
let service = await startService(folder, port);
const { api, link } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const { id: other_board_id } = await makeBoard(api, "Pier");
const view = await openConsole(await browser.createBrowserContext(), link);
await view.sees("h1", "Harbour");

const addAgent = (name: string, board = board_id) => api.post("/api/v1/agents", { body: { name, board_id: board } });
const read = (agent_id: string) => api.get(ITEM, { params: { path: { agent_id } } });
const field = (form: string, name: string) => `[id="field-${form}-${name}"]`;
const fill = (form: string, name: string, text: string) => view.page.locator(field(form, name)).fill(text);
const isRefused = (form: string, name: string) =>
  vi.waitFor(
    async () => expect(await view.page.evaluate(`document.querySelector('${field(form, name)}').ariaInvalid`)).toBe("true"),
    WAIT,
  );
const isClosed = () => vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
/** A notice above a button would receive the click. */
const withoutNotices = () => vi.waitFor(async () => expect(await view.count(".notice")).toBe(0), WAIT);
const save = async () => {
  await withoutNotices();
  await view.click("Save");
};
const open = async ({ id, name }: { id: string; name: string }, tab = "") => {
  await view.go(`#/agents/${id}${tab}`);
  await view.sees("h1", name);
};
const statusOf = async (agent_token: string): Promise<number> =>
  (await fetch(`${service.url}/api/v1/agent/healthz`, { headers: { "X-Agent-Token": agent_token } })).status;

test("the role of an agent has its own field, and the rest of its identity stays as it is", async () => {
  const agent = await addAgent("Nora");
  await api.patch(ITEM, { params: { path: { agent_id: agent.id } }, body: { identity_profile: { emoji: ":anchor:" } } });
  await open(agent);
  await fill(`agent.${agent.id}`, "role", "Pilot");
  await save();
  await view.sees(".notices", "The agent was changed.");
  expect((await read(agent.id)).identity_profile).toEqual({ role: "Pilot", emoji: ":anchor:" });
  // The field has the stored value once the agent was read again.
  const role = () => view.page.evaluate(`document.querySelector('${field(`agent.${agent.id}`, "role")}').value`);
  await vi.waitFor(async () => expect([await role(), await view.count(".form .plain")]).toEqual(["Pilot", 0]), WAIT);
  await fill(`agent.${agent.id}`, "role", " ");
  await save();
  await vi.waitFor(async () => expect((await read(agent.id)).identity_profile).toEqual({ emoji: ":anchor:" }), WAIT);
  expect(view.errors).toEqual([]);
});

test("a refusal of the service is shown at the field of the agent's form, and what was typed stays", async () => {
  const agent = await addAgent("Olaf");
  const form = `agent.${agent.id}`;
  await open(agent);
  await fill(form, "name", " ");
  await fill(form, "requests_per_minute", "0");
  await save();
  await isRefused(form, "name");
  await isRefused(form, "requests_per_minute");
  await fill(form, "identity_profile", '["pilot"]');
  await save();
  await isRefused(form, "identity_profile");
  expect((await read(agent.id)).name).toBe("Olaf");
  await view.click("Start over");
  expect(view.errors).toEqual([]);
});

test("the form of an agent keeps what was typed while the service does not answer, and saves it afterwards", async () => {
  const agent = await addAgent("Pia");
  const form = `agent.${agent.id}`;
  await open(agent);
  await fill(form, "role", "Lighthouse keeper");
  await service.program.stop("SIGKILL");
  await save();
  await view.sees(".form [role='alert']", "The service does not answer");
  service = await startService(folder, port);
  await vi.waitFor(async () => expect(await view.count(".offline")).toBe(0), WAIT);
  expect(await view.page.evaluate(`document.querySelector('${field(form, "role")}').value`)).toBe("Lighthouse keeper");
  await save();
  await view.sees(".notices", "The agent was changed.");
  expect((await read(agent.id)).identity_profile).toEqual({ role: "Lighthouse keeper" });
  expect(view.errors).toEqual([]);
});

test("the instructions of an agent without a host are shown as the agent reads them, also by the keyboard and without formatting", async () => {
  const agent = await addAgent("Quinn");
  await open(agent);
  await view.page.locator('::-p-aria([name="Instructions"][role="link"])').click();
  await view.sees(".markdown", "Quinn");
  await view.click("As it was written");
  const text = await view.text(".file-text");
  const shown = await fetch(`${service.url}/api/v1/agent/instructions`, { headers: { "X-Agent-Token": agent.auth_token! } });
  expect(text).toBe(await shown.text());
  await view.page.focus("summary");
  await view.page.keyboard.press("Enter");
  await vi.waitFor(async () => expect(await view.count(".file-text")).toBe(0), WAIT);
  await view.page.keyboard.press("Enter");
  await view.sees(".markdown", "Quinn");
  expect(view.errors).toEqual([]);
});

test("a new token of an agent is shown once, after a question; the old token stops and the new one works", async () => {
  const agent = await addAgent("Rosa", other_board_id);
  await open(agent);
  await view.click("New token");
  await view.sees(".confirm", "The old token stops at once");
  await view.click("Cancel");
  expect(await statusOf(agent.auth_token!)).toBe(200);
  await view.click("New token");
  await view.click("Replace the token");
  await view.sees(".snippet", "Token of Rosa");
  const token = await view.text(".snippet pre");
  expect([await statusOf(agent.auth_token!), await statusOf(token)]).toEqual([401, 200]);
  await view.page.reload();
  await view.sees("main", "Shown once, when it is made.");
  expect(await view.text("main")).not.toContain(token);
  expect(view.errors).toEqual([]);
});

test("what an agent may spend is limited on its page", async () => {
  const agent = await addAgent("Sven", other_board_id);
  await open(agent);
  await view.click("Limit what this agent may spend");
  await view.click("Create budget");
  await view.sees("dialog [role='alert']", "a budget needs a limit");
  await view.page.locator('[id="field-limit.runs"]').fill("7");
  await view.click("Create budget");
  await isClosed();
  await view.sees(".budget", "0 of 7");
  const { items } = await api.get("/api/v1/budgets", { params: { query: { scope: "agent", scope_id: agent.id } } });
  expect(items).toMatchObject([{ limit: { runs: 7 }, period: "month" }]);
  expect(view.errors).toEqual([]);
});

test("an agent is moved to another board and removed on its page", async () => {
  const agent = await addAgent("Tara");
  await open(agent);
  await view.click("Move");
  await view.page.select(field(`agent.move.${agent.id}`, "board_id"), other_board_id);
  await view.click("Move the agent");
  await isClosed();
  await view.sees(".details", "Pier");
  expect((await read(agent.id)).board_id).toBe(other_board_id);
  await view.click("Remove");
  await view.click("Remove the agent");
  await view.sees("h1", "Agents");
  expect(await statusOf(agent.auth_token!)).toBe(401);
  expect(view.errors).toEqual([]);
});

test("an agent on a host is woken, sent a message and given a new token on its page, and shows its files", async () => {
  const gateway = await api.post("/api/v1/gateways", {
    body: { name: "Dock", url: host.url, workspace_root: "/srv/agents", token: HOST_TOKEN },
  });
  const board = await api.post("/api/v1/boards", { body: { name: "Yard", description: "Ships", gateway_id: gateway.id } });
  const agent = await addAgent("Umar", board.id);
  const messages = () => host.messages.filter(({ session_key }) => session_key === agent.openclaw_session_id);
  await vi.waitFor(() => expect(messages()).toHaveLength(1), WAIT);
  await open(agent);

  await view.click("Write files and wake");
  await view.sees(".notices", "Its files are written again, and it is woken.");
  await vi.waitFor(() => expect(messages()).toHaveLength(2), WAIT);
  expect(messages()[1]!.message).toContain("updated");

  await view.click("History and message");
  await view.sees("dialog ol.prose", "Umar");
  await fill(`session.${agent.openclaw_session_id}`, "content", "Paint the hull");
  await view.click("Send");
  await view.sees("dialog ol.prose", "Paint the hull");
  expect(messages().at(-1)!.message).toBe("Paint the hull");
  await view.page.keyboard.press("Escape");
  await isClosed();
  await withoutNotices();

  await view.click("New token");
  await view.sees(".confirm", "Its host gets the new one");
  await view.click("Replace the token");
  await view.sees(".notices", "The old token has stopped.");
  expect([await statusOf(agent.auth_token!), await view.count(".snippet")]).toEqual([401, 0]);
  const tokenOnHost = () => tokensOf(host, agent)[0]?.[1] ?? "";
  await vi.waitFor(() => expect(tokenOnHost()).not.toBe(agent.auth_token), WAIT);
  await vi.waitFor(async () => expect(await statusOf(tokenOnHost())).toBe(200), WAIT);

  await view.page.locator('::-p-aria([name="Files"][role="link"])').click();
  await view.sees("main", "the agent keeps it");
  expect(await view.text("summary strong")).toBe(
    ["TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"].join("\n"),
  );
  await view.page.evaluate('document.querySelectorAll("summary").forEach((item) => item.click())');
  await view.sees("main", "AUTH_TOKEN=(hidden)");
  expect(await view.text("main")).not.toContain(tokenOnHost());
  expect(filesOf(host, agent).get("IDENTITY.md")).toContain("Umar");
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("axe finds no problem in the parts of an agent's page, with its questions, its new token and its open files", async () => {
  const agent = await addAgent("Vera", other_board_id);
  const found: string[] = [];
  const inspect = (what: string) =>
    inEveryLook(view.page, async (look) => void found.push(...(await findings(view.page, `${what} ${look}`))));
  await open(agent);
  await view.sees("main", "It has not run yet.");
  await view.click("New token");
  await inspect("question");
  await view.click("Replace the token");
  await view.sees(".snippet", "Token of Vera");
  await inspect("token");
  await view.go(`#/agents/${agent.id}/files`);
  await view.sees(".markdown", "Vera");
  await inspect("instructions");
  await view.click("As it was written");
  await inspect("instructions as written");
  expect(found).toEqual([]);
});
