/** A local npm registry to which the package is published and from which it is installed. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "../../support/free-port.ts";
import { temporaryFolder } from "./copy.ts";

const run = promisify(execFile);
/**
 * Newer releases of Verdaccio need a newer Node than these tests may run with. This release asks for a version of node-fetch that
 * not every registry has, so the version is overridden.
 */
const VERDACCIO = { dependencies: { verdaccio: "6.8.0" }, overrides: { "node-fetch": "2.7.0" } };
const START_MS = 120_000;

export interface Registry {
  url: string;
  /** Settings of npm that use the registry. It accepts every token. */
  environment: Record<string, string>;
  publish(folder: string): Promise<void>;
  stop(): Promise<void>;
}

/** Installs packages into a new folder and returns it. */
export async function installInto(manifest: object): Promise<string> {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true, ...manifest }));
  await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
  return folder;
}

/** Starts the registry. Packages that were not published here come from the registry that npm uses on this machine. */
export async function startRegistry(name: string): Promise<Registry> {
  const folder = await installInto(VERDACCIO);
  const upstream = (await run("npm", ["config", "get", "registry"], { cwd: folder })).stdout.trim();
  const port = await freePort();
  const file = path.join(folder, "config.yaml");
  const rights = { access: "$all", publish: "$all" };
  const config = {
    storage: path.join(folder, "storage"),
    uplinks: { upstream: { url: upstream, timeout: "60s" } },
    packages: { [name]: rights, "**": { access: "$all", proxy: "upstream" } },
    log: { type: "stdout", level: "error" },
  };
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(
    process.execPath,
    ["node_modules/verdaccio/bin/verdaccio", "--config", file, "--listen", `127.0.0.1:${port}`],
    {
      cwd: folder,
      stdio: "ignore",
    },
  );
  const exited = once(child, "exit");
  const url = `http://127.0.0.1:${port}/`;
  await waitFor(`${url}-/ping`);
  const environment = { npm_config_registry: url, [`npm_config_//127.0.0.1:${port}/:_authToken`]: "any" };
  return {
    url,
    environment,
    async publish(source) {
      const cache = path.join(folder, "cache");
      mkdirSync(cache);
      await run("npm", ["publish", "--provenance=false"], {
        cwd: source,
        env: { PATH: process.env["PATH"], HOME: folder, npm_config_cache: cache, ...environment },
      });
    },
    async stop() {
      child.kill();
      await exited;
    },
  };
}

async function waitFor(url: string): Promise<void> {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    const answers = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answers) return;
    await pause(200);
  }
  throw new Error(`${url} does not answer.`);
}
