/** Starts real coding agents, as far as they are in PATH, on a task against a scripted model on loopback. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findProgram } from "@board/runner/agent-command";
import { findKnownAgent } from "@board/runner/known-agents";
import { onTestFinished } from "vitest";
import { type FixtureOptions, openRunnerFixture, type RunnerFixture, type RunningRunner } from "../../runner/runner-fixture.ts";
import type { World } from "../../support/world.ts";
import { type CodingModel, startCodingModel } from "./coding-model.ts";

/** How a person would tell each tool to use the model at an address. */
export const USE_MODEL: Record<string, (url: string, home: string) => Record<string, string>> = {
  claude: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" }),
  codex(url, home) {
    const provider = `name = "scripted"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`;
    write(home, ".codex/config.toml", `model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\n${provider}`);
    return {};
  },
  gemini(url, home) {
    const settings = { security: { auth: { selectedType: "gemini-api-key" } }, model: { name: "gemini-2.5-flash" } };
    write(home, ".gemini/settings.json", JSON.stringify(settings));
    return { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url };
  },
  opencode(url) {
    const options = { baseURL: `${url}/v1`, apiKey: "none" };
    const provider = {
      scripted: { npm: "@ai-sdk/openai-compatible", name: "scripted", options, models: { scripted: { name: "scripted" } } },
    };
    const config = { model: "scripted/scripted", autoupdate: false, provider };
    return { OPENCODE_CONFIG_CONTENT: JSON.stringify(config), OPENCODE_DISABLE_MODELS_FETCH: "1" };
  },
  qwen(url, home) {
    write(
      home,
      ".qwen/settings.json",
      JSON.stringify({ security: { auth: { selectedType: "openai" } }, model: { name: "scripted" } }),
    );
    return { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "scripted" };
  },
  copilot: (url) => ({
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_TYPE: "openai",
    COPILOT_PROVIDER_API_KEY: "none",
    COPILOT_MODEL: "scripted",
    COPILOT_OFFLINE: "true",
  }),
};

function write(home: string, name: string, text: string): void {
  const file = path.join(home, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Allows what the agent asks for, as a person would, and counts how often that was. */
function allowEverything(runner: RunnerFixture): { asked: Set<string>; stop: () => void } {
  const { board_id, owner, call } = runner.board;
  const asked = new Set<string>();
  const allow = async () => {
    const { body, status } = await call("GET", `/api/v1/boards/${board_id}/approvals?status=pending`, owner.token);
    // On a busy machine there may be no free connection in time. The next poll finds the same approvals.
    if (status !== 200) return;
    for (const { id } of body.items) {
      asked.add(id);
      await call("PATCH", `/api/v1/boards/${board_id}/approvals/${id}`, owner.token, { status: "approved" });
    }
  };
  const timer = setInterval(() => void allow(), 500);
  return { asked, stop: () => clearInterval(timer) };
}

export const isInstalled = (name: string) => findProgram(findKnownAgent(name)!.command, process.env) !== null;

/** What the agent runs when it has written the file. */
export const COMMIT = "git add hello.txt && git -c user.name=agent -c user.email=agent@localhost commit -m Hello";

export interface AgentOptions extends FixtureOptions {
  command?: string;
  /** Gets each request to the model, with its headers. */
  onRequest?: (text: string) => void;
}

export interface AgentAtWork {
  runner: RunnerFixture;
  running: RunningRunner;
  model: CodingModel;
  task_id: string;
  /** Ids of the approvals that the agent asked for. All of them were granted. */
  asked: Set<string>;
  /** What was printed and said so far, for the message of a failed test. */
  story: () => string;
}

/** Starts `board run` with an agent that writes hello.txt and commits it, and allows what it asks for. */
export async function startAgent(world: World, name: string, options: AgentOptions): Promise<AgentAtWork> {
  const { command = COMMIT, onRequest = () => {}, ...fixture } = options;
  const runner = await openRunnerFixture(world, fixture);
  onTestFinished(() => runner.close());
  const task_id = await runner.board.addTask({ title: "Write hello.txt" });
  const file = path.join(runner.worktree(task_id), "hello.txt");
  const model = await startCodingModel({ file, text: "Hello", command }, onRequest);
  onTestFinished(() => model.close());
  const { asked, stop } = allowEverything(runner);
  onTestFinished(stop);
  // Requests to any other address go to a closed port.
  const offline = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };
  const environment = { ...offline, TMPDIR: runner.home, ...USE_MODEL[name]!(model.url, runner.home) };
  const running = runner.command(["run", name, "--once", "--verbose", "--stall", "90s"], environment);
  const story = () => `${running.stdout()}\n${running.stderr()}\n${model.story()}`;
  return { runner, running, model, task_id, asked, story };
}
