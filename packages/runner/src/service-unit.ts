import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/**
 * The file by which the operating system starts the runner at every sign-in, and the commands with which a person starts and stops
 * the runner.
 */
export interface ServiceUnit {
  file: string;
  text: string;
  start: string;
  stop: string;
}

interface UnitOptions {
  name: string;
  /** The program and its arguments. */
  command: readonly string[];
  folder: string;
  environment: NodeJS.ProcessEnv;
  platform?: NodeJS.Platform;
}

/** Variables that the runner and the coding agent need, but that the system does not pass to a service. */
const KEPT = ["PATH", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "BOARD_URL", "BOARD", "LANG"];

export function toServiceUnit({ name, command, folder, environment, platform = process.platform }: UnitOptions): ServiceUnit {
  const id =
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-|-$/g, "") || "agent";
  const home = environment["HOME"] || homedir();
  const kept = KEPT.flatMap((key) => (environment[key] ? [[key, environment[key]] as const] : []));
  if (platform === "linux") {
    const file = path.join(
      environment["XDG_CONFIG_HOME"] || path.join(home, ".config"),
      "systemd/user",
      `board-run-${id}.service`,
    );
    const unit = path.basename(file);
    return {
      file,
      text: [
        "[Unit]",
        "Description=Works on tasks of a board",
        "[Service]",
        `ExecStart=${command.map(quoteArgument).join(" ")}`,
        `WorkingDirectory=${folder.replaceAll("%", "%%")}`,
        ...kept.map(([key, value]) => `Environment=${quoteUnit(`${key}=${value}`)}`),
        "Restart=on-failure",
        "RestartSec=30",
        // The system first sends the signal only to the runner, which then releases its tasks and ends its agents.
        "KillMode=mixed",
        "TimeoutStopSec=60",
        "[Install]",
        "WantedBy=default.target",
        "",
      ].join("\n"),
      start: `systemctl --user daemon-reload && systemctl --user enable --now ${unit}`,
      stop: `systemctl --user disable --now ${unit}`,
    };
  }
  if (platform === "darwin") {
    const label = `board.run.${id}`;
    const file = path.join(home, "Library/LaunchAgents", `${label}.plist`);
    const strings = (texts: readonly string[]) => texts.map((text) => `<string>${escapeXml(text)}</string>`).join("");
    const variables = kept.map(([key, value]) => `<key>${key}</key><string>${escapeXml(value)}</string>`).join("");
    const body = [
      `<key>Label</key><string>${label}</string>`,
      `<key>ProgramArguments</key><array>${strings(command)}</array>`,
      `<key>WorkingDirectory</key><string>${escapeXml(folder)}</string>`,
      `<key>EnvironmentVariables</key><dict>${variables}</dict>`,
      "<key>RunAtLoad</key><true/>",
      "<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>",
      "<key>ExitTimeOut</key><integer>60</integer>",
    ].join("\n");
    return {
      file,
      text: `<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict>\n${body}\n</dict></plist>\n`,
      start: `launchctl load -w ${quoteShell(file)}`,
      stop: `launchctl unload -w ${quoteShell(file)}`,
    };
  }
  throw new Error("A service can be written for systemd (Linux) and launchd (macOS). On Windows use the task scheduler.");
}

export function writeServiceUnit({ file, text }: ServiceUnit): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
}

export function removeServiceUnit({ file }: ServiceUnit): boolean {
  const existed = existsSync(file);
  rmSync(file, { force: true });
  return existed;
}

/** Quotes a value of a systemd unit, in which % has a meaning. */
const quoteUnit = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll("%", "%%").replaceAll("\n", " ")}"`;

/** Quotes an argument of ExecStart, in which $ has a meaning too. In `Environment`, a doubled $ would stay doubled. */
const quoteArgument = (text: string): string => quoteUnit(text).replaceAll("$", "$$$$");

const quoteShell = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
