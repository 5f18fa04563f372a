// Generates a migration from the tables, and keeps only the newest snapshot. drizzle-kit compares the tables with the newest
// snapshot. It never reads older snapshots, which have 8,000 lines each.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { root } from "./node-folder.mjs";

const { status } = spawnSync("drizzle-kit", ["generate", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  shell: process.platform === "win32",
});
if (status === 0) {
  const folder = path.join(root, "migrations/meta");
  const snapshots = readdirSync(folder).filter((name) => name.endsWith("_snapshot.json"));
  for (const name of snapshots.toSorted().slice(0, -1)) rmSync(path.join(folder, name));
}
process.exit(status ?? 1);
