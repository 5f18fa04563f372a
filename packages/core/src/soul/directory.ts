import type { Context } from "../context.ts";
import type { SoulName } from "./name.ts";

/** Where souls come from. A remote one throws `unavailable` when it fails and nothing of it was kept. */
export interface Directory {
  /** Every soul, in the directory's own order. */
  list(): Promise<readonly SoulName[]>;
  /** The markdown of a soul; null when there is none of that name. */
  find(name: SoulName): Promise<string | null>;
  /** Address of a soul for readers, and of its markdown: absolute, or from the service's root while BASE_URL is unset. */
  pageUrl(name: SoulName): string;
  markdownUrl(name: SoulName): string;
}

/** The directory of this service: that of SOULS_DIRECTORY_URL, else the built-in one. Each is loaded when it is used. */
export async function openDirectory(ctx: Context): Promise<Directory> {
  const { souls_directory_url, base_url } = ctx.settings;
  if (souls_directory_url === null) return (await import("./built-in.ts")).openBuiltIn(base_url ?? "");
  return (await import("./remote.ts")).openRemote(ctx, souls_directory_url);
}
