// Unpacks SST's platform source and installs its providers into .sst, once per SST version. `tsc` and the tests of infra
// need them; no AWS account is involved.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(path.join(root, "node_modules/sst/package.json"), "utf8"));
// This file is written last, so that an interrupted installation is repeated.
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
        // By default the CLI downloads Pulumi and Bun from GitHub and sends telemetry.
        SST_SKIP_DEPENDENCY_CHECK: "1",
        NO_BUN: "1",
        SST_TELEMETRY_DISABLED: "1",
        // The npm install that the CLI runs does not read the .npmrc of this project.
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
