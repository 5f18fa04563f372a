import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { setupWorld } from "../support/fixtures.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";

const folder = mkdtempSync(path.join(tmpdir(), "attached-"));
const world = await setupWorld({ environment: { WEBHOOK_BODY_STORAGE: path.join(folder, "storage") } });
const home = await openPullBoard(world, "home");
const server = await serve((request) => world.app.fetch(request));
const commandLine = await openCommandLine();
afterAll(async () => {
  await cleanUpPrograms();
  rmSync(folder, { recursive: true });
});

const asOwner = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: home.owner.token });
const asWorker = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: home.worker.token });

test("attach adds a file to a task, artifacts lists it, and artifact get saves it", async () => {
  const task_id = await home.addTask();
  const small = path.join(folder, "notes.md");
  writeFileSync(small, "# Notes\n");
  const large = path.join(folder, "large.bin");
  writeFileSync(large, randomBytes(300_000));
  const first = (await asOwner.run(["attach", task_id, small, "--json"])).json();
  const second = (await asWorker.run(["attach", task_id, large, "--json"])).json();
  expect([first, second]).toMatchObject([
    { name: "notes.md", content_type: "text/markdown", status: "ready" },
    { name: "large.bin", size: 300_000, status: "ready", agent_id: home.worker.id },
  ]);
  expect((await asOwner.run(["artifacts", task_id])).stdout).toMatch(/notes\.md +text\/markdown[^]*large\.bin/);
  const saved = path.join(folder, "saved.bin");
  await asWorker.run(["artifact", "get", second.id, "-o", saved]);
  expect(readFileSync(saved).equals(readFileSync(large))).toBe(true);
  expect((await asOwner.run(["artifact", "get", first.id])).stdout).toBe("# Notes\n");
});

test("the artifact commands report a missing file and an unknown id", async () => {
  const task_id = await home.addTask();
  expect((await asOwner.run(["attach", task_id, path.join(folder, "none")])).stderr).toContain("cannot be read: ENOENT");
  const unknown = await asOwner.run(["artifact", "get", crypto.randomUUID(), "-o", path.join(folder, "none")]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("Not Found")]);
});
