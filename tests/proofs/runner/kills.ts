/** Kills the runner at its kill points, starts it again, and checks that the task is done once and nothing is stored twice. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { openRunnerFixture, type RunnerFixture } from "../../runner/runner-fixture.ts";
import type { World } from "../../support/world.ts";

const PRELOAD = path.resolve(import.meta.dirname, "../../support/kill-runner.cjs");
/** More kill points than a run passes, so that some runs end by themselves. */
const POINTS = 75;
const LEASE_MS = 16 * 60_000;
const MAX_STARTS = 6;

export interface KillReport {
  /** How often each kill point was hit. */
  points: Map<string, number>;
  problems: string[];
}

const SCRIPT = [
  { think: "Hm" },
  { tool: { toolCallId: "write", title: "Write lamps.txt", kind: "edit" } },
  { write: ["lamps.txt", "15\n"] },
  { tool_update: { toolCallId: "write", status: "completed" } },
  { say: "Counted." },
];

/** Makes `kills` trials, `parallel` at a time. They go through all kill points, so that every one is hit. */
export async function killRunners(world: World, program: string, kills: number, parallel: number): Promise<KillReport> {
  const report: KillReport = { points: new Map(), problems: [] };
  let next = 0;
  async function work(): Promise<void> {
    while (next < kills) {
      const trial = next++;
      const fixture = await openRunnerFixture(world, { program });
      try {
        for (const problem of await killOnce(world, fixture, ((trial * 7) % POINTS) + 1, report))
          report.problems.push(`trial ${trial}: ${problem}`);
      } finally {
        await fixture.close();
      }
    }
  }
  await Promise.all(Array.from({ length: parallel }, work));
  return report;
}

async function killOnce(world: World, fixture: RunnerFixture, kill_at: number, report: KillReport): Promise<string[]> {
  const id = await fixture.board.addTask({ title: "Count" });
  const log = path.join(fixture.home, "kill.log");
  const first = fixture.start(SCRIPT, ["--once"], { KILL_AT: String(kill_at), KILL_LOG: log }, ["--require", PRELOAD]);
  const { signal } = await first.exited;
  const point = existsSync(log) ? readFileSync(log, "utf8").trim() : "no kill";
  report.points.set(point, (report.points.get(point) ?? 0) + 1);
  const about = (text: string) => `killed ${kill_at} (${point}): ${text}`;
  if (signal !== "SIGKILL" && point !== "no kill") return [about(`ended by itself: ${first.stderr()}`)];
  const hadWorktree = existsSync(path.join(fixture.worktree(id), "lamps.txt"));
  let task = await fixture.task(id);
  for (let starts = 0; task.status !== "review" || fixture.journals().length > 0; starts++) {
    if (starts === MAX_STARTS) return [about(`is ${task.status} with ${fixture.journals().length} journals`)];
    const { code } = await fixture.start(SCRIPT, ["--idle", "1s", "--max-tasks", "1"]).exited;
    if (code !== 0) return [about(`the next start ended with ${code}`)];
    task = await fixture.task(id);
    // If the runner was killed before it began its journal, the task returns only when its lease ends.
    if (task.status === "in_progress") {
      world.elapse(LEASE_MS);
    }
  }
  const problems: string[] = [];
  const comments = (await fixture.comments(id)).filter((text) => text === "Counted.");
  if (comments.length !== 1) problems.push(about(`${comments.length} comments`));
  if (hadWorktree && !existsSync(path.join(fixture.worktree(id), "lamps.txt"))) problems.push(about("the worktree is gone"));
  for (const run of await fixture.runsOf(id)) {
    const steps = await fixture.steps(run.id);
    const kinds = steps.map(({ kind, status, title }) => [kind, status ?? title].filter(Boolean).join(" "));
    if (new Set(kinds).size !== kinds.length) problems.push(about(`doubled steps: ${kinds.join(", ")}`));
    if (run.status === "submitted" && !kinds.includes("message")) problems.push(about(`lost steps: ${kinds.join(", ")}`));
  }
  return problems;
}
