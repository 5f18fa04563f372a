import * as z from "zod";
import type { Admin, Agent } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { DomainError, notFound } from "@board/core/values/errors";
import { MAX_NAME, QueryInteger, lazyObject } from "@board/core/values/wire";
import { openSoulDirectory } from "./open-directory.ts";
import { isSoulName, type SoulName } from "./soul-name.ts";
import { truncatable } from "@board/core/lists/large-fields";

const name = {
  handle: z.string().describe("Handle of the author."),
  slug: z.string().describe("Name of the soul, usually a role."),
};

const SoulEntry = lazyObject(() => ({
  ...name,
  page_url: z.string().describe("URL of the soul's page; a path while BASE_URL is unset."),
  raw_md_url: z.string().describe("URL of the soul's markdown; a path while BASE_URL is unset."),
})).meta({ id: "SoulEntry", description: "A soul as the directory lists it." });
type SoulEntry = z.infer<typeof SoulEntry>;

export const SoulsFound = lazyObject(() => ({
  items: z.array(SoulEntry).describe("The matching souls, in the order of the directory."),
})).meta({ id: "SoulsFound", description: "The result of a search." });
export type SoulsFound = z.infer<typeof SoulsFound>;

export const Soul = lazyObject(() => ({
  ...name,
  content: z.string().describe("The full text, as Markdown."),
  ...truncatable,
})).meta({ id: "Soul", description: "A template for an agent's SOUL.md." });
export type Soul = z.infer<typeof Soul>;

export const SoulQuery = lazyObject(() => ({
  q: z.string().trim().max(MAX_NAME).default("").describe("Part of `handle/slug`, ignoring case; blank matches all souls."),
  limit: QueryInteger(1, 100).default(20).describe("Maximum number of souls."),
}));
export type SoulQuery = z.infer<typeof SoulQuery>;

export async function searchSouls(ctx: Context<Admin | Agent>, { q, limit }: SoulQuery): Promise<SoulsFound> {
  const directory = await openSoulDirectory(ctx);
  const search = q.toLowerCase();
  const matching = (await directory.list()).filter(({ handle, slug }) => `${handle}/${slug}`.toLowerCase().includes(search));
  const items = matching.slice(0, limit).map(({ handle, slug }) => {
    const name = { handle, slug };
    return { ...name, page_url: directory.pageUrl(name), raw_md_url: directory.markdownUrl(name) };
  });
  return { items };
}

/** Reads a soul by its name. The slug may end with `.md`. */
export async function getSoul(ctx: Context<Admin | Agent>, sent: SoulName): Promise<Soul> {
  const handle = sent.handle.trim();
  const slug = sent.slug.trim().replace(/\.md$/, "");
  requireName("handle", handle);
  requireName("slug", slug);
  const content = await (await openSoulDirectory(ctx)).find({ handle, slug });
  if (content === null) throw notFound();
  return { handle, slug, content };
}

function requireName(field: string, text: string): void {
  if (text === "") throw new DomainError("invalid", `${field} is required`);
  if (!isSoulName(text))
    throw new DomainError(
      "invalid",
      `${field} has unsupported characters: use only letters, digits, - and _, starting with a letter or digit`,
    );
}
