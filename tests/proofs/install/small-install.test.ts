import { chmodSync, chownSync, mkdirSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { copyProject, NOBODY, removeFolders, runShell, sizeInMegabytes, startIn, temporaryFolder } from "./copy.ts";

afterAll(removeFolders);

test("an installation without development packages starts the service", async () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  copyProject(folder, ["tests", "docs"]);
  runShell("npm ci --omit=dev", folder);
  process.stdout.write(`npm ci --omit=dev: ${sizeInMegabytes(path.join(folder, "node_modules"))} MB\n`);
  for (const name of [".data", "dist"]) {
    mkdirSync(path.join(folder, name));
    if (process.getuid?.() === 0) chownSync(path.join(folder, name), NOBODY, NOBODY);
  }
  for (const expected of [/^Preparing the programs/, /^$/]) {
    const service = await startIn(folder, ["npm", "start"], {
      PORT: "0",
      LOG_LEVEL: "error",
      npm_config_cache: path.join(folder, ".data/npm"),
    });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${service.url}/docs`)).status).toBe(200);
    await service.stop();
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow("fetch failed");
    expect(service.stderr.replaceAll(/^npm .*\n/gm, "")).toMatch(expected);
  }
});
