import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { errorText } from "../log.ts";
import { type Directory, openDirectory } from "../soul/directory.ts";
import type { SoulName } from "../soul/name.ts";
import { cut } from "../text.ts";
import type { Web } from "../web/web.ts";
import { slugify } from "../wire.ts";
import { unlessAborted } from "./patience.ts";
import type { RoleSoul } from "./values.ts";

const MAX_CHARS = 24_000;
/** Files wait no longer for a directory; and for so long none waits for one that failed. */
const PATIENCE_MS = 5_000;
const REST_MS = 30_000;

const resting = new WeakMap<Web, number>();

/**
 * The soul of a role from the souls directory, or null: there is none that fits, or the directory cannot be read, which
 * must hold up nobody's files (contract gateways.md §10.2). The directory keeps what it has read, so that the agents of a
 * run ask for it once.
 */
export async function findRoleSoul(ctx: Context, role: string, patience_ms = PATIENCE_MS): Promise<RoleSoul | null> {
  const now = ctx.now().getTime();
  if (now < (resting.get(ctx.web) ?? 0)) return null;
  const rest = () => void resting.set(ctx.web, now + REST_MS);
  const late = AbortSignal.timeout(patience_ms);
  try {
    const found = await unlessAborted(read(ctx, role), late);
    if (found === undefined) rest();
    return found ?? null;
  } catch (error) {
    // What the directory has to say for itself is in the log already.
    if (!(error instanceof DomainError)) ctx.log.error("souls.role_failed", errorText(error));
    rest();
    return null;
  }
}

async function read(ctx: Context, role: string): Promise<RoleSoul | null> {
  const directory = await openDirectory(ctx);
  const name = matchRole(await directory.list(), slugify(role, ""));
  const text = name && (await directory.find(name));
  return name && text?.trim() ? { markdown: cut(text, MAX_CHARS), source_url: addressOf(ctx, directory, name) } : null;
}

/** Absolute in any case: an agent's files have no address that a path could follow. */
const addressOf = ({ settings }: Context, directory: Directory, name: SoulName): string =>
  new URL(directory.pageUrl(name), settings.service_url).href;

/** The soul for a role by its slug: the same, one that goes on from it, one that holds it, or the one that shares most words. */
function matchRole(souls: readonly SoulName[], role: string): SoulName | null {
  if (role === "") return null;
  const having = (fits: (slug: string) => boolean) => shortest(souls.filter(({ slug }) => fits(slug.toLowerCase())));
  return (
    having((slug) => slug === role) ??
    having((slug) => slug.startsWith(`${role}-`)) ??
    having((slug) => slug.includes(role)) ??
    sharingWords(souls, new Set(role.split("-")))
  );
}

const MIN_WORDS = 2;

function sharingWords(souls: readonly SoulName[], words: ReadonlySet<string>): SoulName | null {
  const scored = souls.map((soul) => {
    const text = `${soul.handle}-${soul.slug}`.toLowerCase();
    return { soul, hits: [...words].filter((word) => text.includes(word)).length };
  });
  const most = Math.max(MIN_WORDS, ...new Set(scored.map(({ hits }) => hits)));
  return shortest(scored.filter(({ hits }) => hits === most).map(({ soul }) => soul));
}

/** Of several of the same length the first in the directory. */
const shortest = (souls: readonly SoulName[]): SoulName | null =>
  souls.toSorted((one, other) => one.slug.length - other.slug.length)[0] ?? null;
