import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { type Limits, readBody, type Web, WebError } from "../web/web.ts";
import { type Cache, createCache } from "./cache.ts";
import type { Directory } from "./directory.ts";
import type { SoulName } from "./name.ts";
import { parseSitemap } from "./sitemap.ts";

const LIMITS: Limits = { connect_ms: 5_000, total_ms: 15_000, max_bytes: 1_048_576 };
/** Characters of all kept texts together. */
const MAX_KEPT = 8_388_608;

interface Caches {
  index: Cache<readonly SoulName[]>;
  texts: Cache<string>;
}

/** Of this process: one for every way to the web, of which there is one outside of tests. */
const caches = new WeakMap<Web, Caches>();

function cachesOf(web: Web): Caches {
  const known = caches.get(web);
  if (known) return known;
  const made: Caches = {
    index: createCache({ max_size: 1, sizeOf: () => 1 }),
    texts: createCache({ max_size: MAX_KEPT, sizeOf: (text) => text.length }),
  };
  caches.set(web, made);
  return made;
}

/** The directory at `url`, which has no slash at its end (contract skills-souls.md §4). */
export function openRemote(ctx: Context, url: string): Directory {
  const { index, texts } = cachesOf(ctx.web);
  const markdownUrl = ({ handle, slug }: SoulName) => `${url}/api/souls/${handle}/${slug}.md`;

  async function readIndex(): Promise<readonly SoulName[]> {
    const text = await read(ctx, `${url}/sitemap.xml`);
    const names = text === null ? null : parseSitemap(text, url);
    if (names === null) throw failed(ctx, "there is no sitemap");
    return names;
  }

  return {
    list: async () => (await index.get(url, ctx.now(), readIndex)) ?? [],
    async find(name) {
      const at = markdownUrl(name);
      return texts.get(at, ctx.now(), () => read(ctx, at));
    },
    pageUrl: ({ handle, slug }) => `${url}/souls/${handle}/${slug}`,
    markdownUrl,
  };
}

const OK = 200;
const ABSENT = [404, 410];

/** The text at an address; null when the directory says that there is none. */
async function read(ctx: Context, at: string): Promise<string | null> {
  try {
    const answer = await ctx.web.get(at, LIMITS);
    if (answer.status === OK) return new TextDecoder().decode(await readBody(answer));
    await answer.body.return();
    if (ABSENT.includes(answer.status)) return null;
    throw failed(ctx, `it answered ${answer.status}`);
  } catch (error) {
    throw error instanceof WebError ? failed(ctx, error.message) : error;
  }
}

function failed(ctx: Context, reason: string): DomainError {
  ctx.log.warn("souls.directory_failed", "The souls directory could not be read", { reason });
  return new DomainError("unavailable", `Souls directory failed: ${reason}`);
}
