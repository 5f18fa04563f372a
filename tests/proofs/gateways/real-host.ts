import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../support/free-port.ts";
import { hostFolder, nodeForHosts, type Release } from "./install.ts";
import { startFakeModel } from "./fake-model.ts";

const TOKEN = "test-token-123";
/**
 * A busy machine takes minutes to start the newest release. The limit is not longer, because the service gives up on a message
 * after a longer outage.
 */
const START_MS = 240_000;
const STOP_MS = 10_000;
/**
 * The maximum number of attempts to start the host. The newest release exits when one of its threads takes five seconds to start,
 * as on a busy machine, and a supervisor starts it again.
 */
const STARTS = 5;

/** A host under test, real or fake. */
export interface ContractHost {
  url: string;
  token: string;
  workspace_root: string;
  /** Stops the host while `work` runs, as after a crash. Its files are kept. */
  whileDown(work: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

export interface RealHost extends ContractHost {
  /** The names and addresses outside this machine that the host tried to reach. */
  listBlockedHosts(): string[];
  /** The end of its output. */
  log(): string;
}

/** Starts a real host on loopback with a fake model in a temporary folder. */
export async function startRealHost(release: Release): Promise<RealHost> {
  const state = realpathSync(mkdtempSync(path.join(tmpdir(), "host-")));
  const port = await freePort();
  const model = await startFakeModel("Understood.");
  for (const folder of ["home", "tmp", "agents", "workspaces"]) mkdirSync(path.join(state, folder));
  writeFileSync(path.join(state, "openclaw.json"), JSON.stringify(configOf(release, { state, port, model: model.url }), null, 2));
  const outside = path.join(state, "outside.log");
  const log = path.join(state, "terminal.log");
  // The ids of all agents are recorded, because an agent's database may be deleted while its lock still exists.
  const agents = new Set<string>();
  const watcher = watch(path.join(state, "agents"), (_event, name) => void (name && agents.add(name)));
  const kill = () => void child?.kill("SIGKILL");
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    for (let left = STARTS - 1; ; left--) {
      try {
        return await startOnce();
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  }

  async function startOnce(): Promise<void> {
    const file = openSync(log, "a");
    const command = path.join(hostFolder(release), "node_modules/openclaw/openclaw.mjs");
    const args = ["gateway", "run", "--port", String(port), "--bind", "loopback", "--auth", "token", "--token", TOKEN];
    const env = environment(release, { state, outside });
    child = spawn(nodeForHosts(), [command, ...args], { cwd: state, stdio: ["ignore", file, file], env });
    closeSync(file);
    const exited = once(child, "exit").then(([code]) => {
      throw new Error(`Host ${release} exited with ${code}:\n${tail(log)}`);
    });
    await Promise.race([untilReady(port), exited]);
    // From here on the exit is intended.
    exited.catch(() => {});
  }

  async function stop(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    const timer = setTimeout(kill, STOP_MS);
    await exited;
    clearTimeout(timer);
  }

  async function close(): Promise<void> {
    await stop();
    process.off("exit", kill);
    await model.close();
    watcher.close();
    removeLocks(state, [...agents]);
    rmSync(state, { recursive: true, force: true, maxRetries: 5 });
  }

  process.on("exit", kill);
  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: `ws://127.0.0.1:${port}`,
    token: TOKEN,
    workspace_root: path.join(state, "workspaces"),
    listBlockedHosts: () => (existsSync(outside) ? [...new Set(readFileSync(outside, "utf8").trim().split("\n"))] : []),
    log: () => tail(log),
    async whileDown(work) {
      await stop();
      try {
        await work();
      } finally {
        await start();
      }
    },
    close,
  };
}

const tail = (file: string) => readFileSync(file, "utf8").split("\n").slice(-40).join("\n");

/** Returns a configuration with only what the service uses, without network, channels or file watching. */
function configOf(release: Release, { state, port, model }: { state: string; port: number; model: string }): object {
  const isRecent = release === "2026.9.6";
  const echo = {
    id: "echo",
    name: "Echo",
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 1024,
  };
  return {
    gateway: {
      mode: "local",
      bind: "loopback",
      port,
      auth: { mode: "token", token: TOKEN },
      // Without this setting, the files of the control UI are copied into every state folder.
      ...(isRecent ? { controlUi: { enabled: false } } : {}),
    },
    update: { checkOnStart: false },
    discovery: { mdns: { mode: "off" } },
    plugins: { enabled: false },
    logging: { file: path.join(state, "host.jsonl") },
    models: {
      mode: "replace",
      providers: { fake: { baseUrl: model, apiKey: "none", api: "openai-completions", models: [echo] } },
      ...(isRecent ? { catalogRefresh: { enabled: false } } : {}),
    },
    agents: { defaults: { workspace: path.join(state, "workspace"), model: { primary: "fake/echo" } } },
  };
}

/** Returns the environment of the host. Only PATH comes from this process, so that the host gets no keys and no proxies. */
function environment(release: Release, { state, outside }: { state: string; outside: string }): NodeJS.ProcessEnv {
  const skipped = ["CHANNELS", "PROVIDERS", "GMAIL_WATCHER", "CRON", "CANVAS_HOST", "BROWSER_CONTROL_SERVER"];
  return {
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    HOME: path.join(state, "home"),
    OPENCLAW_HOME: path.join(state, "home"),
    TMPDIR: path.join(state, "tmp"),
    OPENCLAW_STATE_DIR: state,
    OPENCLAW_CONFIG_PATH: path.join(state, "openclaw.json"),
    ...Object.fromEntries(skipped.map((name) => [`OPENCLAW_SKIP_${name}`, "1"])),
    OPENCLAW_DISABLE_BONJOUR: "1",
    OPENCLAW_NO_RESPAWN: "1",
    // Without this, older releases report a development build.
    OPENCLAW_VERSION: release,
    NODE_OPTIONS: `--require ${JSON.stringify(path.join(import.meta.dirname, "no-net.cjs"))}`,
    NO_NET_LOG: outside,
  };
}

/** Waits until the host accepts a client. It answers HTTP and starts handshakes long before that. */
async function untilReady(port: number): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (!(await isAdmitting(port))) {
    if (performance.now() > deadline) throw new Error(`There is no host on port ${port} after ${START_MS / 1000} s`);
    await pause(200);
  }
}

function isAdmitting(port: number): Promise<boolean> {
  const client = { id: "gateway-client", version: "1.0.0", platform: process.platform, mode: "backend" };
  const params = { minProtocol: 3, maxProtocol: 4, role: "operator", scopes: ["operator.read"], client, auth: { token: TOKEN } };
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`);
    const end = (admitted: boolean) => {
      resolve(admitted);
      socket.close();
    };
    socket.onmessage = ({ data }) => {
      const { event, id, ok } = JSON.parse(String(data)) as { event?: string; id?: string; ok?: boolean };
      if (event === "connect.challenge") socket.send(JSON.stringify({ type: "req", id: "ready", method: "connect", params }));
      else if (id === "ready") end(ok === true);
    };
    socket.onerror = () => end(false);
    socket.onclose = () => end(false);
  });
}

/**
 * Deletes the locks that recent releases keep outside the state folder. A lock file is named after a digest of its database's
 * path.
 */
function removeLocks(state: string, agents: string[]): void {
  const folder = path.join(tmpdir(), `openclaw-state-locks-${process.getuid?.() ?? ""}`);
  if (!existsSync(folder)) return;
  const present = readdirSync(state, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".sqlite"));
  const databases = [...present, ...agents.map((id) => `agents/${id}/agent/openclaw-agent.sqlite`)];
  const digests = databases.map((file) => createHash("sha256").update(path.join(state, file)).digest("hex").slice(0, 8));
  for (const lock of readdirSync(folder))
    if (digests.includes(lock.split(".")[1] ?? "")) rmSync(path.join(folder, lock), { force: true });
}
