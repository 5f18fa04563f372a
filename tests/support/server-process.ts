/** The real server as an operator starts it, with a measurement of its memory and of the stalls of its event loop. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Program, startProgram, temporaryFolder } from "./program.ts";
import { TEST_KEYS } from "./world.ts";

export interface Usage {
  /** The peak of memory use in MB. */
  memory_mb: number;
  /** The longest time in milliseconds that the event loop was blocked. */
  stall_ms: number;
  /** The processor time of its threads in milliseconds. */
  processor_ms: number;
}

export interface ServerProcess extends Program {
  url: string;
  isAlive(): boolean;
  /** The usage since a time in milliseconds since 1970. */
  usageSince(time: number): Usage;
}

interface ServerProcessOptions {
  /** The URL of the identity provider. */
  issuer: string;
  environment?: Readonly<Record<string, string>>;
  /** Modules to load before the server; modules in tests/support are named without a folder. */
  preloads?: readonly string[];
  /** Limit of V8's heap in MB. */
  heap_mb?: number;
  /** The launcher of another version of the service. */
  launcher?: string | undefined;
}

/** A line that monitor.cjs appends to MONITOR_FILE. */
interface Sample {
  at: number;
  rss: number;
  stall_ms: number;
  processor_ms: number;
}

const MB = 1024 * 1024;

export async function startServerProcess({
  issuer,
  environment,
  preloads = [],
  heap_mb,
  launcher,
}: ServerProcessOptions): Promise<ServerProcess> {
  const folder = temporaryFolder();
  const monitor_file = path.join(folder, "monitor");
  const variables = {
    AUTH_MODE: "oidc",
    OIDC_ISSUER: issuer,
    OIDC_JWKS_URL: `${issuer}keys`,
    GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8",
    SUBSCRIPTION_ALLOWED_HOSTS: "127.0.0.0/8",
    PORT: "0",
    DATA_DIR: folder,
    LOG_LEVEL: "error",
    MONITOR_FILE: monitor_file,
    NODE_OPTIONS: [...["monitor.cjs", ...preloads].map(toFlag), ...(heap_mb ? [`--max-old-space-size=${heap_mb}`] : [])].join(
      " ",
    ),
    ...TEST_KEYS,
    ...environment,
  };
  const program = startProgram("main", variables, [], undefined, launcher);
  let alive = true;
  void program.exited.then(() => (alive = false));
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  return Object.assign(program, {
    url: url!,
    isAlive: () => alive,
    usageSince(time: number): Usage {
      const lines = existsSync(monitor_file) ? readFileSync(monitor_file, "utf8").split("\n").slice(0, -1) : [];
      const samples = lines.map((line) => JSON.parse(line) as Sample);
      const recent = samples.filter(({ at }) => at >= time);
      const most = (values: number[]) => Math.round(values.reduce((a, b) => Math.max(a, b), 0));
      return {
        memory_mb: most(recent.map(({ rss }) => rss / MB)),
        stall_ms: most(recent.map(({ stall_ms }) => stall_ms)),
        processor_ms: (recent.at(-1)?.processor_ms ?? 0) - (samples.findLast(({ at }) => at < time)?.processor_ms ?? 0),
      };
    },
  });
}

/** Returns Node's flag for a preload. CommonJS modules are required, so that they run before any other module is loaded. */
function toFlag(name: string): string {
  const file = path.resolve(import.meta.dirname, name);
  return `${name.endsWith(".cjs") ? "--require" : "--import"} ${JSON.stringify(file)}`;
}
