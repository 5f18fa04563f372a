/** Tests the client as a package, and every example of docs/client.md. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stripTypeScriptTypes } from "node:module";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { blocksOf, installClient, oldestNode } from "../support/packages.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const root = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

const world = await setupWorld({ streams: { poll_ms: 20 } });
const home = await openPullBoard(world, "home");
const server = await setup(serve((request) => world.app.fetch(request)));
const [folder, node] = await Promise.all([installClient(), oldestNode()]);
afterAll(cleanUpPrograms);

const [story, ...examples] = blocksOf("docs/client.md", "ts");

/** Returns a program with the later examples, which use the definitions of the first example. */
const program = (lines: readonly string[]) => `${story}
const id = "";
const { id: task_id, board_id } = await you.post("/api/v1/boards/{board_id}/tasks", {
  params: { path: { board_id: process.env["BOARD"]! } },
  body: { title: "Count the lamps" },
});
${lines.map((block) => `{\n${block}}\n`).join("")}`;

/** Runs a program in the folder of the package on the oldest supported Node. */
async function runProgram(source: string): Promise<string> {
  writeFileSync(path.join(folder, "program.js"), stripTypeScriptTypes(source.replaceAll("http://127.0.0.1:8000", server.url)));
  const env = { PATH: process.env["PATH"], TOKEN: home.owner.token, BOARD: home.board_id, GATEWAY: home.gateway_id };
  return (await run(node, ["program.js"], { cwd: folder, env })).stdout;
}

test("the first example in docs/client.md is the one that the tests compile", () => {
  expect(story).toBe(readFileSync(path.join(root, "tests/client/story.ts"), "utf8"));
});

test("the packed client needs no file of this repository and runs on the oldest supported Node", async () => {
  const manifest = JSON.parse(readFileSync(path.join(folder, "node_modules/@board/client/package.json"), "utf8"));
  expect(manifest).toMatchObject({ license: "MIT", engines: { node: ">=20.19" }, dependencies: { "openapi-fetch": "0.17.0" } });
  expect(manifest.private).toBeUndefined();
  const version = await runProgram(`console.log(process.version)`);
  expect(version).toMatch(/^v20\.19\./);
});

test("the first example of docs/client.md runs on the oldest supported Node", async () => {
  const output = await runProgram(`${story}
const { board_id, agent } = await hire(process.env["GATEWAY"]!);
const params = { path: { board_id } };
await you.post("/api/v1/boards/{board_id}/tasks", { params, body: { title: "Count the lamps" } });
const taken = await takeTask(agent, board_id);
console.log(taken!.title, taken!.status, await takeTask(agent, board_id));
const over = new AbortController();
const approved = approveAll(board_id, over.signal).catch(() => {});
// The stream may open after the first requests, and shows only later ones, so requests are repeated until one is approved.
for (let isApproved = false; !isApproved; ) {
  await agent.post("/api/v1/agent/boards/{board_id}/approvals", { params, body: { action_type: "deploy", description: "It is ready" } });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { items } = await you.get("/api/v1/boards/{board_id}/approvals", { params });
  isApproved = items.some(({ status }) => status === "approved");
}
over.abort();
await approved;
console.log("approved");
`);
  expect(output).toBe("Count the lamps in_progress null\napproved\n");
});

test("the other examples of docs/client.md run on the oldest supported Node", async () => {
  expect(examples).toHaveLength(4);
  const output = await runProgram(program(examples));
  expect(output).toContain("Count the lamps, twice\n");
  expect(output).toMatch(/^created [\w-]{36} \S+$/m);
});

test("the example in the README of the package prints what it says, on the oldest supported Node", async () => {
  const [example] = blocksOf("packages/client/README.md", "ts");
  expect(await runProgram(example!)).toBe("Count the lamps inbox\n404 Not Found\n");
});

test("the examples of docs/client.md compile against the types of the packed client", async () => {
  writeFileSync(path.join(folder, "program.ts"), program(examples));
  writeFileSync(
    path.join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "ES2023",
        lib: ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
        module: "NodeNext",
        strict: true,
        noEmit: true,
        types: ["node"],
        typeRoots: [path.join(root, "node_modules/@types")],
      },
      files: ["program.ts"],
    }),
  );
  const compiler = path.join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [compiler, "-p", folder]).catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});

test("the packed client is bundled for browsers without any module of Node", async () => {
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "@board/client";', resolveDir: folder },
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
  });
  expect(outputFiles).toHaveLength(1);
  expect(outputFiles[0]!.text).not.toMatch(/from"node:|require\("/);
});
