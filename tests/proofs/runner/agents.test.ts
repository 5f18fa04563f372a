/** Real coding agents, as far as they are in PATH, work on a task against a scripted model on loopback. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { findProgram } from "../../../packages/runner/src/agent-command.ts";
import { findKnownAgent } from "../../../packages/runner/src/known-agents.ts";
import { buildCommandLine, openRunnerFixture, type RunnerFixture } from "../../runner/runner-fixture.ts";
import { setupWorld } from "../../support/fixtures.ts";
import { cleanUpPrograms } from "../../support/program.ts";
import { startCodingModel } from "./coding-model.ts";

const world = await setupWorld();
const program = buildCommandLine();
afterAll(cleanUpPrograms);

/** How a person would tell each tool to use the model at an address. */
const USE_MODEL: Record<string, (url: string, home: string) => Record<string, string>> = {
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
    const { items } = (await call("GET", `/api/v1/boards/${board_id}/approvals?status=pending`, owner.token)).body;
    for (const { id } of items) {
      asked.add(id);
      await call("PATCH", `/api/v1/boards/${board_id}/approvals/${id}`, owner.token, { status: "approved" });
    }
  };
  const timer = setInterval(() => void allow(), 500);
  return { asked, stop: () => clearInterval(timer) };
}

const isInstalled = (name: string) => findProgram(findKnownAgent(name)!.command, process.env) !== null;

for (const [name, useModel] of Object.entries(USE_MODEL))
  test.runIf(isInstalled(name))(
    `${name} takes a task from the inbox to review, with its work on the branch`,
    async ({ task }) => {
      const runner = await openRunnerFixture(world, { program });
      onTestFinished(() => runner.close());
      const id = await runner.board.addTask({ title: "Write hello.txt" });
      const folder = runner.worktree(id);
      const model = await startCodingModel({
        file: path.join(folder, "hello.txt"),
        text: "Hello",
        command: "git add hello.txt && git -c user.name=agent -c user.email=agent@localhost commit -m Hello",
      });
      onTestFinished(() => model.close());
      const { asked, stop } = allowEverything(runner);
      onTestFinished(stop);
      // Requests to any other address go to a closed port.
      const offline = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };
      const environment = { ...offline, TMPDIR: runner.home, ...useModel(model.url, runner.home) };
      const running = runner.command(["run", name, "--once", "--verbose", "--stall", "90s"], environment);
      const { code } = await running.exited;
      const story = `${running.stdout()}\n${running.stderr()}\n${model.story()}`;
      expect(code, story).toBe(0);
      const { status, run } = await runner.task(id);
      const { client } = await runner.run(run.id);
      task.meta.summary = { [name]: client.version ?? client.name, permissions: asked.size };
      expect([status, await runner.comments(id)], story).toEqual(["review", ["I wrote the file."]]);
      expect(readFileSync(path.join(folder, "hello.txt"), "utf8").trim()).toBe("Hello");
      expect(runner.git("log", "--format=%s", `main..board/${id.slice(0, 8)}-write-hello-txt`)).not.toBe("");
      const kinds = (await runner.steps(run.id)).map(({ kind }) => kind);
      // Its sandbox decides for Codex what it may do without asking.
      expect(asked.size, story).toBe(name === "codex" ? 0 : 1);
      expect(kinds).toEqual(expect.arrayContaining(["tool_call", "message"]));
    },
  );
