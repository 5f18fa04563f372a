import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { cleanUpPrograms, type Program, readToken, runProgram, startProgram, temporaryFolder } from "../support/program.ts";

/** Expects that the output has a line for each milestone, in this order. */
function expectInOrder(stdout: string, milestones: RegExp[]): void {
  const lines = stdout.split("\n");
  for (const milestone of milestones) {
    const at = lines.findIndex((line) => milestone.test(line));
    expect(at, `${milestone} in its place in\n${stdout}`).toBeGreaterThanOrEqual(0);
    lines.splice(0, at + 1);
  }
}

test("the demo takes a customer's mail through review and approval to done, and no post is lost while the lead is offline", async () => {
  onTestFinished(cleanUpPrograms);
  const TMPDIR = temporaryFolder();
  // The demo must ignore settings that lead to real data.
  const { code, stdout, stderr } = await runProgram("demo", {
    TMPDIR,
    DEMO_SECONDS: "1",
    DATABASE_URL: "postgres://127.0.0.1:1/real",
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expectInOrder(stdout, [
    /service {4}http:\/\/127\.0\.0\.1:\d+$/,
    /document {3}http:\/\/127\.0\.0\.1:\d+\/openapi\.json$/,
    /token {6}in .*\/secrets\/local_auth_token$/,
    /you +set its rules: /,
    /customer +email from lea@mail\.example: .+ → 202$/,
    /Iris +reads the email from lea@mail\.example/,
    /Iris +creates #4 Refund order 4711 \(high, money, customers\) for Milo$/,
    /Milo +takes #4 Refund order 4711 for 60 s$/,
    /Milo +comments on #4: /,
    /Milo +asks in #4: @lead /,
    /Iris +answers in #4: /,
    /Milo +remembers: /,
    /Milo +moves #4 to review: /,
    /Iris +moves #4 to inbox: the receipt is missing/,
    /Milo +takes #4 /,
    /Milo +moves #4 to review: .+ receipt/,
    /Iris +moves #4 to done → 409, .+: Task can only be marked done when a linked approval has been approved\.$/,
    /Iris +asks you to approve #4: /,
    /you +approve #4$/,
    /Iris +moves #4 to done$/,
    /(Milo|Juno) +takes #5 /,
    /(Milo|Juno) +moves #5 to review: /,
    /you +approve #5$/,
    /Iris +moves #5 to done$/,
  ]);
  // A worker crashes while it holds a task. Another worker gets the task when its lease of one minute has expired.
  expectInOrder(stdout, [
    /you +create #1 /,
    /Rex +takes #1 .+ for 60 s, and crashes$/,
    /(Milo|Juno) +takes #1 /,
    /Iris +moves #1 to done$/,
  ]);
  // Either may happen first: a worker takes the task, or the lead reads that the task is free.
  expectInOrder(stdout, [/Rex +takes #1 /, /Iris +learns that #1 is free again/]);
  // The runner works on a task of code, and waits for a click before its agent runs the tests.
  expectInOrder(stdout, [
    /you +create #2 .+ for Nova, a coding agent$/,
    /Nova +takes #2 by board run$/,
    /Nova +#2 waits for a permission: node --test: click in the console/,
    /you +allow it in #2$/,
    /Nova +#2 permission approved: node --test$/,
    /Nova +#2 submitted for review$/,
    /Iris +asks you to approve #2: .+ The test passes\.$/,
    /Iris +moves #2 to done$/,
  ]);
  // A budget stops an agent, and another worker takes its task.
  expectInOrder(stdout, [
    /you +give Otto a budget of 40,000 tokens a day$/,
    /you +create #3 .+ for Otto$/,
    /Otto +takes #3 /,
    /Otto +has used 10,000 tokens for #3$/,
    /Otto +has used 40,000 tokens for #3: its budget is spent$/,
    /Otto +moves #3 to review → 409, its run was stopped$/,
    /Otto +asks for work → budget_exhausted$/,
    /(Milo|Juno) +moves #3 to review: it is called Luma/,
    /Iris +moves #3 to done$/,
  ]);
  // The fifth task waits until the fourth one is done. Then the lead goes offline.
  expectInOrder(stdout, [/Iris +creates #5 .+ after #4$/, /Iris +moves #4 to done$/, /(Milo|Juno) +takes #5/]);
  expectInOrder(stdout, [
    /Iris +moves #4 to done$/,
    /Iris +goes offline/,
    /customer +email from tomasz@mail\.example: .+ → 202$/,
    /monitor +warning alert: .+ → 202$/,
    /Iris +is back$/,
    /Iris +reads the email from tomasz@mail\.example: .+, \d+\.\d s after the post$/,
    /Iris +creates #6 Answer Tomasz: .+ for any worker$/,
    /(Milo|Juno) +moves #6 to review: /,
    /Iris +moves #6 to done$/,
  ]);
  expectInOrder(stdout, [
    /stranger +push by mallory: .+ → 403/,
    /Iris +notes: an alert/,
    /^ {2}accepted +3 /,
    /rejected +1 /,
    /handled +3 +none lost, none twice$/,
    /tasks +6 +all done$/,
    /approvals +7 +requested from you$/,
    /tokens +45400 +used for \$0\.28, as the agents reported$/,
    /^Next steps$/,
    /packages\/local\/src\/demo +shows how to use the API with the typed client and by MCP$/,
  ]);
  expect(stdout).not.toContain("\u001b");
  expect(readdirSync(TMPDIR)).toEqual([]);
});

const CLEANLY_STOPPED = {
  code: 0,
  signal: null,
  stderr: "",
  answers: "fetch failed",
  files: [],
  stdout: expect.stringMatching(/^ {2}accepted +\d/m),
};

describe("a demo without settings", () => {
  const demo = runDemo({});

  test("the demo, when its output is not a terminal, names the file of its token", async () => {
    const token = await readToken(demo.program);
    const answer = await fetch(`${demo.url}/api/v1/users/me`, { headers: { authorization: `Bearer ${token}` } });
    expect([answer.status, demo.program.stdout.includes(token)]).toEqual([200, false]);
  });

  test("SIGINT stops the running demo cleanly", async () => {
    expect(await demo.stop("SIGINT")).toEqual(CLEANLY_STOPPED);
  });
});

describe("a demo with settings", async () => {
  const [token, origin, PORT] = [
    "operator's own token ".repeat(3).replaceAll(" ", "-"),
    "http://localhost:3000",
    String(await freePort()),
  ];
  const demo = runDemo({ PORT, LOCAL_AUTH_TOKEN: token, CORS_ORIGINS: origin });

  test("the demo takes its port, its token and the origin of a dashboard from the environment", async () => {
    expect(new URL(demo.url).port).toBe(PORT);
    await demo.program.waitForOutput(/token {6}as set in LOCAL_AUTH_TOKEN$/m);
    const askFrom = (from: string) =>
      fetch(`${demo.url}/api/v1/users/me`, { headers: { authorization: `Bearer ${token}`, origin: from } });
    const answer = await askFrom(origin);
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
    await askFrom("http://elsewhere.example");
    await demo.program.waitForOutput(/http:\/\/elsewhere\.example .*CORS_ORIGINS/);
  });

  test("SIGTERM stops the running demo cleanly, and a token that the operator set was never printed", async () => {
    expect(await demo.stop("SIGTERM")).toEqual(CLEANLY_STOPPED);
    expect(demo.program.stdout).not.toContain(token);
  });
});

/** Starts a demo for the tests of a group, since a start takes seconds. The last of these tests stops the demo. */
function runDemo(environment: Record<string, string>) {
  const demo = {} as { program: Program; url: string };
  let TMPDIR: string;
  beforeAll(async () => {
    TMPDIR = temporaryFolder();
    demo.program = startProgram("demo", { TMPDIR, ...environment });
    demo.url = (await demo.program.waitForOutput(/service {4}(\S+)/))[1]!;
  });
  afterAll(cleanUpPrograms);
  return Object.assign(demo, {
    /** Stops the demo after its first step, and returns what is left of it. */
    async stop(signal: NodeJS.Signals) {
      const { program, url } = demo;
      await program.waitForOutput(/Iris +reads/);
      const status = await program.stop(signal);
      const answers = await fetch(`${url}/healthz`).catch((error: Error) => error.message);
      return { ...status, stderr: program.stderr, answers, files: readdirSync(TMPDIR), stdout: program.stdout };
    },
  });
}

test("a signal stops the demo while it is starting", async () => {
  onTestFinished(cleanUpPrograms);
  const TMPDIR = temporaryFolder();
  const demo = startProgram("demo", { TMPDIR });
  await demo.waitForOutput(/Starting/);
  expect(await demo.stop()).toEqual({ code: 0, signal: null });
  expect(demo.stderr).toBe("");
  expect(readdirSync(TMPDIR)).toEqual([]);
});

test("an invalid DEMO_SECONDS is reported in one line", async () => {
  onTestFinished(cleanUpPrograms);
  const refused = await runProgram("demo", { DEMO_SECONDS: "soon" });
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: "DEMO_SECONDS must be a whole number of seconds\n" });
});
