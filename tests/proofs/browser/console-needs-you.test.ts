import { createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, WAIT } from "./console-fixture.ts";
import { setupHost } from "./console-host.ts";

const { browser, host, service, gateway_id } = await setupHost();
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);

/** Makes tasks whose messages the host refuses for good, and waits until their jobs are given up. */
async function refuse(titles: string[]): Promise<void> {
  const { id: board_id } = await api.post("/api/v1/boards", {
    body: { name: "Harbour", description: "Ships come and go", gateway_id, max_agents: 5 },
  });
  const { id: agent_id } = await api.post("/api/v1/agents", { body: { name: "Nora", board_id } });
  const { items } = await api.get("/api/v1/agents");
  await vi.waitFor(() => expect(new Set(host.messages.map(({ session_key }) => session_key)).size).toBe(2), WAIT);
  // Agents that have checked in are not woken again.
  for (const { id } of items)
    await api.post("/api/v1/agents/{agent_id}/heartbeat", { params: { path: { agent_id: id } }, body: {} });
  host.failNext("chat.send", { message: "Nora is on leave" }, Infinity);
  for (const title of titles) await makeTask(api, board_id, title, { assigned_agent_id: agent_id });
  await vi.waitFor(async () => expect((await api.get("/api/v1/jobs", DEAD)).items).toHaveLength(titles.length), WAIT);
  host.faults.failures.length = 0;
}
const DEAD = { params: { query: { status: "dead" } } } as const;

test("jobs that were given up are queued again one by one or all at once, or deleted", async () => {
  const titles = ["Sail", "Row", "Moor", "Weigh"];
  await refuse(titles);
  await view.go("#/needs-you");
  await view.sees("h2", "Failed deliveries and jobs 4");
  await view.sees(".rows", "Nora is on leave");
  await view.sees(".rows", "1 attempt, Harbour, given up");
  await view.click("Redrive");
  await view.sees("h2", "Failed deliveries and jobs 3");
  await view.click("Delete");
  await view.sees(".confirm", "Its work will not be done.");
  await view.click("Delete the job");
  await view.sees("h2", "Failed deliveries and jobs 2");
  await view.click("Redrive all");
  await view.sees(".notices", "2 jobs are queued again.");
  await vi.waitFor(async () => expect(await view.text("h2")).not.toContain("Failed deliveries"), WAIT);
  const heard = () => titles.filter((title) => host.messages.some(({ message }) => message.includes(title)));
  await vi.waitFor(() => expect(heard()).toHaveLength(3), WAIT);
  expect((await api.get("/api/v1/jobs", DEAD)).items).toEqual([]);
  expect(view.errors).toEqual([]);
});

test("an agent that was never seen and has work is listed until it reports", async () => {
  const { id: board_id } = await makeBoard(api, "Quay");
  const { id, auth_token } = await api.post("/api/v1/agents", { body: { name: "Milo", board_id } });
  await makeTask(api, board_id, "Paint the hull", { assigned_agent_id: id, status: "in_progress" });
  await view.go("#/needs-you");
  await view.sees("h2", "Silent agents with work");
  await view.sees(".rows", "Milo, Quay: never seen");
  await createClient({ url: service.url, agent_token: auth_token! }).post("/api/v1/agent/heartbeat", { body: {} as never });
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("Milo"), WAIT);
  expect(view.errors).toEqual([]);
});

test("a gateway whose host does not answer is listed with the reason, until it answers", async () => {
  const probe = () => api.get("/api/v1/gateways/status", { params: { query: { gateway_id } } });
  await host.stop();
  await probe();
  await view.go("#/needs-you");
  await view.sees("h2", "Gateways that do not answer");
  await view.sees(".rows", "Pier");
  await view.sees(".rows", "connect ECONNREFUSED");
  await host.start();
  await probe();
  await vi.waitFor(async () => expect(await view.text("main")).not.toContain("Pier"), WAIT);
  expect([view.errors, view.outside]).toEqual([[], []]);
});
