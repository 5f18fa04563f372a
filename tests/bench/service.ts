import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A server that runs in a separate process. */
export interface Service {
  url: string;
  token: string;
  pid: number;
  stop(): Promise<void>;
}

export const KEYS = {
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  TOKEN_PEPPER: Buffer.alloc(32, 2).toString("base64"),
};

export async function startService(environment: Record<string, string>): Promise<Service> {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-"));
  const token = "bench-".padEnd(64, "x");
  const child: ChildProcess = spawn(process.execPath, [path.resolve(import.meta.dirname, "../../scripts/start.mjs"), "main"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env.PATH,
      PORT: "0",
      DATA_DIR: folder,
      LOCAL_AUTH_TOKEN: token,
      LOG_LEVEL: "error",
      WEBHOOK_RATE_PER_MINUTE: "0",
      ...KEYS,
      STREAMS_PER_CALLER: "0",
      STREAMS_PER_ORGANIZATION: "0",
      ...environment,
    },
  });
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`The server did not start: ${output}`)));
    child.stdout!.on("data", (chunk) => {
      output += chunk;
      const match = /ready at (\S+)/.exec(output);
      if (match) resolve(match[1]!);
    });
  });
  return {
    url,
    token,
    pid: child.pid!,
    async stop() {
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
