import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { NAME, OLDEST_NODE } from "../../../packages/board/name.mjs";
import { startPostgres } from "../../support/postgres.ts";
import { countFiles, removeFolders, ROOT, type RunningProgram, sizeInMegabytes, startIn, temporaryFolder } from "./copy.ts";
import { installInto, type Registry, startRegistry } from "./registry.ts";

const run = promisify(execFile);
const MAX_MEGABYTES = 60;
const DATABASE = "@electric-sql/pglite";

const home = temporaryFolder();
const folder = path.join(home, "project");
const repository = path.join(home, "shop");
let registry: Registry;
let service: RunningProgram;
let environment: Record<string, string>;

/** Returns the folder with the packages that npx put into the empty home. */
const modules = () => {
  const cache = path.join(home, ".npm/_npx");
  return path.join(cache, readdirSync(cache)[0]!, "node_modules");
};

/** Runs `npx <name>` as a person does in the folder. */
async function npx(args: string[], { input = "", cwd = folder, env = {} } = {}): Promise<string> {
  const variables = { ...environment, DATA_DIR: path.join(folder, ".data"), ...env };
  const promise = run("npx", ["--yes", NAME, ...args], { cwd, env: variables });
  promise.child.stdin!.end(input);
  return (await promise).stdout;
}

beforeAll(async () => {
  const dist = path.join(temporaryFolder(), "dist");
  execFileSync(process.execPath, [path.join(ROOT, "packages/board/build.mjs"), dist]);
  const platform = `node-linux-${process.arch}`;
  const [started, oldest] = await Promise.all([
    startRegistry(NAME),
    installInto({ dependencies: { [platform]: `${OLDEST_NODE.join(".")}.0` } }),
  ]);
  registry = started;
  await registry.publish(dist);
  mkdirSync(folder);
  const node = path.join(oldest, "node_modules", platform, "bin");
  environment = { PATH: `${node}:${process.env["PATH"]}`, HOME: home, ...registry.environment };
  const asked = performance.now();
  service = await startIn(folder, ["npx", "--yes", NAME], { ...environment, PORT: "0", LOG_LEVEL: "error" }, false);
  const seconds = ((performance.now() - asked) / 1000).toFixed(1);
  const database = sizeInMegabytes(path.join(modules(), DATABASE));
  const others = sizeInMegabytes(modules()) - database;
  process.stdout.write(
    `npx ${NAME}: ready after ${seconds} s, of which the start took ${service.seconds} s; ` +
      `${others} MB besides ${database} MB of the embedded database, ${countFiles(modules())} files\n`,
  );
});

afterAll(async () => {
  await service?.stop();
  await registry?.stop();
  removeFolders();
});

test("one command in an empty home starts the service on the oldest supported Node, with its page and its reference", async () => {
  for (const address of ["/readyz", "/", "/docs", "/docs/swagger-ui-bundle.js", "/openapi.json"])
    expect((await fetch(`${service.url}${address}`)).status, address).toBe(200);
  const [script] = /\/assets\/[\w.-]+\.js/.exec(await (await fetch(`${service.url}/`)).text())!;
  expect((await fetch(`${service.url}${script}`)).status).toBe(200);
  expect(service.stderr.replaceAll(/^npm .*\n/gm, "")).toBe("");
});

test(`the package takes at most ${MAX_MEGABYTES} MB besides the embedded database, and none of its code runs during the installation`, () => {
  const others = sizeInMegabytes(modules()) - sizeInMegabytes(path.join(modules(), DATABASE));
  expect(others).toBeLessThanOrEqual(MAX_MEGABYTES);
  const manifests = readdirSync(modules(), { recursive: true, encoding: "utf8" }).filter((name) =>
    /^(@[^/]+\/)?[^/]+\/package\.json$/.test(name),
  );
  expect(manifests).toContain(`${NAME}/package.json`);
  const scripts = manifests.flatMap((name) => {
    const { scripts = {} } = JSON.parse(readFileSync(path.join(modules(), name), "utf8"));
    return Object.keys(scripts).filter((script) => /^(pre|post)?install$/.test(script));
  });
  expect(scripts).toEqual([]);
});

test("with arguments of the command line the package acts as the command line, and its runner works on a task with any tool", async () => {
  await npx(["login", "--url", service.url], {
    input: readFileSync(path.join(folder, ".data/secrets/local_auth_token"), "utf8"),
  });
  await npx(["boards", "create", "Shop"]);
  await npx(["task", "create", "Say hello in the README"]);
  mkdirSync(repository);
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  git("init", "--quiet");
  git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--allow-empty", "--message", "Begin");
  await npx(["run", "--once", "--exec", "touch hello"], { cwd: repository });
  const tasks = JSON.parse(await npx(["--json", "tasks"])) as { items?: { status: string }[] };
  expect((tasks.items ?? (tasks as unknown as { status: string }[]))[0]!.status).toBe("review");
});

test("the package migrates an empty PostgreSQL database to the package's version, and then starts on it", async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const env = { DATABASE_URL: await postgres.createDatabase("board"), DATA_DIR: path.join(home, "on-postgres") };
  const migrated = "The schema of the database is the one of this version.\n";
  expect(await npx(["service", "migrate"], { env })).toBe(migrated);
  expect(await npx(["service", "migrate"], { env })).toBe(migrated);
  const other = await startIn(folder, ["npx", "--yes", NAME], { ...environment, ...env, PORT: "0", LOG_LEVEL: "error" }, false);
  expect((await fetch(`${other.url}/readyz`)).status).toBe(200);
  await other.stop();
});

// `script`, which every Linux has, runs a command on a pseudo terminal.
test("the first start on the terminal of a desktop opens the link that signs the owner in", async () => {
  const desktop = path.join(home, "desktop");
  const noted = path.join(desktop, "noted");
  mkdirSync(desktop);
  writeFileSync(path.join(desktop, "xdg-open"), `#!/bin/sh\necho "$1" > ${noted}.part && mv ${noted}.part ${noted}\n`, {
    mode: 0o700,
  });
  const env = {
    ...environment,
    PATH: `${desktop}:${environment["PATH"]}`,
    DATA_DIR: path.join(desktop, ".data"),
    PORT: "0",
    DISPLAY: ":0",
  };
  const terminal = spawn("script", ["--quiet", "--return", "--command", `npx --yes ${NAME}`, "/dev/null"], { cwd: folder, env });
  let shown = "";
  terminal.stdout.on("data", (text) => (shown += String(text)));
  const exited = once(terminal, "close");
  onTestFinished(async () => {
    terminal.kill();
    await exited;
  });
  await vi.waitUntil(() => existsSync(noted), { timeout: 120_000, interval: 50 });
  const [link] = /http:\S+\/#link=\S+/.exec(shown)!;
  const address = readFileSync(noted, "utf8").trim();
  expect(address).not.toContain("link=");
  expect(readFileSync(fileURLToPath(address), "utf8")).toContain(`url=${link}"`);
  // Ctrl-C. Its exit code is npm's.
  terminal.stdin.write("\u0003");
  await exited;
});

test("the help shows the command to type, says that it starts the service, and names the service's programs", async () => {
  expect(await npx(["--help"])).toContain(`"npx ${NAME}" starts the service in this folder`);
  expect(await npx(["start", "--help"])).toContain(`npx ${NAME} service doctor checks them`);
});
