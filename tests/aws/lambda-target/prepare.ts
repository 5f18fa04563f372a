import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stop } from "esbuild";
import type { TestProject } from "vitest/node";
import { bundleFunctions } from "../../support/bundle.ts";
import type {} from "../../support/lambda-world.ts";

/** Runs once: bundles every function. */
export default async function prepare(project: TestProject): Promise<() => void> {
  const bundles = mkdtempSync(path.join(tmpdir(), "board-bundles-"));
  await bundleFunctions(undefined, { into: bundles });
  // The bundler's process would keep gigabytes of memory until the end.
  await stop();
  project.provide("bundles", bundles);
  return () => rmSync(bundles, { recursive: true, force: true });
}
