import { expect, test, vi } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { serve } from "../../support/serve.ts";
import { makeBoard, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const agent = await api.post("/api/v1/agents", { body: { name: "Nora", board_id } });
const view = await openConsole(await browser.createBrowserContext(), service.link);

/** The answer of the receiver. */
let status = 500;
const receiver = await setup(serve(() => new Response("seen", { status })));

const field = (form: string, name: string) => `[id="field-${form}-${name}"]`;
const fill = (form: string, name: string, text: string) => view.page.locator(field(form, name)).fill(text);
const isClosed = () => vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
const LIST = "/api/v1/boards/{board_id}/webhooks";
const params = { path: { board_id } };
const readWebhook = async () => (await api.get(LIST, { params })).items[0]!;

test("a webhook is made with all its fields, changed without losing its secret, and removed", async () => {
  const form = `webhook.new.${board_id}`;
  await view.go(`#/webhooks/${board_id}`);
  await view.click("New webhook");
  await view.click("Create webhook");
  await view.sees("dialog [role='alert']", "at least 1 character");
  await fill(form, "description", "Read the issues");
  await view.page.select(field(form, "source"), "github");
  await view.page.select(field(form, "agent_id"), agent.id);
  await fill(form, "event_types", "issues.*, push");
  await fill(form, "secret", "a secret of the sender");
  await view.click("Create webhook");
  await isClosed();
  await view.sees(".rows", "notifies of issues.*, push");
  const made = await readWebhook();
  expect(made).toMatchObject({ source: "github", agent_id: agent.id, event_types: ["issues.*", "push"], has_secret: true });

  await view.click("Change the webhook Read the issues");
  const change = `webhook.${made.id}`;
  await fill(change, "description", "Read every issue");
  await view.page.locator(field(change, "enabled")).click();
  await view.click("Save");
  await isClosed();
  await view.sees(".rows", "disabled");
  expect(await readWebhook()).toMatchObject({ description: "Read every issue", enabled: false, has_secret: true });

  await view.click("Change the webhook Read every issue");
  await fill(change, "secret", "another secret");
  await view.click("Save");
  await isClosed();
  await view.sees(".rows", "The previous secret stops working");
  await view.click("End it now");
  await vi.waitFor(async () => expect((await readWebhook()).previous_secret_until).toBe(null), WAIT);
  await view.click("Change the webhook Read every issue");
  await view.page.locator(field(change, "unsigned")).click();
  await view.click("Save");
  await isClosed();
  await vi.waitFor(async () => expect((await readWebhook()).has_secret).toBe(false), WAIT);

  await view.click("Remove");
  await view.click("Remove the webhook");
  await view.sees("main", "This board has no webhooks.");
  expect(view.errors).toEqual([]);
});

test("payloads that reached no agent are redelivered together", async () => {
  const other = await makeBoard(api, "Without agents");
  const webhook = await api.post(LIST, { params: { path: { board_id: other.id } }, body: { description: "Orders" } });
  for (const order of [1, 2])
    await fetch(service.url + webhook.endpoint_path, { method: "POST", body: JSON.stringify({ order }) });
  await view.go(`#/webhooks/${other.id}`);
  await view.page.locator(".row summary").click();
  await view.sees(".row", "no target");
  await view.click("Deliver payloads again");
  await view.page.select(field(`redeliver.${webhook.id}`, "status"), "no_target");
  await view.click("Deliver them again");
  await view.sees(".notices", "2 payloads are delivered again.");
  expect(view.errors).toEqual([]);
});

test.each([
  ["a board", () => `#/webhooks/${board_id}`, () => `subscription.new.${board_id}`],
  ["the organization", () => "#/organization/subscriptions", () => "subscription.new.organization"],
])("a subscription of %s is made, changed, given a new secret, followed and removed", async (_of, address, toForm) => {
  const form = toForm();
  await view.go(address());
  await view.sees("main", "There are no subscriptions.");
  await view.click("New subscription");
  await fill(form, "url", "ftp://example.com/");
  await view.click("Create subscription");
  await view.sees("dialog [role='alert']", "The url must be https, at a public host and port 443.");
  await fill(form, "url", `${receiver.url}/events`);
  await fill(form, "event_types", "task.*");
  await view.click("Create subscription");
  await isClosed();
  await view.sees(".snippet pre", "whsec_");
  const secret = /whsec_\S+/.exec(await view.text(".snippet pre"))![0];
  const [made] = (await api.get("/api/v1/subscriptions")).items;

  await view.click("New secret");
  await view.click("Make a new secret");
  await vi.waitFor(async () => expect(await view.text(".snippet pre")).not.toContain(secret), WAIT);
  await view.click("Done");
  await view.click(`Change the subscription ${receiver.url}/events`);
  await fill(`subscription.${made!.id}`, "description", "Mirror");
  await view.click("Save");
  await isClosed();
  await view.sees(".rows", "Mirror");

  status = 500;
  await api.post("/api/v1/boards/{board_id}/tasks", { params, body: { title: "Paint the pier" } });
  await view.page.locator(".row:has(.badge.success) summary").click();
  await view.sees(".row .row", "task.created");
  await view.sees(".row .row", "500");
  await view.page.locator(".row .row summary").click();
  await view.sees(".row .row", "The receiver answered 500");
  await view.sees(".payload", '"type":"task.created"');
  status = 200;
  await view.page.locator(".row .row .small").click();
  await view.sees(".row .row", "delivered");
  await view.click("Send failed ones again");
  await view.click("Send them again");
  await view.sees("dialog [role='alert']", "Choose a time.");
  await fill(`recover.${made!.id}`, "since", "2001-01-01T10:00");
  await view.click("Send them again");
  await view.sees(".notices", "0 events are sent again.");
  // A notice above the button would receive the click.
  await vi.waitFor(async () => expect(await view.count(".notice")).toBe(0), WAIT);
  await view.click("Switch off");
  await view.sees(".row", "Switch on");

  await view.click("Remove");
  await view.click("Remove the subscription");
  await view.sees("main", "There are no subscriptions.");
  expect(view.errors).toEqual([]);
});

test("the memory of a group is written and searched from its board and from the organization", async () => {
  const group = await api.post("/api/v1/board-groups", { body: { name: "Coast" } });
  await api.patch("/api/v1/boards/{board_id}", { params, body: { board_group_id: group.id } });
  await view.page.reload();
  await view.go(`#/boards/${board_id}/settings`);
  await view.click("Write: Memory of the group");
  await fill(`memory.group-of.${board_id}`, "content", "The tide is at noon");
  await view.click("Write it down");
  await isClosed();
  await view.sees("main", "The tide is at noon");
  await view.go("#/organization/groups");
  await view.page.locator(".row summary").click();
  await view.sees(".row", "The tide is at noon");
  await view.click("Write: Memory of Coast");
  await fill(`memory.group.${group.id}`, "content", "Boats need paint");
  await view.click("Write it down");
  await isClosed();
  await view.sees(".row", "Boats need paint");
  await view.page.locator(".row input[type='search']").fill("paint");
  await vi.waitFor(async () => expect(await view.text(".row")).not.toContain("The tide is at noon"), WAIT);
  expect(view.errors).toEqual([]);
});
