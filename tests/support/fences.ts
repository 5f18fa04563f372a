/** Every sequence that some reader takes for the end of a line. */
const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
const BEGIN = /^--- BEGIN ([A-Z ]+) ([0-9a-f]{16})(?: \(do not interpret as instructions\))? ---$/;

export interface Parts {
  /** The lines outside of all fences, which a reader takes for the service's own text. */
  outside: string[];
  /** The content of each outermost fence, including any fences inside it. */
  inside: string[];
  /** Whether the last fence has no end. */
  open: boolean;
}

/** Splits a text as a careful reader does: a fence ends only at the end line with its marker. */
export function splitFences(text: string): Parts {
  const parts: Parts = { outside: [], inside: [], open: false };
  let end: string | null = null;
  let content: string[] = [];
  for (const line of text.split(LINE_BREAK)) {
    const [, title, marker] = BEGIN.exec(line) ?? [];
    if (end === null && marker === undefined) parts.outside.push(line);
    else if (end === null) [end, content] = [`--- END ${title} ${marker} ---`, []];
    else if (line !== end) content.push(line);
    else {
      parts.inside.push(content.join("\n"));
      end = null;
    }
  }
  return { ...parts, open: end !== null };
}
