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
/** Handles the next uploads of content in place of the service. */
const failures: (() => Response)[] = [];
const server = await serve((request) => {
  const fail = request.method === "PUT" ? failures.shift() : undefined;
  return fail ? fail() : world.app.fetch(request);
});
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

test("attach sends the content again after a lost connection and while the service is overloaded", async () => {
  const task_id = await home.addTask();
  const large = path.join(folder, "video.bin");
  writeFileSync(large, randomBytes(300_000));
  const overloaded = () => Response.json({ detail: "Later" }, { status: 503, headers: { "Retry-After": "0" } });
  // Nothing listens at the address, so this upload ends without an answer.
  const lost = () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:2/" } });
  failures.push(overloaded, lost);
  const { code, stderr, stdout } = await asOwner.run(["attach", task_id, large, "--json"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ name: "video.bin", size: 300_000, status: "ready" });
  expect(failures).toEqual([]);
});

test("the artifact commands report a missing file and an unknown id", async () => {
  const task_id = await home.addTask();
  expect((await asOwner.run(["attach", task_id, path.join(folder, "none")])).stderr).toContain("cannot be read: ENOENT");
  const unknown = await asOwner.run(["artifact", "get", crypto.randomUUID(), "-o", path.join(folder, "none")]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("Not Found")]);
});
