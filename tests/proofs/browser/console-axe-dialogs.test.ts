import { expect, test } from "vitest";
import { findings, inEveryLook } from "./axe.ts";
import { type Console, field, makeBoard, makeTask, openConsole, setupConsole } from "./console-fixture.ts";

const { browser, service } = await setupConsole();
const { api } = service;
const { id: board_id } = await makeBoard(api, "Harbour");
const { id: task_id } = await makeTask(api, board_id, "Set sail", { status: "review" });
await api.post("/api/v1/board-groups", { body: { name: "Coast" } });
await api.post("/api/v1/keys", { body: { name: "Nightly", access: "read" } });
const { items: members } = await api.get("/api/v1/organizations/me/members");
const self = members[0]!;

const view = await openConsole(await browser.createBrowserContext(), service.link);
await view.sees("h1", "Harbour");

interface DialogCase {
  page: string;
  /** The button that opens the dialog. Without it, the dialog opens by its keys. */
  opener?: string;
  /** Causes a refusal, for a form that would be accepted if it were sent as it opens. */
  refuse?: (of: Console) => Promise<unknown>;
  /** Whether nothing can be sent. */
  isRead?: true;
}

const openJump = async ({ page }: Console) => {
  await page.keyboard.down("Control");
  await page.keyboard.press("k");
  await page.keyboard.up("Control");
};

const DIALOGS: Record<string, DialogCase> = {
  "a new tag": { page: "organization/tags", opener: "New tag" },
  "a new group": { page: "organization/groups", opener: "New group" },
  "the heartbeat of a group": {
    page: "organization/groups",
    opener: "Heartbeat of Coast",
    refuse: ({ page }) => page.locator('[id$="-every"]').fill("often"),
  },
  "a new custom field": { page: "organization/fields", opener: "New field" },
  "an invite": { page: "organization/invites", opener: "Invite a person" },
  "the rights of a member": {
    page: "organization/members",
    opener: `Change the rights of ${self.user?.preferred_name ?? self.user?.name ?? self.user?.email}`,
    refuse: ({ page }) => page.select(field(`member.${self.id}`, "role"), "member"),
  },
  "a new key": { page: "organization/keys", opener: "New key" },
  "the rotation of a key": {
    page: "organization/keys",
    opener: "Rotate the key Nightly",
    refuse: ({ page }) => page.locator('[id$="-overlap_hours"]').fill("many"),
  },
  "a new gateway": { page: "gateways", opener: "Register a gateway" },
  "a new pack": { page: "skills/packs", opener: "Add a pack" },
  "a new skill": { page: "skills/marketplace", opener: "Add a skill" },
  "a soul": { page: "skills/souls", opener: "Read engineer", isRead: true },
  "a new agent": { page: "agents", opener: "Connect an agent" },
  "a saved view": { page: `boards/${board_id}?view=list`, opener: "Views" },
  "the change of a task": {
    page: `boards/${board_id}/tasks/${task_id}`,
    opener: "Change",
    refuse: (of) => of.fill(`task.${task_id}`, "title", ""),
  },
  "sending a task back": { page: `boards/${board_id}/tasks/${task_id}`, opener: "Send back" },
  "the memory of a board": { page: `boards/${board_id}/settings`, opener: "Write: Memory and chat" },
  "the search for a place": {
    page: "activity",
    refuse: ({ page }) => page.locator('dialog input[role="combobox"]').fill("no such place"),
    isRead: true,
  },
};

test.each(Object.keys(DIALOGS))("axe finds no problem in the dialog of %s, as it opens and after a refusal", async (name) => {
  const { page, opener, refuse, isRead } = DIALOGS[name]!;
  const inspect = async (state: string) => {
    const found: string[] = [];
    await inEveryLook(view.page, async (look) => void found.push(...(await findings(view.page, `${state} ${look}`))));
    return found;
  };
  await view.page.setViewport({ width: 1280, height: 800 });
  await view.go(`#/${page}`);
  await (opener ? view.click(opener) : openJump(view));
  await view.page.waitForSelector("dialog input, dialog textarea, dialog .prose");
  const found = await inspect("open");
  await refuse?.(view);
  if (!isRead) {
    await view.page.locator('dialog button[type="submit"]').click();
    await view.page.waitForSelector("dialog [role='alert']");
  }
  found.push(...(await inspect("refused")));
  expect(found).toEqual([]);
  await view.page.keyboard.press("Escape");
  await view.hasNoDialog();
  expect(view.errors).toEqual([]);
});
