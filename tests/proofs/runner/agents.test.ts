/** Real coding agents, as far as they are in PATH, work on a task against a scripted model on loopback. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { buildCommandLine } from "../../runner/runner-fixture.ts";
import { setupWorld } from "../../support/fixtures.ts";
import { cleanUpPrograms } from "../../support/program.ts";
import { isInstalled, startAgent, USE_MODEL } from "./real-agents.ts";

const world = await setupWorld();
const program = buildCommandLine();
afterAll(cleanUpPrograms);

for (const name of Object.keys(USE_MODEL))
  test.runIf(isInstalled(name))(
    `${name} takes a task from the inbox to review, with its work on the branch`,
    async ({ task }) => {
      const { runner, running, task_id, asked, story } = await startAgent(world, name, { program });
      const { code } = await running.exited;
      expect(code, story()).toBe(0);
      const { status, run } = await runner.task(task_id);
      const { client } = await runner.run(run.id);
      task.meta.summary = { [name]: client.version ?? client.name, permissions: asked.size };
      expect([status, await runner.comments(task_id)], story()).toEqual(["review", ["I wrote the file."]]);
      expect(readFileSync(path.join(runner.worktree(task_id), "hello.txt"), "utf8").trim()).toBe("Hello");
      expect(runner.git("log", "--format=%s", `main..board/${task_id.slice(0, 8)}-write-hello-txt`)).not.toBe("");
      const kinds = (await runner.steps(run.id)).map(({ kind }) => kind);
      // Codex asks for nothing here, because its sandbox decides what it may do.
      expect(asked.size, story()).toBe(name === "codex" ? 0 : 1);
      expect(kinds).toEqual(expect.arrayContaining(["tool_call", "message"]));
    },
  );
