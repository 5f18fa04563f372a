/** What real coding agents, as far as they are in PATH, see of credentials while they work on a task. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { buildCommandLine } from "../../runner/runner-fixture.ts";
import { setupWorld } from "../../support/fixtures.ts";
import { cleanUpPrograms } from "../../support/program.ts";
import { environmentOf, watchProcesses } from "./agent-processes.ts";
import { COMMIT, isInstalled, startAgent } from "./real-agents.ts";

const RUN_TOKEN = /run_[\w-]{43}/g;

const world = await setupWorld();
const program = buildCommandLine();
afterAll(cleanUpPrograms);

/** Reads the text of all files below a folder, by path. Files that vanish meanwhile are left out. */
function readFiles(folder: string): [string, string][] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.flatMap(({ parentPath, name }): [string, string][] => {
    try {
      return [[path.join(parentPath, name), readFileSync(path.join(parentPath, name), "latin1")]];
    } catch {
      return [];
    }
  });
}

for (const name of ["claude", "codex"])
  test.runIf(isInstalled(name))(
    `the environment and arguments of every process of ${name}, its prompt, its worktree and its settings contain no token except the token of its run`,
    async ({ task }) => {
      const minted: string[] = [];
      const intercept = async (request: Request, next: (request: Request) => Promise<Response>) => {
        const answer = await next(request);
        if (/\/runs\/[^/]+\/token$/.test(request.url)) minted.push(((await answer.clone().json()) as { token: string }).token);
        return answer;
      };
      /** The texts to search for tokens, by source: processes, requests to the model, and files while the agent worked. */
      const found = new Map<string, string>();
      // The command runs for a while, so that its processes are seen.
      const { runner, running, model, task_id, story } = await startAgent(world, name, {
        program,
        intercept,
        command: `sleep 1 && ${COMMIT}`,
        onRequest(text) {
          found.set(`request ${found.size}`, text);
          for (const [file, content] of readFiles(runner.home)) found.set(file, content);
        },
      });
      const watch = watchProcesses(running.pid, runner.home);
      onTestFinished(() => watch.stop());
      const { board } = runner;
      // This proves that the search finds a token: the runner itself has the agent's token.
      expect(environmentOf(running.pid)).toContain(board.worker.token);
      const { code } = await running.exited;
      watch.stop();
      expect([code, (await runner.task(task_id)).status], story()).toEqual([0, "review"]);
      for (const [file, content] of readFiles(runner.home)) found.set(file, content);
      for (const [process, text] of watch.seen) found.set(`process ${process}`, text);
      const placesOf = (isThere: (text: string) => boolean) =>
        [...found].filter(([, text]) => isThere(text)).map(([place]) => place);

      const processes = [...watch.seen.keys()];
      expect(
        processes.some((line) => line.includes("sleep 1")),
        processes.join("\n"),
      ).toBe(true);
      expect(placesOf((text) => text.includes("Write hello.txt")).some((place) => place.startsWith("request"))).toBe(true);
      for (const token of [board.worker.token, board.lead.token, board.owner.token])
        expect(placesOf((text) => text.includes(token))).toEqual([]);
      expect(minted).toHaveLength(1);
      const seen = new Set([...found.values()].flatMap((text) => text.match(RUN_TOKEN) ?? []));
      expect([...seen].filter((token) => token !== minted[0])).toEqual([]);
      const kinds = placesOf((text) => text.includes(minted[0]!)).map(
        (place) => /^(?:process|request)/.exec(place)?.[0] ?? "file",
      );
      task.meta.summary = {
        [`${name}: processes, requests to the model`]: `${watch.seen.size}, ${model.requests()}`,
        [`${name}: where the token of the run was seen`]: [...new Set(kinds)].join(", ") || "nowhere",
      };
    },
  );
