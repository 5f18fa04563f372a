import { installLocked } from "../gateways/install.ts";

/** Installs the programs themselves, without the launchers that choose one by the machine and need scripts of npm. */
export default async function install(): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("The clients of these tests are those for Linux x64.");
  await installLocked(import.meta.dirname, "MCP clients");
}
