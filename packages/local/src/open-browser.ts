import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** Returns the program with which this system opens a file in the browser, or null on a machine without a screen. */
function browserCommand({ platform, env }: Pick<NodeJS.Process, "platform" | "env">): string[] | null {
  if (env["CI"] || env["SSH_CONNECTION"] || env["BROWSER"] === "none") return null;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["explorer.exe"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : null;
}

/**
 * Opens an address that contains a token. The browser opens a private file that redirects to the address, because every user of the
 * machine can see the arguments of a program.
 */
export function openBrowser(url: string, folder: string): void {
  const [program, ...args] = browserCommand(process) ?? [];
  if (program === undefined) return;
  const file = path.join(folder, "secrets", "open.html");
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`, { mode: 0o600 });
  // Without a browser, the person can use the printed link.
  spawn(program, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
