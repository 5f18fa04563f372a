import { createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { makeBoard, makeTask, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);

interface Saved {
  name: string;
  /** The texts of the picture, in their order. Null if it is not well-formed. */
  texts: string[] | null;
  bars: number;
  /** The number of bars that have no colour of their own and would get one only from a style sheet. */
  uncoloured: number;
}

/** A page without a policy, which may parse a file. */
const viewer = await (await browser.createBrowserContext()).newPage();

/** Presses a button that saves a picture, and reads the file. */
async function savePicture(button: string): Promise<Saved> {
  await view.page.evaluate(`{
    window.saved = undefined;
    URL.createObjectURL = (file) => { void file.text().then((text) => { window.saved = text; }); return "#/"; };
    HTMLAnchorElement.prototype.click = function () { window.savedName = this.download; };
    document.querySelector('${button}').click();
  }`);
  await vi.waitFor(async () => expect(await view.page.evaluate("typeof window.saved")).toBe("string"), WAIT);
  const [name, text] = (await view.page.evaluate("[window.savedName, window.saved]")) as [string, string];
  const shown = await viewer.evaluate(`(() => {
    const picture = new DOMParser().parseFromString(${JSON.stringify(text)}, "image/svg+xml");
    const isWell = picture.querySelector("parsererror") === null;
    const bars = [...picture.querySelectorAll("[data-bar] rect")];
    return {
      texts: isWell ? [...picture.querySelectorAll("text")].map((item) => item.textContent) : null,
      bars: bars.length,
      uncoloured: bars.filter((bar) => !/^rgb|^oklch|^color/.test(bar.getAttribute("fill") ?? "")).length,
    };
  })()`);
  return { name, ...(shown as Omit<Saved, "name">) };
}

const today = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" }).format(new Date());

test("a saved picture of a chart has its title, what it covers, its legend, its scale and the dates of its ends", async () => {
  const { id: board_id } = await makeBoard(api, "Harbour");
  await makeTask(api, board_id, "Paint the boat");
  await view.go("#/overview");
  await vi.waitFor(async () => expect(await view.count(".figures .chart")).toBe(4), WAIT);
  await view.page.select('select[aria-label="Boards"]', `board:${board_id}`);
  await view.sees('[data-figure="wip"] .chart-scale', "1");
  const picture = await savePicture('[data-figure="wip"] button.small');
  expect(picture.name).toBe("wip.svg");
  const [title, about, ...others] = picture.texts!;
  expect([title, about]).toEqual(["Work: tasks in each state", "Last 7 days, Harbour"]);
  expect(others.toSorted()).toEqual(expect.arrayContaining(["0", "1", "done", "in progress", "in review", "inbox", today]));
  expect(picture.bars).toBeGreaterThan(0);
  expect(picture.uncoloured).toBe(0);
});

test("usage and cost are on the overview, and the charts of the usage can be saved as pictures too", async () => {
  await view.go("#/overview");
  await view.sees("main", "No agent has reported usage in this time.");
  const { id: board_id } = await makeBoard(api, "Spenders");
  const { auth_token } = await api.post("/api/v1/agents", { body: { name: '<b>Milo</b> & "Sons"', board_id } });
  const agent = createClient({ url: service.url, agent_token: auth_token! });
  const { id: task_id } = await makeTask(api, board_id, "Count the beans");
  await agent.post("/api/v1/agent/tasks/next", { body: { board_id } });
  const entry = { key: "first", task_id, input_tokens: 1_200, cost_usd: "0.25" };
  await agent.post("/api/v1/agent/usage", { body: { entries: [entry] } });

  await view.page.reload();
  await view.sees(".tiles", "$0.25");
  await view.sees(".tiles", "1.2K");
  await view.page.select('select[aria-label="Boards"]', `board:${board_id}`);
  await view.sees(".tiles", "$0.25");
  await view.page.locator("::-p-aria(Usage and budgets)").click();
  await view.sees("h1", "Usage");
  await view.page.select('select[aria-label="Group by"]', "agent");
  await view.sees(".chart-names", "Milo");
  const byAgent = await savePicture(".chart button");
  expect(byAgent.name).toBe("cost-by-agent.svg");
  expect(byAgent.texts).toEqual(expect.arrayContaining(["Cost by agent", "work", "idle", '<b>Milo</b> & "Sons"', "$0.25"]));
  expect(byAgent.texts![1]).toContain(`to ${today}`);
  await view.page.select('select[aria-label="Group by"]', "day");
  await view.sees(".chart-scale", "$0.25");
  const byDay = await savePicture(".chart button");
  expect(byDay.texts).toEqual(expect.arrayContaining(["Cost by day", "All boards", "$0.25", "$0.00", today]));
  expect([byDay.uncoloured, view.errors, view.outside]).toEqual([0, [], []]);
});
