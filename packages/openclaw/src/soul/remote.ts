import { memoPerApp } from "@board/core/context/app-memo";
import type { Context } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { type FetchLimits, readBody, FetchError } from "@board/core/context/http-client";
import { type Cache, createCache } from "./cache.ts";
import type { SoulDirectory } from "./directory.ts";
import type { SoulName } from "./soul-name.ts";
import { parseSitemap } from "./sitemap.ts";

const LIMITS: FetchLimits = { connect_ms: 5_000, total_ms: 15_000, max_bytes: 1_048_576 };
/** Limit for the characters of all cached texts together. */
const MAX_CACHED_CHARS = 8_388_608;

interface Caches {
  index: Cache<readonly SoulName[]>;
  texts: Cache<string>;
}

const cachesOf = memoPerApp(
  (): Caches => ({
    index: createCache({ max_size: 1, sizeOf: () => 1 }),
    texts: createCache({ max_size: MAX_CACHED_CHARS, sizeOf: (text) => text.length }),
  }),
);

/** Creates the directory at `url`, which has no trailing slash (docs/reference/souls.md#remote-directory). */
export function createRemoteDirectory(ctx: Context, url: string): SoulDirectory {
  const { index, texts } = cachesOf(ctx);
  const markdownUrl = ({ handle, slug }: SoulName) => `${url}/api/souls/${handle}/${slug}.md`;

  async function readIndex(): Promise<readonly SoulName[]> {
    const text = await fetchText(ctx, `${url}/sitemap.xml`);
    const names = text === null ? null : parseSitemap(text, url);
    if (names === null) throw directoryUnavailable(ctx, "there is no sitemap");
    return names;
  }

  return {
    list: async () => (await index.get(url, ctx.now(), readIndex)) ?? [],
    async find(name) {
      const address = markdownUrl(name);
      return texts.get(address, ctx.now(), () => fetchText(ctx, address));
    },
    pageUrl: ({ handle, slug }) => `${url}/souls/${handle}/${slug}`,
    markdownUrl,
  };
}

const OK = 200;
const NOT_FOUND_STATUSES = [404, 410];

/** Returns the text at an address, or null when the directory answers 404 or 410. */
async function fetchText(ctx: Context, address: string): Promise<string | null> {
  try {
    const response = await ctx.http.get(address, LIMITS);
    if (response.status === OK) return new TextDecoder().decode(await readBody(response));
    await response.body.return();
    if (NOT_FOUND_STATUSES.includes(response.status)) return null;
    throw directoryUnavailable(ctx, `it answered ${response.status}`);
  } catch (error) {
    throw error instanceof FetchError ? directoryUnavailable(ctx, error.message) : error;
  }
}

function directoryUnavailable(ctx: Context, reason: string): DomainError {
  ctx.log.warn("souls.directory_failed", "The souls directory could not be read", { reason });
  return new DomainError("unavailable", `Souls directory failed: ${reason}`);
}
