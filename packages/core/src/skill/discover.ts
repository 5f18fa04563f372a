import { DomainError } from "../values/errors.ts";
import { readBody, type HttpClient, type HttpResponse, FetchError } from "../context/http-client.ts";
import { MAX_URL } from "../values/wire.ts";
import { type DiscoveredSkill, INDEX_FILE, type PackSource, Warnings } from "./discovered-skill.ts";

/** Limits for reading a pack (docs/reference/skills.md#sync-of-a-pack). `max_bytes` applies to the download and to its unpacked size. */
export const PACK_LIMITS = {
  connect_ms: 10_000,
  total_ms: 60_000,
  max_bytes: 50 * 1024 * 1024,
  files: 5_000,
};
type PackLimits = typeof PACK_LIMITS;

/** The front matter, heading and first line are at the beginning of a SKILL.md, so this much of the file is enough. */
const MAX_SKILL_FILE_BYTES = 32 * 1024;
const MAX_INDEX_BYTES = 16 * 1024 * 1024;
/** The share of the total time for fetching the index. If the index does not arrive, there is still enough time for the archive. */
const INDEX_TIME_SHARE = 0.25;

/** `deadline` is in milliseconds on the clock of `performance.now()`. */
type LimitsWithDeadline = PackLimits & { deadline: number };

export interface DiscoveredSkills {
  skills: DiscoveredSkill[];
  warnings: string[];
}

/**
 * Reads the skills of a pack from its code host: from its index, or from its SKILL.md files if there is no index. The index is
 * fetched alone, because the archives of large collections exceed the limits. Throws a DomainError or a FetchError.
 */
export async function discoverSkills(
  http: HttpClient,
  pack: PackSource,
  limits: PackLimits = PACK_LIMITS,
): Promise<DiscoveredSkills> {
  const started = performance.now();
  const deadline = started + limits.total_ms;
  const index = await fetchIndex(http, pack, { ...limits, deadline: started + INDEX_TIME_SHARE * limits.total_ms });
  const indexed = index === null ? null : await discoverFromIndex(index, pack, limits);
  return indexed ?? discoverFromArchive(http, pack, limits, deadline);
}

/** Returns the index of the branch. Returns null if there is none or the file cannot be fetched. */
async function fetchIndex(
  http: HttpClient,
  { source_url, branch }: PackSource,
  limits: LimitsWithDeadline,
): Promise<string | null> {
  const url = `https://raw.githubusercontent.com${repositoryPath(source_url)}/refs/heads/${branch}/${INDEX_FILE}`;
  try {
    const response = await http.get(url, { ...remainingTime(limits), max_bytes: MAX_INDEX_BYTES });
    if (response.status === 200) return new TextDecoder().decode(await readBody(response));
    await response.body.return();
  } catch (error) {
    // The error is ignored, because the archive is read next and also contains the index. If the archive cannot be read either, its
    // error is reported.
    if (!(error instanceof FetchError)) throw error;
  }
  return null;
}

async function discoverFromIndex(text: string, pack: PackSource, { files }: PackLimits): Promise<DiscoveredSkills | null> {
  const { parseIndex } = await import("./index-file.ts");
  const warnings = new Warnings();
  const skills = parseIndex(text, pack, files, warnings);
  return skills && { skills, warnings: warnings.list() };
}

async function discoverFromArchive(
  http: HttpClient,
  pack: PackSource,
  limits: PackLimits,
  deadline: number,
): Promise<DiscoveredSkills> {
  // These modules are imported when they are needed, because other operations need no parsers of YAML and archives.
  const [{ readArchive }, { parseIndex }, { parseSkillFile, SKILL_FILE }] = await Promise.all([
    import("./archive.ts"),
    import("./index-file.ts"),
    import("./skill-file.ts"),
  ]);
  const warnings = new Warnings();
  const { response, branch } = await openArchive(http, pack, { ...limits, deadline });
  if (branch !== pack.branch) warnings.add(`There is no branch ${pack.branch}; the repository's default branch was read`);
  const source = { source_url: pack.source_url, branch };

  const maxBytesOf = (path: string) => {
    if (path === INDEX_FILE) return MAX_INDEX_BYTES;
    const folders = path.split("/");
    return folders.pop() === SKILL_FILE && !folders.some((folder) => folder.startsWith(".")) ? MAX_SKILL_FILE_BYTES : null;
  };
  const archiveLimits = { unpacked_bytes: limits.max_bytes, files: limits.files, deadline };
  let indexed: DiscoveredSkill[] | null = null;
  /** The skills by URL, because an archive may contain a path twice. As with unpacking, the last file counts. */
  const fromFiles = new Map<string, DiscoveredSkill>();
  for await (const { path, content, is_cut } of readArchive(response.body, archiveLimits, maxBytesOf)) {
    const text = new TextDecoder().decode(content);
    if (path !== INDEX_FILE) {
      const skill = parseSkillFile(text, path.slice(0, -SKILL_FILE.length - 1), source);
      if (skill.source_url.length <= MAX_URL) fromFiles.set(skill.source_url, skill);
      else warnings.add(`The path of a ${SKILL_FILE} is too long: ${path}`);
    } else if (is_cut)
      warnings.add(`${INDEX_FILE} is larger than ${MAX_INDEX_BYTES} bytes; the SKILL.md files were read instead`);
    else indexed = parseIndex(text, source, limits.files, warnings);
  }
  return { skills: indexed ?? [...fromFiles.values()], warnings: warnings.list() };
}

/**
 * Opens the archive of the branch. If the branch does not exist, opens the archive of the default branch, which the code host calls
 * HEAD.
 */
async function openArchive(
  http: HttpClient,
  { source_url, branch }: PackSource,
  limits: LimitsWithDeadline,
): Promise<{ response: HttpResponse; branch: string }> {
  for (const [ref, name] of [
    [`refs/heads/${branch}`, branch],
    ["HEAD", "HEAD"],
  ] as const) {
    const url = `https://codeload.github.com${repositoryPath(source_url)}/tar.gz/${ref}`;
    const response = await http.get(url, { ...remainingTime(limits), max_bytes: limits.max_bytes });
    if (response.status === 200) return { response, branch: name };
    await response.body.return();
    if (response.status !== 404) throw new DomainError("unavailable", `The code host answered with status ${response.status}`);
  }
  throw new DomainError("unavailable", "The code host has no public repository of this name");
}

const repositoryPath = (source_url: string): string => new URL(source_url).pathname;

function remainingTime({ connect_ms, deadline }: LimitsWithDeadline): { connect_ms: number; total_ms: number } {
  const total_ms = Math.max(1, Math.round(deadline - performance.now()));
  return { connect_ms: Math.min(connect_ms, total_ms), total_ms };
}

/** Returns the error for the caller of a sync. Returns null if neither the pack nor its host caused the error. */
export function toSyncFailure(error: unknown): DomainError | null {
  if (error instanceof DomainError) return error;
  if (!(error instanceof FetchError)) return null;
  return new DomainError(error.problem === "too_large" ? "invalid" : "unavailable", error.message);
}
