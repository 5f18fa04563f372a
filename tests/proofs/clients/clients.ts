/** The command lines of MCP clients from npm. Each client is configured to use the scripted model. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

const packages = path.join(import.meta.dirname, "node_modules");

export interface McpClient {
  /** The title that `board agent connect` gives to this client's commands. */
  title: string;
  command: string;
  program: string;
  /** Writes the settings that the client needs into the home folder, and returns the client's environment. */
  useModel(url: string, home: string): Record<string, string>;
}

export const clients: readonly McpClient[] = [
  {
    title: "Claude Code",
    command: "claude",
    program: "@anthropic-ai/claude-code-linux-x64/claude",
    useModel: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" }),
  },
  {
    title: "Codex",
    command: "codex",
    program: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    useModel(url, home) {
      const provider = `name = "scripted"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`;
      const text = `model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\n${provider}`;
      writeFile(path.join(home, ".codex/config.toml"), text);
      return {};
    },
  },
  {
    title: "opencode",
    command: "opencode",
    program: "opencode-linux-x64-baseline/bin/opencode",
    useModel(url) {
      const options = { baseURL: `${url}/v1`, apiKey: "none" };
      const models = { scripted: { name: "scripted" } };
      const provider = { scripted: { npm: "@ai-sdk/openai-compatible", name: "scripted", options, models } };
      const config = { model: "scripted/scripted", autoupdate: false, provider };
      return { OPENCODE_CONFIG_CONTENT: JSON.stringify(config), OPENCODE_DISABLE_MODELS_FETCH: "1" };
    },
  },
  {
    title: "Gemini CLI",
    command: "gemini",
    program: "@google/gemini-cli/bundle/gemini.js",
    useModel(url, home) {
      const settings = { security: { auth: { selectedType: "gemini-api-key" } }, model: { name: "gemini-2.5-flash" } };
      writeFile(path.join(home, ".gemini/settings.json"), JSON.stringify(settings));
      return { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url };
    },
  },
];

function writeFile(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Fills a folder with the commands of the clients, so that a shell finds them, and returns the folder. */
export function writeCommands(folder: string): string {
  for (const { command, program } of clients) symlinkSync(path.join(packages, program), path.join(folder, command));
  return folder;
}
