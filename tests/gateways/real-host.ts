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
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { hostFolder, nodeForHosts, type Release } from "./install.ts";
import { startModel } from "./model.ts";

const TOKEN = "test-token-123";
const START_MS = 120_000;
const STOP_MS = 10_000;

/** What is on a host's side of the wire, real or not. */
export interface ContractHost {
  url: string;
  token: string;
  workspace_root: string;
  /** Is away while `work` runs, as after a crash. What it has on its disk stays. */
  away(work: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

export interface RealHost extends ContractHost {
  /** Names and addresses outside of this machine that it wanted to reach, and did not. */
  outside(): string[];
  /** The end of what it wrote to its terminal. */
  log(): string;
}

/** A host as people run it, on loopback, with a model that always says the same, in a folder that goes with it. */
export async function startRealHost(release: Release): Promise<RealHost> {
  const state = realpathSync(mkdtempSync(path.join(tmpdir(), "host-")));
  const port = await freePort();
  const model = await startModel("Understood.");
  for (const folder of ["home", "tmp", "agents", "workspaces"]) mkdirSync(path.join(state, folder));
  writeFileSync(path.join(state, "openclaw.json"), JSON.stringify(configOf(release, { state, port, model: model.url }), null, 2));
  const outside = path.join(state, "outside.log");
  const log = path.join(state, "terminal.log");
  // An agent's database may be gone by the end, and the lock on it not.
  const agents = new Set<string>();
  const watcher = watch(path.join(state, "agents"), (_event, name) => void (name && agents.add(name)));
  const kill = () => void child?.kill("SIGKILL");
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const file = openSync(log, "a");
    const command = path.join(hostFolder(release), "node_modules/openclaw/openclaw.mjs");
    const args = ["gateway", "run", "--port", String(port), "--bind", "loopback", "--auth", "token", "--token", TOKEN];
    const env = environment(release, { state, outside });
    child = spawn(nodeForHosts(), [command, ...args], { cwd: state, stdio: ["ignore", file, file], env });
    closeSync(file);
    const gone = once(child, "exit").then(([code]) => {
      throw new Error(`Host ${release} ended with ${code}:\n${tail(log)}`);
    });
    await Promise.race([untilReady(port), gone]);
    // From here on its end is somebody's wish.
    gone.catch(() => {});
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
    outside: () => (existsSync(outside) ? [...new Set(readFileSync(outside, "utf8").trim().split("\n"))] : []),
    log: () => tail(log),
    async away(work) {
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

/** No restarts but those of its own making, no network, no channels: what is left is what the service works with. */
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
      // Otherwise its files are copied into every state folder.
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

/** Nothing of this process's environment but the search path: no keys, no proxies. */
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
    // Without it older ones call themselves a development build.
    OPENCLAW_VERSION: release,
    NODE_OPTIONS: `--require ${JSON.stringify(path.join(import.meta.dirname, "no-net.cjs"))}`,
    NO_NET_LOG: outside,
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Up when it lets a client in: it answers HTTP long before, and begins handshakes that it then puts off. */
async function untilReady(port: number): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (!(await isAdmitting(port))) {
    if (performance.now() > deadline) throw new Error(`No host on port ${port} after ${START_MS / 1000} s`);
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

/** Recent ones keep locks beside the state folder, under a digest of each database's path. */
function removeLocks(state: string, agents: string[]): void {
  const folder = path.join(tmpdir(), `openclaw-state-locks-${process.getuid?.() ?? ""}`);
  if (!existsSync(folder)) return;
  const present = readdirSync(state, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".sqlite"));
  const databases = [...present, ...agents.map((id) => `agents/${id}/agent/openclaw-agent.sqlite`)];
  const digests = databases.map((file) => createHash("sha256").update(path.join(state, file)).digest("hex").slice(0, 8));
  for (const lock of readdirSync(folder))
    if (digests.includes(lock.split(".")[1] ?? "")) rmSync(path.join(folder, lock), { force: true });
}
