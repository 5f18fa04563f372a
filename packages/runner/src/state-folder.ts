import { homedir } from "node:os";
import path from "node:path";

/**
 * Returns the folder of the journals of runs: $XDG_STATE_HOME/board/runs, else ~/.local/state/board/runs. On Windows, the folder
 * is below %LOCALAPPDATA%.
 */
export function runsFolder(environment: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  const home = environment["HOME"] || homedir();
  const base =
    platform === "win32"
      ? environment["LOCALAPPDATA"] || path.join(home, "AppData/Local")
      : environment["XDG_STATE_HOME"] || path.join(home, ".local/state");
  return path.join(base, "board", "runs");
}
