import { installLocked } from "../gateways/install.ts";

/**
 * Installs the programs themselves. Their launchers, which choose a program for the machine, would need install scripts of npm.
 */
export default async function install(): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("The clients of these tests are those for Linux x64.");
  await installLocked(import.meta.dirname, "MCP clients");
}
