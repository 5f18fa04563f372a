/** A file of an agent's workspace. */
export interface WorkspaceFile {
  name: string;
  content: string;
}

export const TOOLS_FILE = "TOOLS.md";

const MARKER = /^<!-- file: (\S+) -->[ \t]*$/;

/** A part of a file that contains other files. The part before the first marker has no name. */
interface Section {
  name: string | null;
  content: string;
}

/**
 * Combines a file with the contents of files that the host does not support, each under a marker line with its name
 * (docs/reference/gateways.md#file-fallback). TOOLS.md holds the token and comes first, so that no other text can pretend to be
 * TOOLS.md.
 */
export function combineFiles(own: WorkspaceFile, tools: string | null, others: readonly WorkspaceFile[]): string {
  const toSection = ({ name, content }: WorkspaceFile) => `<!-- file: ${name} -->\n${escapeMarkers(content)}`;
  const ownPart = own.content.trim() === "" ? [] : [tools === null ? escapeMarkers(own.content) : toSection(own)];
  const parts = [
    ...(tools === null ? [] : [toSection({ name: TOOLS_FILE, content: tools })]),
    ...ownPart,
    ...others.map(toSection),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** Indents lines that look like markers, so that the content of a file cannot create sections. */
const escapeMarkers = (content: string): string => content.trim().replace(/^<!-- file: /gm, " $&");

function parseSections(text: string): Section[] {
  const sections: { name: string | null; lines: string[] }[] = [{ name: null, lines: [] }];
  for (const line of text.split(/\r?\n/)) {
    const name = MARKER.exec(line)?.[1];
    if (name === undefined) sections.at(-1)!.lines.push(line);
    else sections.push({ name, lines: [] });
  }
  return sections
    .map(({ name, lines }) => ({ name, content: lines.join("\n").trim() }))
    .filter(({ name, content }) => name !== null || content !== "");
}

/**
 * Returns the content of TOOLS.md if a file contains it. Only the first section counts, because later sections may be text of
 * users.
 */
export function extractTools(text: string): string | null {
  const [section] = parseSections(text);
  return section?.name === TOOLS_FILE ? section.content : null;
}

/** Returns a file's own content, without the other files that it contains. */
export function extractOwnContent({ name, content }: WorkspaceFile): string {
  const own = parseSections(content).filter((section) => section.name === null || section.name === name);
  return own.map((section) => section.content).join("\n\n");
}
