import { DomainError } from "../errors.ts";
import { readBody, type Web, type WebAnswer, WebError } from "../web/web.ts";
import { MAX_URL } from "../wire.ts";
import { type FoundSkill, INDEX_FILE, type Place, Warnings } from "./found.ts";

/** What reading a pack may cost (contract skills-souls.md §2); the bytes hold for the download and for what is in it. */
export const PACK_LIMITS = {
  connect_ms: 10_000,
  total_ms: 60_000,
  max_bytes: 50 * 1024 * 1024,
  files: 5_000,
};
export type PackLimits = typeof PACK_LIMITS;

/** Front matter, heading and first line stand at the beginning of a SKILL.md. */
const SKILL_BYTES = 32 * 1024;
const INDEX_BYTES = 16 * 1024 * 1024;
/** Of the whole time, for an index by itself: a host that never sends it must leave enough for the archive. */
const INDEX_SHARE = 0.25;

/** Limits, and when the time is over on the clock of `performance.now()`. */
type Fetching = PackLimits & { deadline: number };

export interface Collected {
  skills: FoundSkill[];
  warnings: string[];
}

/**
 * Reads a pack from its code host: the skills that its index lists, else those of its files. The index is asked for by
 * itself first, since the archives of large collections are beyond every limit. Throws a DomainError, or a WebError of the
 * host.
 */
export async function collectSkills(web: Web, pack: Place, limits: PackLimits = PACK_LIMITS): Promise<Collected> {
  const started = performance.now();
  const deadline = started + limits.total_ms;
  const index = await fetchIndex(web, pack, { ...limits, deadline: started + INDEX_SHARE * limits.total_ms });
  const listed = index === null ? null : await readIndexAlone(index, pack, limits);
  return listed ?? readRepository(web, pack, limits, deadline);
}

/** The text of the branch's index; null when it has none, or none that can be had by itself. */
async function fetchIndex(web: Web, { source_url, branch }: Place, limits: Fetching): Promise<string | null> {
  const url = `https://raw.githubusercontent.com${pathOf(source_url)}/refs/heads/${branch}/${INDEX_FILE}`;
  try {
    const answer = await web.get(url, { ...timeLeft(limits), max_bytes: INDEX_BYTES });
    if (answer.status === 200) return new TextDecoder().decode(await readBody(answer));
    await answer.body.return();
  } catch (error) {
    // The archive has it too, and what is wrong with the code host is told when that cannot be read either.
    if (!(error instanceof WebError)) throw error;
  }
  return null;
}

async function readIndexAlone(text: string, pack: Place, { files }: PackLimits): Promise<Collected | null> {
  const { readIndex } = await import("./index-file.ts");
  const warnings = new Warnings();
  const skills = readIndex(text, pack, files, warnings);
  return skills && { skills, warnings: warnings.list() };
}

async function readRepository(web: Web, pack: Place, limits: PackLimits, deadline: number): Promise<Collected> {
  // Loaded where a pack is read: the readers of YAML and of archives are for nothing else.
  const [{ readArchive }, { readIndex }, { readSkillFile, SKILL_FILE }] = await Promise.all([
    import("./archive.ts"),
    import("./index-file.ts"),
    import("./skill-file.ts"),
  ]);
  const warnings = new Warnings();
  const { answer, branch } = await openArchive(web, pack, { ...limits, deadline });
  if (branch !== pack.branch) warnings.add(`There is no branch ${pack.branch}; the repository's default branch was read`);
  const place = { source_url: pack.source_url, branch };

  const wanted = (path: string) => {
    if (path === INDEX_FILE) return INDEX_BYTES;
    const folders = path.split("/");
    return folders.pop() === SKILL_FILE && !folders.some((folder) => folder.startsWith(".")) ? SKILL_BYTES : null;
  };
  const cost = { unpacked_bytes: limits.max_bytes, files: limits.files, deadline };
  let listed: FoundSkill[] | null = null;
  /** An archive may name a path twice; as when it is unpacked, the last one counts. */
  const seen = new Map<string, FoundSkill>();
  for await (const { path, content, is_cut } of readArchive(answer.body, cost, wanted)) {
    const text = new TextDecoder().decode(content);
    if (path !== INDEX_FILE) {
      const skill = readSkillFile(text, path.slice(0, -SKILL_FILE.length - 1), place);
      if (skill.source_url.length <= MAX_URL) seen.set(skill.source_url, skill);
      else warnings.add(`The path of a ${SKILL_FILE} is too long: ${path}`);
    } else if (is_cut) warnings.add(`${INDEX_FILE} is larger than ${INDEX_BYTES} bytes; the pack was looked through instead`);
    else listed = readIndex(text, place, limits.files, warnings);
  }
  return { skills: listed ?? [...seen.values()], warnings: warnings.list() };
}

/** Of a branch that is not there the default branch takes the place; its name is not told, and HEAD stands for it. */
async function openArchive(
  web: Web,
  { source_url, branch }: Place,
  limits: Fetching,
): Promise<{ answer: WebAnswer; branch: string }> {
  for (const [ref, name] of [
    [`refs/heads/${branch}`, branch],
    ["HEAD", "HEAD"],
  ] as const) {
    const url = `https://codeload.github.com${pathOf(source_url)}/tar.gz/${ref}`;
    const answer = await web.get(url, { ...timeLeft(limits), max_bytes: limits.max_bytes });
    if (answer.status === 200) return { answer, branch: name };
    await answer.body.return();
    if (answer.status !== 404) throw new DomainError("unavailable", `The code host answered with status ${answer.status}`);
  }
  throw new DomainError("unavailable", "The code host has no public repository of this name");
}

const pathOf = (source_url: string): string => new URL(source_url).pathname;

function timeLeft({ connect_ms, deadline }: Fetching): { connect_ms: number; total_ms: number } {
  const total_ms = Math.max(1, Math.round(deadline - performance.now()));
  return { connect_ms: Math.min(connect_ms, total_ms), total_ms };
}

/** What whoever asked for a sync is told of its failure; null for what is no failure of the pack or its host. */
export function toFailure(error: unknown): DomainError | null {
  if (error instanceof DomainError) return error;
  if (!(error instanceof WebError)) return null;
  return new DomainError(error.problem === "too_large" ? "invalid" : "unavailable", error.message);
}
