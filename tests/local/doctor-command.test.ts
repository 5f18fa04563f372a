import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Finding } from "@board/local/doctor/finding";
import { afterEach, expect, test } from "vitest";
import { listProblems, startDoctorFixture } from "./doctor-fixture.ts";
import { setup } from "../support/fixtures.ts";
import { cleanUpPrograms, dataFolder, runProgram, startProgram, temporaryFolder } from "../support/program.ts";

const fixture = await setup(startDoctorFixture());
const { environment } = fixture;

afterEach(cleanUpPrograms);

test("the doctor exits with 1 when something is wrong, and reports it as text and as JSON", async () => {
  const env = { ...environment, GATEWAY_MIN_VERSION: "2026.5.7" };
  const [text, json] = await Promise.all([runProgram("doctor", env), runProgram("doctor", env, ["--json"])]);
  expect(text).toMatchObject({ code: 1, stderr: "" });
  expect(text.stdout).toMatch(/^wrong {4}gateway home host {2}Gateway version .+\n {28}-> Update OpenClaw.+$/m);
  expect(text.stdout).toMatch(/\n\n\d ok, 0 warnings, 1 wrong\n$/);
  expect(json).toMatchObject({ code: 1, stderr: "" });
  const { ok, findings } = JSON.parse(json.stdout) as { ok: boolean; findings: Finding[] };
  expect([ok, listProblems(findings)]).toEqual([
    false,
    [expect.objectContaining({ check: "gateway home host", state: "wrong" })],
  ]);
});

test("doctor --lambda checks the settings of a deployment on AWS", async () => {
  const { code, stdout } = await runProgram("doctor", { ...environment, ENCRYPTION_KEY: "" }, ["--lambda"]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^wrong +settings +ENCRYPTION_KEY is required$/m);
});

test("the doctor finds nothing wrong before the first start and creates no file", async () => {
  const folder = temporaryFolder();
  const { code, stdout } = await runProgram("doctor", { DATA_DIR: folder });
  expect(code).toBe(0);
  expect(stdout).toContain(`there is no database in ${folder} yet`);
  expect(readdirSync(folder)).toEqual([]);
});

test("the doctor checks an embedded database only while its service is stopped, and asks to stop it otherwise", async () => {
  const folder = dataFolder();
  const server = startProgram("main", { DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error" });
  await server.waitForOutput(/ready at (\S+)/);
  const refused = await runProgram("doctor", { DATA_DIR: folder });
  expect(refused).toMatchObject({ code: 1, stderr: "" });
  expect(refused.stdout).toMatch(/the service is running on .+ \(process \d+\)\n +-> Stop the service first/);
  await server.stop();
  const after = await runProgram("doctor", { DATA_DIR: folder });
  expect(after).toMatchObject({ code: 0, stderr: "" });
  expect(after.stdout).toContain("they run when the service starts");
  expect(existsSync(path.join(folder, "secrets"))).toBe(true);
});

test("the doctor reports a proxy that is missing from TRUSTED_PROXIES, and stops once it is added", async () => {
  const folder = dataFolder();
  const server = startProgram("main", { DATA_DIR: folder, PORT: "0", LOG_LEVEL: "warn" });
  const [, url] = await server.waitForOutput(/ready at (\S+)/);
  await fetch(`${url}/healthz`, { headers: { "x-forwarded-for": "203.0.113.1" } });
  await server.waitForOutput(/"http\.untrusted_proxy"/);
  await server.stop();
  const { code, stdout } = await runProgram("doctor", { DATA_DIR: folder });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^warning +settings +Requests from 127\.0\.0\.1 name other clients .*\n +-> .*TRUSTED_PROXIES/m);
  const listed = await runProgram("doctor", { DATA_DIR: folder, TRUSTED_PROXIES: "127.0.0.0/8" });
  expect(listed.stdout).not.toContain("X-Forwarded-For");
  await startProgram("main", { DATA_DIR: folder, PORT: "0" }).waitForOutput(/ready at/);
  expect(readdirSync(folder)).not.toContain("untrusted_proxies");
});

test("the doctor reports a wrong clock of the machine by comparing it with the database and the issuer", async () => {
  const clock = path.resolve(import.meta.dirname, "../support/clock.cjs");
  const CLOCK_FILE = path.join(temporaryFolder(), "clock");
  writeFileSync(CLOCK_FILE, String(5 * 60_000));
  const { stdout, code } = await runProgram("doctor", { ...environment, NODE_OPTIONS: `--require ${clock}`, CLOCK_FILE });
  expect(code).toBe(1);
  expect(stdout).toMatch(/wrong +database +its clock and that of this machine are 300 s apart \(it is behind\)/);
  expect(stdout).toMatch(/wrong +sign-in +its clock and that of this machine are (29\d|300) s apart/);
});

test.each([
  { args: ["--help"], code: 0, output: /npm run doctor -- --json/ },
  { args: ["--fix"], code: 2, output: /^Unknown option '--fix'/ },
  { args: ["gateways"], code: 2, output: /^Unexpected argument 'gateways'/ },
])("the doctor with the arguments $args exits with $code", async ({ args, code, output }) => {
  const result = await runProgram("doctor", {}, args);
  expect(result.code).toBe(code);
  expect(code === 0 ? result.stdout : result.stderr).toMatch(output);
});
