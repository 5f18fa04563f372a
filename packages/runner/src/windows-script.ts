/** The command that starts a script of an npm package on Windows, where only the shell can start scripts. */
export interface ShellCommand {
  file: string;
  args: string[];
}

/** Characters that the shell of Windows interprets even inside quotes, or that end the quotes. */
const SHELL_SIGNS = /["%!^&|<>()\r\n]/;

/** Returns whether a file is a script of the shell of Windows, such as npx.cmd. */
export const isShellScript = (file: string, platform: NodeJS.Platform = process.platform): boolean =>
  platform === "win32" && /\.(cmd|bat)$/i.test(file);

/** Creates the shell command that starts a script. An argument that the shell would interpret is refused and not escaped. */
export function toShellCommand(file: string, args: readonly string[], environment: Record<string, string>): ShellCommand {
  const unsafe = args.find((arg) => SHELL_SIGNS.test(arg));
  if (unsafe !== undefined)
    throw new Error(
      `Windows starts ${file} by its shell, which would interpret characters in ${unsafe}. Name the program itself.`,
    );
  const quoted = [file, ...args].map((word) => (/^[\w@:./\\=-]+$/.test(word) ? word : `"${word}"`));
  return { file: environment["ComSpec"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${quoted.join(" ")}"`] };
}
