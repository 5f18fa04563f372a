import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useLayoutEffect, useRef } from "preact/hooks";
import "../styles/markdown.css";

/** Texts with more characters than this are shown without rendering, which would block the page. */
const MAX_LENGTH = 100_000;
const MAX_NESTING = 50;

/**
 * The elements that Markdown itself produces. Pictures are left out, because the host of a picture would learn who reads the
 * text.
 */
const ALLOWED_TAGS = "p br hr h1 h2 h3 h4 h5 h6 strong em del code pre blockquote ul ol li a table thead tbody tr th td".split(
  " ",
);

/** Links may lead only to web pages and e-mail addresses, and not to views of this console. */
const ALLOWED_URI_REGEXP = /^(?:https?:|mailto:)/i;

/** The sign of a quote or of a list item. */
const SIGN = /[ \t]*(?:[>*+-]|\d{1,9}[.)])/y;

/** Checks for lines that begin with many signs of quotes or list items, because deep nesting takes long to render. */
const isDeep = (text: string): boolean =>
  text.split("\n").some((line) => {
    let signs = 0;
    for (SIGN.lastIndex = 0; signs <= MAX_NESTING && SIGN.test(line); ) signs++;
    return signs > MAX_NESTING && /\S/.test(line.replace(/[-*+>\s]/g, ""));
  });

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** The renderer, which shows HTML in a text as it was written and replaces a picture with its description. */
const marked = new Marked({
  async: false,
  gfm: true,
  breaks: true,
  renderer: { html: ({ text }) => escape(text), image: ({ text }) => escape(text) },
});

/** Renders Markdown into nodes. The purifier creates the nodes itself, so this page never inserts other people's text as HTML. */
function render(text: string): DocumentFragment {
  const html = marked.parse(text, { async: false });
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ["href", "align", "start"],
    ALLOWED_URI_REGEXP,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) {
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
  }
  // Only the page itself has headings. Headings in a text become paragraphs that look like headings.
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const line = document.createElement("p");
    line.className = `heading ${heading.tagName.toLowerCase()}`;
    line.append(...heading.childNodes);
    heading.replaceWith(line);
  }
  return fragment;
}

export function MarkdownText({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  const isPlain = text.length > MAX_LENGTH || isDeep(text);
  useLayoutEffect(() => {
    if (isPlain) return;
    try {
      place.current?.replaceChildren(render(text));
    } catch {
      // The parser gives up on some texts that nest deeply. They are shown as they were written.
      place.current?.replaceChildren(text);
    }
  }, [text, isPlain]);
  if (isPlain)
    return (
      <p class="text" dir="auto">
        {text}
      </p>
    );
  return <div class="markdown" dir="auto" ref={place} />;
}
