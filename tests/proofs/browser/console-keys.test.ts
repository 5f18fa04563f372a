import { createClient } from "@board/client/client";
import { expect, test, vi } from "vitest";
import { makeBoard, openConsole, setupConsole, WAIT } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const view = await openConsole(await browser.createBrowserContext(), service.link);

const field = (form: string, name: string) => `[id="field-${form}-${name}"]`;
const fill = (form: string, name: string, text: string) => view.page.locator(field(form, name)).fill(text);
const isClosed = () => vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
const shownSecret = async () => /bk_\w+/.exec(await view.text(".snippet pre"))![0];
const statusOf = async (token: string) =>
  (await fetch(`${service.url}/api/v1/boards`, { headers: { authorization: `Bearer ${token}` } })).status;

test.each([
  ["organization", "#/organization/keys"],
  ["own", "#/personal/keys"],
])(
  "a key (%s) is created, shown once, rotated and revoked, and a refused input is explained at its field",
  async (owner, address) => {
    const form = `key.new.${owner}`;
    await view.go(address);
    await view.sees("main", "There are no keys.");
    await view.click("New key");
    await view.click("Create key");
    await view.sees("dialog [role='alert']", "at least 1 character");
    await fill(form, "name", "Deployments");
    await view.page.locator(field(form, "expires_at")).fill("2001-01-01T10:00");
    await view.click("Create key");
    await view.sees(`[id="field-${form}-expires_at-problem"]`, "must be in the future");
    await view.page.locator(field(form, "expires_at")).fill("");
    await view.page.locator("dialog .choices input").click();
    await view.click("Create key");
    await isClosed();
    await view.sees(".snippet pre", "bk_");
    await view.sees(".rows", "Harbour");
    const first = await shownSecret();
    const made = await createClient({ url: service.url, token: first }).get("/api/v1/boards");
    expect(made.items.map(({ id }) => id)).toEqual([board_id]);

    await view.click("Rotate the key Deployments");
    const { items } = await api.get(owner === "own" ? "/api/v1/users/me/keys" : "/api/v1/keys");
    await fill(`key.rotate.${items[0]!.id}`, "overlap_hours", "1000");
    await view.click("Make the new key");
    await view.sees("dialog [role='alert']", "168");
    await fill(`key.rotate.${items[0]!.id}`, "overlap_hours", "0");
    await view.click("Make the new key");
    await isClosed();
    await vi.waitFor(async () => expect(await shownSecret()).not.toBe(first), WAIT);
    const second = await shownSecret();
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
    await view.click("Done");

    await view.page.reload();
    await view.sees(".rows", "Deployments");
    expect(await view.page.evaluate("document.body.innerHTML")).not.toContain(second);
    await view.click("Revoke");
    // The question focuses the safe choice, so a second press of Enter changes nothing.
    const focused = () => view.page.evaluate("document.activeElement.textContent.trim()");
    expect(await focused()).toBe("Cancel");
    await view.page.keyboard.press("Enter");
    expect(await focused()).toBe("Revoke");
    await view.click("Revoke");
    await view.click("Revoke the key");
    await view.sees("main", "There are no keys.");
    expect(await statusOf(second)).toBe(401);
    expect(view.errors).toEqual([]);
  },
);

test("the audit log can be filtered by action, which a reload keeps, and by actor, and the browser verifies its chain of hashes", async () => {
  await view.go("#/organization/audit");
  await view.sees(".rows", "Key revoked");
  await view.page.select('select[aria-label="Action"]', "key.rotated");
  await vi.waitFor(async () => expect(await view.text(".rows")).not.toContain("Key revoked"), WAIT);
  await view.sees(".rows", "Key rotated");
  expect(await view.page.evaluate("location.hash")).toContain("action=key.rotated");
  await view.page.reload();
  await view.sees(".rows", "Key rotated");
  await view.page.locator(".row summary").click();
  await view.sees(".row .details", "Hash");
  await view.page.locator(".row .small").click();
  await view.sees("main", "Only entries by one actor");
  await view.click("Show all");
  await view.sees(".rows", "Key revoked");
  await view.click("Verify");
  await view.sees("[role='status']", "whole");
  await view.sees(".rows", "Audit log exported");
  expect(view.errors).toEqual([]);
});

test("an entry of the audit log that was changed on its way to the browser is shown as changed", async () => {
  const other = await openConsole(await browser.createBrowserContext(), service.link);
  await other.sees("h1", "Harbour");
  await other.page.evaluateOnNewDocument(`
    const real = window.fetch;
    window.fetch = async (request) => {
      const answer = await real(request);
      if (!String(request.url ?? request).includes("/audit/export")) return answer;
      return new Response((await answer.text()).replace("Harbour", "Airport"), answer);
    };`);
  await other.page.reload();
  await other.go("#/organization/audit");
  await other.click("Verify");
  await other.sees("[role='alert']", "was changed");
  expect(await other.count(".badge.success")).toBe(0);
});

test("after a refused save and a reload, the profile form still has what was typed, and the corrected form is saved", async () => {
  const { id } = await api.get("/api/v1/users/me");
  const form = `profile.${id}`;
  await view.go("#/personal");
  await fill(form, "preferred_name", "Ann");
  await fill(form, "timezone", "Nowhere");
  await view.click("Save");
  await view.sees(`[id="field-${form}-timezone-problem"]`, "IANA");
  await view.page.reload();
  await view.page.locator(field(form, "timezone")).fill("Europe/Berlin");
  await view.click("Save");
  await view.sees(".notices", "Your profile was changed.");
  expect(await api.get("/api/v1/users/me")).toMatchObject({ preferred_name: "Ann", timezone: "Europe/Berlin" });
  expect(view.errors).toEqual([]);
});
