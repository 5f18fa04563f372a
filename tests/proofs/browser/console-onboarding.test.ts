import { createClient } from "@board/client/client";
import { expect, test } from "vitest";
import { COMPLETION, QUESTION } from "../../support/onboarding.ts";
import { field, openConsole } from "./console-fixture.ts";
import { setupHost } from "./console-host.ts";
import { sendTwice, toConnection } from "./offline.ts";

const { browser, service, gateway_id, hears, readAgentToken } = await setupHost();
const { api } = service;
const { id: board_id } = await api.post("/api/v1/boards", {
  body: { name: "Harbour", description: "Ships come and go", gateway_id, max_agents: 5 },
});
const params = { path: { board_id } };
const view = await openConsole(await browser.createBrowserContext(), service.link);
const main = createClient({ url: service.url, agent_token: await readAgentToken() });
const reply = (body: object) =>
  main.post("/api/v1/agent/boards/{board_id}/onboarding", { params, body: body as typeof QUESTION });
const readBoard = () => api.get("/api/v1/boards/{board_id}", { params });
const form = async (kind: "onboarding" | "goal") =>
  `${kind}.${(await api.get("/api/v1/boards/{board_id}/onboarding", { params })).id}`;

test("a person lets the main agent ask, and answers with an option or in own words", async () => {
  await view.sees("h1", "Harbour");
  await view.go(`#/boards/${board_id}/settings`);
  await view.page.locator("::-p-aria(Let the main agent ask for the goal)").click();
  await view.sees("main", "Nobody has asked for the goal yet.");
  await view.click("Begin the conversation");
  await view.sees(".comments", "The agent was asked to begin.");
  await hears("BOARD ONBOARDING REQUEST");
  await reply(QUESTION);
  await view.sees(".comments", "Who is it for?");
  await view.click("Customers");
  await view.sees(".comments", "The agent thinks about its next question.");
  await hears("Customers");
  await reply({ ...QUESTION, question: "How many?" });
  await view.sees(".comments", "How many?");
  await view.click("Answer");
  await view.sees("[role='alert']", "at least 1 character");
  await view.fill(await form("onboarding"), "answer", "Ten of them");
  await view.click("Answer");
  await view.sees(".comments", "Ten of them");
  await hears("Ten of them");
  expect(view.errors).toEqual([]);
});

test("the proposed goal is shown in the person's time zone, may be changed, and becomes the board's goal at the second try", async () => {
  const tools = await view.page.createCDPSession();
  await tools.send("Emulation.setTimezoneOverride", { timezoneId: "Asia/Tokyo" });
  await reply({ ...COMPLETION, target_date: "2030-06-30T12:00:00Z", lead_agent: { name: "Ada" } });
  await view.sees("main", "The proposed goal");
  const goal = await form("goal");
  expect(await view.value(goal, "target_date")).toBe("2030-06-30T21:00");
  expect(await view.value(goal, "objective")).toBe("Ship it");
  await view.fill(goal, "objective", "Ship it twice");
  await view.fill(goal, "success_metrics", "ten");
  await view.click("Confirm the goal");
  await view.sees(`[id="field-${goal}-success_metrics-problem"]`, "This is not JSON.");
  const page = `boards/${board_id}/onboarding`;
  await sendTwice(
    view,
    { page, field: field(goal, "success_metrics"), text: '{"customers": 20}' },
    await toConnection(view.page),
  );
  await view.sees("main", "This board has no tasks yet.");
  expect(await readBoard()).toMatchObject({
    board_type: "goal",
    objective: "Ship it twice",
    success_metrics: { customers: 20 },
    target_date: "2030-06-30T12:00:00.000Z",
    goal_confirmed: true,
  });
  const { items } = await api.get("/api/v1/agents", { params: { query: { board_id } } });
  expect(items.map(({ name, is_board_lead }) => [name, is_board_lead])).toEqual([["Ada", true]]);
  await view.go(`#/boards/${board_id}/onboarding`);
  await view.sees("main", "The goal is confirmed.");
  await view.sees("main", "Begin again");
  expect([view.errors, view.outside]).toEqual([[], []]);
});
