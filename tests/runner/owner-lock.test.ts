import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { takeOwnership } from "../../packages/runner/src/owner-lock.ts";
import { temporaryFolder } from "../support/program.ts";

test("a lock names its owner from the moment at which other processes can see it", async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "run.lock");
  const module = new URL("../../packages/runner/src/owner-lock.ts", import.meta.url).href;
  const code = `import(${JSON.stringify(module)}).then(({ takeOwnership }) => {
    for (let n = 0; n < 3000; n++) takeOwnership(${JSON.stringify(file)})?.release();
  })`;
  const other = new Worker(code, { eval: true });
  let isOver = false;
  const ended = new Promise((resolve) => other.on("exit", resolve)).then(() => (isOver = true));
  const texts = new Set<string>();
  while (!isOver) {
    for (let n = 0; n < 200; n++)
      try {
        if (existsSync(file)) texts.add(readFileSync(file, "utf8"));
      } catch {
        // The other thread has just released the lock.
      }
    // oxlint-disable-next-line no-await-in-loop -- lets the end of the other thread be noticed
    await new Promise(setImmediate);
  }
  await ended;
  expect(texts.size).toBeGreaterThan(0);
  expect([...texts].filter((text) => !text.includes('"nonce"'))).toEqual([]);
  takeOwnership(file)!.release();
  expect(readdirSync(folder)).toEqual([]);
});
