// Unpacks SST's platform source and installs its providers into .sst, once per sst version: what `tsc` and the graph test
// need of SST, without an AWS account.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(path.join(root, "node_modules/sst/package.json"), "utf8"));
// Written last, so that an interrupted install is not taken for a finished one.
const marker = path.join(root, ".sst/installed");

if (!existsSync(marker) || readFileSync(marker, "utf8") !== version) {
  const { status, error } = spawnSync(
    process.execPath,
    [path.join(root, "node_modules/sst/bin/sst.mjs"), "install", "--stage", "ci"],
    {
      cwd: root,
      stdio: "inherit",
      env: {
        ...process.env,
        // Left alone, the CLI first fetches Pulumi and Bun from GitHub and reports its use.
        SST_SKIP_DEPENDENCY_CHECK: "1",
        NO_BUN: "1",
        SST_TELEMETRY_DISABLED: "1",
        // Its own npm install does not see this project's .npmrc.
        npm_config_ignore_scripts: "true",
        npm_config_audit: "false",
        npm_config_fund: "false",
      },
    },
  );
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(marker, version);
}
