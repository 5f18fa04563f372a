/** How Windows starts a script of npm, which only its shell can do. */
export interface ShellCommand {
  file: string;
  args: string[];
}

/** Signs that the shell of Windows reads even in quotes, or that end them. */
const SHELL_SIGNS = /["%!^&|<>()\r\n]/;

/** Whether a file is a script of the shell of Windows, such as npx.cmd. */
export const isShellScript = (file: string, platform: NodeJS.Platform = process.platform): boolean =>
  platform === "win32" && /\.(cmd|bat)$/i.test(file);

/** The command of the shell that starts a script. A text that the shell would interpret is refused, not escaped. */
export function toShellCommand(file: string, args: readonly string[], environment: Record<string, string>): ShellCommand {
  const unsafe = args.find((arg) => SHELL_SIGNS.test(arg));
  if (unsafe !== undefined)
    throw new Error(`Windows starts ${file} by its shell, which would read signs in ${unsafe}. Name the program itself.`);
  const quoted = [file, ...args].map((word) => (/^[\w@:./\\=-]+$/.test(word) ? word : `"${word}"`));
  return { file: environment["ComSpec"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${quoted.join(" ")}"`] };
}
