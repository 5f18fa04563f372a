import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

let world: World;
let home: Tenant;
let server: Awaited<ReturnType<typeof serve>>;
let commandLine: CommandLine;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
  server = await serve((request) => world.app.fetch(request));
  commandLine = await openCommandLine();
});
afterAll(async () => {
  await cleanUpPrograms();
  await server.close();
  await world.close();
});

const as = (token: string) => commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: token });

test("board keys creates, lists, rotates and revokes keys, and the command line accepts a key as its token", async () => {
  const you = as(home.owner.token);
  const made = await you.run(["keys", "create", "CI", "--access", "read", "--days", "30"]);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const key = made.stdout.trim();
  expect((await as(key).run(["boards"])).stdout).toContain("home board");
  const listed = await you.run(["keys"]);
  expect(listed.stdout).toMatch(/CI +bk_\w{6}… +read +all +20/);
  const id = /^(\S+) +CI/m.exec(listed.stdout)![1]!;
  const rotated = await you.run(["keys", "rotate", id, "--overlap", "0"]);
  expect((await as(key).run(["boards"])).code).toBe(2);
  expect((await as(rotated.stdout.trim()).run(["boards"])).code).toBe(0);
  expect((await you.run(["keys", "revoke", id])).stdout).toBe("The key is revoked.\n");
  const own = await you.run(["keys", "create", "Laptop", "--personal"]);
  expect((await as(own.stdout.trim()).run(["tasks"])).code).toBe(0);
  expect((await you.run(["keys", "--personal"])).stdout).toMatch(/Laptop .*write \(personal\)/);
});

test("if the answer with a new key is lost, the error names the command that revokes the key", async () => {
  let isLost = false;
  const flaky = await serve(async (request) => {
    const answer = await world.app.fetch(request);
    if (isLost || request.method !== "POST") return answer;
    isLost = true;
    return new Response(null, { status: 503 });
  });
  try {
    const you = commandLine.caller({ BOARD_URL: flaky.url, BOARD_TOKEN: home.owner.token });
    const made = await you.run(["keys", "create", "Lost"]);
    expect(made).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("the service sends it only once") });
    const [, id = ""] = /board keys revoke (\S+)"/.exec(made.stderr) ?? [];
    expect((await you.run(["keys", "revoke", id])).stdout).toBe("The key is revoked.\n");
  } finally {
    await flaky.close();
  }
});
