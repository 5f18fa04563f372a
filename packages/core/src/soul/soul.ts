import * as z from "zod";
import type { Admin, Agent } from "../actor.ts";
import type { Context } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { MAX_NAME, QueryInteger } from "../wire.ts";
import { openDirectory } from "./directory.ts";
import { isName, type SoulName } from "./name.ts";

const name = {
  handle: z.string().describe("Whose soul it is."),
  slug: z.string().describe("Name of the soul, most often a role."),
};

const SoulEntry = z
  .object({
    ...name,
    page_url: z.string().describe("Where to read about it; a path while BASE_URL is unset."),
    raw_md_url: z.string().describe("Where its markdown is; a path while BASE_URL is unset."),
  })
  .meta({ id: "SoulEntry", description: "A soul as the directory lists it." });
type SoulEntry = z.infer<typeof SoulEntry>;

export const SoulsFound = z
  .object({ items: z.array(SoulEntry).describe("In the directory's order.") })
  .meta({ id: "SoulsFound", description: "What a search has found." });
export type SoulsFound = z.infer<typeof SoulsFound>;

export const Soul = z
  .object({ ...name, content: z.string().describe("The whole text, Markdown.") })
  .meta({ id: "Soul", description: "A template for an agent's SOUL.md." });
export type Soul = z.infer<typeof Soul>;

export const SoulQuery = z.object({
  q: z.string().trim().max(MAX_NAME).default("").describe("Part of handle/slug, in any case; blank finds the first ones."),
  limit: QueryInteger(1, 100).default(20).describe("How many souls at the most."),
});
export type SoulQuery = z.infer<typeof SoulQuery>;

export async function searchSouls(ctx: Context<Admin | Agent>, { q, limit }: SoulQuery): Promise<SoulsFound> {
  const directory = await openDirectory(ctx);
  const wanted = q.toLowerCase();
  const found = (await directory.list()).filter(({ handle, slug }) => `${handle}/${slug}`.toLowerCase().includes(wanted));
  const items = found.slice(0, limit).map(({ handle, slug }) => {
    const one = { handle, slug };
    return { ...one, page_url: directory.pageUrl(one), raw_md_url: directory.markdownUrl(one) };
  });
  return { items };
}

/** A soul by its name; the slug may end with `.md`. */
export async function getSoul(ctx: Context<Admin | Agent>, sent: SoulName): Promise<Soul> {
  const handle = sent.handle.trim();
  const slug = sent.slug.trim().replace(/\.md$/, "");
  requireName("handle", handle);
  requireName("slug", slug);
  const content = await (await openDirectory(ctx)).find({ handle, slug });
  if (content === null) throw notFound();
  return { handle, slug, content };
}

function requireName(what: string, text: string): void {
  if (text === "") throw new DomainError("invalid", `${what} is required`);
  if (!isName(text))
    throw new DomainError(
      "invalid",
      `${what} has unsupported characters: letters, digits, - and _ only, first a letter or digit`,
    );
}
