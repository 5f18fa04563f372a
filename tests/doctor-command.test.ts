import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Finding } from "@board/local/doctor/finding";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { bad, type Patient, startPatient } from "./support/doctor.ts";
import { cleanUp, dataFolder, runProgram, startProgram, temporaryFolder } from "./support/program.ts";

let patient: Patient;
let environment: Record<string, string>;

beforeAll(async () => {
  patient = await startPatient();
  ({ environment } = patient);
}, 60_000);
afterAll(() => patient.close());
afterEach(cleanUp);

test("it ends with 1 when something is wrong, and says so to people and to programs", async () => {
  const env = { ...environment, GATEWAY_MIN_VERSION: "2026.5.7" };
  const [text, json] = await Promise.all([runProgram("doctor", env), runProgram("doctor", env, ["--json"])]);
  expect(text).toMatchObject({ code: 1, stderr: "" });
  expect(text.stdout).toMatch(/^wrong {4}gateway home host {2}Gateway version .+\n {28}-> Update OpenClaw.+$/m);
  expect(text.stdout).toMatch(/\n\n\d ok, 0 warnings, 1 wrong\n$/);
  expect(json).toMatchObject({ code: 1, stderr: "" });
  const { ok, findings } = JSON.parse(json.stdout) as { ok: boolean; findings: Finding[] };
  expect([ok, bad(findings)]).toEqual([false, [expect.objectContaining({ check: "gateway home host", state: "wrong" })]]);
});

test("it takes settings for those of a stage on AWS when it is told to", async () => {
  const { code, stdout } = await runProgram("doctor", { ...environment, ENCRYPTION_KEY: "" }, ["--lambda"]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^wrong +settings +ENCRYPTION_KEY is required$/m);
});

test("before the first start there is nothing wrong, and nothing is made", async () => {
  const folder = temporaryFolder();
  const { code, stdout } = await runProgram("doctor", { DATA_DIR: folder });
  expect(code).toBe(0);
  expect(stdout).toContain(`there is none in ${folder} yet`);
  expect(readdirSync(folder)).toEqual([]);
});

test("an embedded database is looked at while its service is stopped; else it says to stop it", async () => {
  const folder = dataFolder();
  const server = startProgram("main", { DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error" });
  await server.says(/ready at (\S+)/);
  const refused = await runProgram("doctor", { DATA_DIR: folder });
  expect(refused).toMatchObject({ code: 1, stderr: "" });
  expect(refused.stdout).toMatch(/the service is running on .+ \(process \d+\)\n +-> Stop the service first/);
  await server.stop();
  const after = await runProgram("doctor", { DATA_DIR: folder });
  expect(after).toMatchObject({ code: 0, stderr: "" });
  expect(after.stdout).toContain("they go on when the service starts");
  expect(existsSync(path.join(folder, "secrets"))).toBe(true);
});

test("a machine whose clock is off is told by the database and the issuer", async () => {
  const clock = path.resolve(import.meta.dirname, "support/clock.cjs");
  const CLOCK_FILE = path.join(temporaryFolder(), "clock");
  writeFileSync(CLOCK_FILE, String(5 * 60_000));
  const { stdout, code } = await runProgram("doctor", { ...environment, NODE_OPTIONS: `--require ${clock}`, CLOCK_FILE });
  expect(code).toBe(1);
  expect(stdout).toMatch(/wrong +database +its clock and that of this machine are 300 s apart \(it is behind\)/);
  expect(stdout).toMatch(/wrong +sign-in +its clock and that of this machine are (29\d|300) s apart/);
});

test.each([
  { args: ["--help"], code: 0, told: /npm run doctor -- --json/ },
  { args: ["--fix"], code: 2, told: /^Unknown option '--fix'/ },
  { args: ["gateways"], code: 2, told: /^Unexpected argument 'gateways'/ },
])("$args ends with $code", async ({ args, code, told }) => {
  const ended = await runProgram("doctor", {}, args);
  expect(ended.code).toBe(code);
  expect(code === 0 ? ended.stdout : ended.stderr).toMatch(told);
});
