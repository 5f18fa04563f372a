import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { createDatabaseFolder } from "@board/local/template-database";
import { afterEach, describe, expect, test } from "vitest";
import { startLocalService as start } from "../support/local-service.ts";
import { cleanUpPrograms, dataFolder, runProgram, startProgram, temporaryFolder } from "../support/program.ts";
import { TEST_KEYS } from "../support/world.ts";

afterEach(cleanUpPrograms);

const lines = (text: string) => text.trimEnd().split("\n");

describe("a start that fails", () => {
  test.each([
    { name: "PORT", value: "eighty" },
    { name: "LOCAL_AUTH_TOKEN", value: "short-secret" },
    { name: "DATABASE_URL", value: "mysql://user:secret@host/db" },
    { name: "ENCRYPTION_KEY", value: "not-a-key" },
  ])("an invalid $name is reported in one line without its value", async ({ name, value }) => {
    const refused = await runProgram("main", { DATA_DIR: temporaryFolder(), PORT: "0", [name]: value });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(lines(refused.stderr)).toEqual([expect.stringContaining(name)]);
    expect(refused.stderr).not.toContain(value);
  });

  test("a port in use is reported in one line, and the folder is released", async () => {
    const { url } = await start(dataFolder());
    const folder = temporaryFolder();
    const { port } = new URL(url);
    const refused = await runProgram("main", { DATA_DIR: folder, PORT: port });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(lines(refused.stderr)).toEqual([expect.stringContaining(`Port ${port} is used by another process`)]);
    // The port is taken first, so the answer does not wait for a database.
    expect(readdirSync(folder)).not.toContain("database");
    await start(folder);
  });

  test("a DATA_DIR that is not a folder is named with a remedy", async () => {
    const file = path.join(temporaryFolder(), "file");
    writeFileSync(file, "");
    const refused = await runProgram("main", { DATA_DIR: file, PORT: "0", ...TEST_KEYS, LOCAL_AUTH_TOKEN: "x".repeat(60) });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toBe(`${file} is in the way of a folder. Remove it, or set DATA_DIR to another folder.\n`);
  });

  // Not even root may write there.
  test.runIf(process.platform === "linux")("a DATA_DIR without rights is named with a remedy", async () => {
    const refused = await runProgram("main", { DATA_DIR: "/sys/board", PORT: "0" });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^This user may not write \/sys\/board.* \(E[A-Z]+\)\. .*set DATA_DIR to another folder\.\n$/);
  });

  test("a HOST that is not an address of the machine is named with a remedy", async () => {
    const refused = await runProgram("main", { DATA_DIR: temporaryFolder(), PORT: "0", HOST: "192.0.2.1" });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^This machine has no address 192\.0\.2\.1 .*Set HOST to .*\n$/);
  });

  test("several wrong settings, a misspelt one and a removed one are all named", async () => {
    const wrong = { PORT: "eighty", LOG_LEVEL: "loud", DATABASE_ULR: "postgres://user:secret@host/db", WAITING_REQUESTS: "9" };
    const refused = await runProgram("main", { DATA_DIR: temporaryFolder(), ...wrong });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(lines(refused.stderr)).toEqual([
      "DATABASE_ULR is not a setting. Did you mean DATABASE_URL?",
      "No longer a setting: WAITING_REQUESTS. Set waiting_requests in LIMITS instead.",
      "PORT must be a whole number from 0 to 65535",
      "LOG_LEVEL must be one of trace, debug, info, warn, error",
    ]);
  });

  test("while the database does not answer, requests get 503 with Retry-After, and finally the start names DATABASE_URL", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const program = startProgram("main", {
      DATA_DIR: temporaryFolder(),
      PORT: "0",
      DATABASE_URL: `postgres://user:s3cret@127.0.0.1:${port}/board`,
    });
    const [, url] = await program.waitForOutput(/^Starting at (http:\S+)/);
    const answer = await fetch(`${url}/readyz`);
    expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
      503,
      "1",
      { detail: "The service is starting. Send the request again in a second." },
    ]);
    expect(await program.exited).toMatchObject({ code: 1 });
    expect(program.stderr).toMatch(/^The database does not answer: .* in DATABASE_URL\.\n$/);
    expect(program.stderr).not.toContain("s3cret");
    silent.close();
  });
});

