/** A file of an agent's workspace. */
export interface WorkspaceFile {
  name: string;
  content: string;
}

export const TOOLS = "TOOLS.md";

const MARKER = /^<!-- file: (\S+) -->[ \t]*$/;

/** A part of a file that carries others: what stands before the first marker has no name. */
interface Section {
  name: string | null;
  content: string;
}

/**
 * A file with the content of others that the host does not take, each under a line with its name. The one with the token
 * comes first, so that nothing anybody wrote can stand before it.
 */
export function carry(own: WorkspaceFile, tools: string | null, others: readonly WorkspaceFile[]): string {
  const mark = ({ name, content }: WorkspaceFile) => `<!-- file: ${name} -->\n${plain(content)}`;
  const first = own.content.trim() === "" ? [] : [tools === null ? plain(own.content) : mark(own)];
  const parts = [...(tools === null ? [] : [mark({ name: TOOLS, content: tools })]), ...first, ...others.map(mark)];
  return `${parts.join("\n\n")}\n`;
}

/** A line in the form of a marker is none when it is part of a content. */
const plain = (content: string): string => content.trim().replace(/^<!-- file: /gm, " $&");

function sectionsOf(text: string): Section[] {
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

/** The content of TOOLS.md in the file that carries it: only the part that comes first is ours for sure. */
export function toolsIn(text: string): string | null {
  const [first] = sectionsOf(text);
  return first?.name === TOOLS ? first.content : null;
}

/** What is a file's own in its text, whatever it carries beside. */
export function ownIn({ name, content }: WorkspaceFile): string {
  const own = sectionsOf(content).filter((section) => section.name === null || section.name === name);
  return own.map((section) => section.content).join("\n\n");
}
