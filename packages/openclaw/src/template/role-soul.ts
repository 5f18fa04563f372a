import { memoPerApp } from "@board/core/context/app-memo";
import type { Context } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { errorText } from "@board/core/values/log";
import { type SoulDirectory } from "../soul/directory.ts";
import { openSoulDirectory } from "../soul/open-directory.ts";
import type { SoulName } from "../soul/soul-name.ts";
import { truncate } from "@board/core/values/text";
import { slugify } from "@board/core/values/wire";
import { untilAborted } from "@board/core/values/concurrency";
import type { RoleSoul } from "./values.ts";

const MAX_CHARS = 24_000;
/** The limits below say how long rendering waits for the directory, and how long it skips a directory that failed. */
const TIMEOUT_MS = 5_000;
const COOLDOWN_MS = 30_000;

const cooldownOf = memoPerApp(() => ({ until_ms: 0 }));

/**
 * Finds the soul of a role in the souls directory (docs/reference/gateways.md#role-souls). Returns null when no soul matches or
 * the directory cannot be read, because an agent's files must not wait for it. The directory has a cache, so a sync run fetches
 * each soul once.
 */
export async function findRoleSoul(ctx: Context, role: string, timeout_ms = TIMEOUT_MS): Promise<RoleSoul | null> {
  const now = ctx.now().getTime();
  const cooldown = cooldownOf(ctx);
  if (now < cooldown.until_ms) return null;
  const startCooldown = () => void (cooldown.until_ms = now + COOLDOWN_MS);
  const timeout_signal = AbortSignal.timeout(timeout_ms);
  try {
    const soul = await untilAborted(readRoleSoul(ctx, role), timeout_signal);
    if (soul === undefined) startCooldown();
    return soul ?? null;
  } catch (error) {
    // The directory logs its own failures, which are DomainErrors. So only other errors are logged here.
    if (!(error instanceof DomainError)) ctx.log.error("souls.role_failed", errorText(error));
    startCooldown();
    return null;
  }
}

async function readRoleSoul(ctx: Context, role: string): Promise<RoleSoul | null> {
  const directory = await openSoulDirectory(ctx);
  const name = matchRole(await directory.list(), slugify(role, ""));
  const text = name && (await directory.find(name));
  return name && text?.trim() ? { markdown: truncate(text, MAX_CHARS), source_url: toAbsoluteUrl(ctx, directory, name) } : null;
}

/** Returns an absolute address, because a path alone means nothing in a file on a host. */
const toAbsoluteUrl = ({ settings }: Context, directory: SoulDirectory, name: SoulName): string =>
  new URL(directory.pageUrl(name), settings.service_url).href;

/**
 * Finds the soul for a role. A slug that equals the role wins, then a slug that starts with the role, then a slug that contains it,
 * then the soul with the most words of the role.
 */
function matchRole(souls: readonly SoulName[], role: string): SoulName | null {
  if (role === "") return null;
  const findShortest = (fits: (slug: string) => boolean) => shortest(souls.filter(({ slug }) => fits(slug.toLowerCase())));
  return (
    findShortest((slug) => slug === role) ??
    findShortest((slug) => slug.startsWith(`${role}-`)) ??
    findShortest((slug) => slug.includes(role)) ??
    findByWords(souls, new Set(role.split("-")))
  );
}

const MIN_WORDS = 2;

function findByWords(souls: readonly SoulName[], words: ReadonlySet<string>): SoulName | null {
  const scored = souls.map((soul) => {
    const text = `${soul.handle}-${soul.slug}`.toLowerCase();
    return { soul, hits: [...words].filter((word) => text.includes(word)).length };
  });
  const most = Math.max(MIN_WORDS, ...new Set(scored.map(({ hits }) => hits)));
  return shortest(scored.filter(({ hits }) => hits === most).map(({ soul }) => soul));
}

/** Returns the soul with the shortest slug; among equally long slugs, the first in the directory. */
const shortest = (souls: readonly SoulName[]): SoulName | null =>
  souls.toSorted((a, b) => a.slug.length - b.slug.length)[0] ?? null;
