import { isSoulName, type SoulName } from "./soul-name.ts";

/**
 * Returns the souls in a sitemap, in its order and without duplicates: every `<loc>` whose path ends with `/souls/<handle>/<slug>`.
 * Null when the text is not a sitemap. Regular expressions that do not backtrack replace an XML parser, because only one kind of
 * element is needed.
 */
export function parseSitemap(text: string, base_url: string): SoulName[] | null {
  const xml = withoutComments(text);
  if (!/<(?:urlset|loc)[\s>]/.test(xml)) return null;
  const names = new Map<string, SoulName>();
  for (const [, plain, cdata] of xml.matchAll(/<loc\s*>(?:([^<]*)|\s*<!\[CDATA\[([^<]*)\]\]>\s*)<\/loc\s*>/g)) {
    const name = toName(cdata ?? decodeEntities(plain ?? ""), base_url);
    if (name) names.set(`${name.handle}/${name.slug}`, name);
  }
  return [...names.values()];
}

function withoutComments(xml: string): string {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const start = xml.indexOf("<!--", from);
    if (start < 0) return parts.join("") + xml.slice(from);
    parts.push(xml.slice(from, start));
    const end = xml.indexOf("-->", start);
    if (end < 0) return parts.join("");
    from = end + "-->".length;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const LAST_CODE_POINT = 0x10_ff_ff;

const decodeEntities = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]+));/gi, (whole, hex?: string, decimal?: string, named?: string) => {
    if (named !== undefined) return ENTITIES[named] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : whole;
  });

/** Ignores a prefix before `/souls/`, such as a language, because a soul is fetched by its handle and slug. */
function toName(loc: string, base_url: string): SoulName | null {
  const path = URL.parse(loc.trim(), base_url)?.pathname.replace(/\/$/, "") ?? "";
  const [souls, handle = "", slug = ""] = path.split("/").slice(-3);
  return souls === "souls" && isSoulName(handle) && isSoulName(slug) ? { handle, slug } : null;
}
