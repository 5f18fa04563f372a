import { expect, test } from "vitest";
import { makeBoard, openConsole, setupConsole } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);

test("the organization's page shows how much room webhook payloads take, next to the room that files take", async () => {
  const { id: board_id } = await makeBoard(api, "Post office");
  await view.go("#/organization/files");
  await view.sees("main", "All payloads together have 0 bytes of 1.0 GB.");
  const webhook = await api.post("/api/v1/boards/{board_id}/webhooks", {
    params: { path: { board_id } },
    body: { description: "Read the letters" },
  });
  expect((await fetch(service.url + webhook.endpoint_path, { method: "POST", body: "x".repeat(50_000) })).status).toBe(202);
  const { used } = await api.get("/api/v1/webhooks/payload-usage");
  expect(used).toBeGreaterThan(50_000);
  await view.page.reload();
  await view.sees("main", `All payloads together have ${(used / 1_024).toFixed(1)} KB of 1.0 GB.`);
  await view.sees("main", "There are no files.");
  expect([view.errors, view.outside]).toEqual([[], []]);
});
