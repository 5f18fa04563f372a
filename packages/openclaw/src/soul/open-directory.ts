import type { Context } from "@board/core/context/context";
import type { SoulDirectory } from "./directory.ts";

/** Opens the directory at SOULS_DIRECTORY_URL, else the built-in directory. Each module is loaded on first use. */
export async function openSoulDirectory(ctx: Context): Promise<SoulDirectory> {
  const { souls_directory_url, base_url } = ctx.settings;
  if (souls_directory_url === null) return (await import("./built-in.ts")).createBuiltInDirectory(base_url ?? "");
  return (await import("./remote.ts")).createRemoteDirectory(ctx, souls_directory_url);
}