describe("arguments", () => {
  test.each(["main", "demo", "doctor", "jobs"] as const)("%s prints its usage with --help", async (name) => {
    const { code, stdout, stderr } = await runProgram(name, { DATA_DIR: temporaryFolder() }, ["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^[A-Z].*\.\n\n {2}npm (start|run [a-z]+)/);
  });

  test.each(["main", "demo", "doctor", "jobs"] as const)("%s refuses an option that it does not know", async (name) => {
    const { code, stdout, stderr } = await runProgram(name, { DATA_DIR: temporaryFolder() }, ["--port=1"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/'--port'.* Try npm .* -- --help\n$/);
  });
});

describe("the launcher", () => {
  // `npm test` passes on the path of npm's own Node, which may be too old for the service.
  const npmNode = process.env["npm_node_execpath"] ?? process.execPath;
  const isOld = execFileSync(npmNode, ["--version"], { encoding: "utf8" }) < "v24";
  /** What the launcher does on an older Node: it starts the service with a channel to itself. */
  const parent = `require("node:child_process").spawn(process.execPath, process.argv.slice(1), {
    stdio: ["inherit", "inherit", "inherit", "ipc"] })`;

  async function startVia(...node: [string, ...string[]]) {
    const folder = dataFolder();
    const launcher = startProgram("main", { DATA_DIR: folder, PORT: "0", npm_lifecycle_event: "start" }, [], node);
    const [, url] = await launcher.waitForOutput(/ready at (http:\S+)/);
    return { folder, launcher, url: url! };
  }

  async function expectEnd(folder: string, url: string): Promise<void> {
    await expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed");
    await start(folder);
  }

  test("a service whose launcher was killed stops and releases its folder", async () => {
    const { folder, launcher, url } = await startVia(process.execPath, "-e", parent);
    // Waits for the service too, which shares the standard output.
    expect(await launcher.stop("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
    await expectEnd(folder, url);
  });

  test.runIf(process.platform !== "win32")("a signal to npm, which reaches only its shell, ends the service", async () => {
    const { folder, launcher, url } = await startVia("sh", "-c", '"$0" "$@"; exit', process.execPath);
    // The shell ends at once. The service shares its standard output, which is awaited too.
    expect(await launcher.stop("SIGTERM")).toEqual({ code: null, signal: "SIGTERM" });
    await expectEnd(folder, url);
  });

  test.runIf(isOld).each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
    "%s to the launcher on an older Node ends the service on Node 24",
    async (signal) => {
      const { folder, launcher, url } = await startVia(npmNode);
      expect(await launcher.stop(signal)).toEqual(signal === "SIGKILL" ? { code: null, signal } : { code: 0, signal: null });
      await expectEnd(folder, url);
    },
  );
});

test("a damaged template of the database is made again, and templates of other migrations are removed", async () => {
  const templates = temporaryFolder();
  const made = path.resolve(import.meta.dirname, "../../dist/database");
  const [name] = readdirSync(made).filter((file) => file.endsWith(".br"));
  const file = path.join(templates, name!);
  copyFileSync(path.join(made, name!), file);
  truncateSync(file, 1_000_000);
  writeFileSync(path.join(templates, "0123456789abcdef.br"), "");
  const folder = temporaryFolder();
  await createDatabaseFolder(path.join(folder, "database"), templates);
  expect(readdirSync(templates)).toEqual([name]);
  expect(statSync(file).size).toBeGreaterThan(1_000_000);
  expect((await (await start(folder)).call("GET", "/readyz")).status).toBe(200);
});
