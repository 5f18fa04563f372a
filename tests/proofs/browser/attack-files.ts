/** Files that attack the people who open them, and a page that opens these files in every way in which a page can. */

/** Tells all pages of its origin that it runs. A script without this origin reaches none of them. */
const SCRIPT = 'new BroadcastChannel("attack").postMessage("ran")';
const HTML = `<!doctype html><script>${SCRIPT}</script>`;

export interface AttackFile {
  name: string;
  /** The content type that the attacker declares; empty if the upload declares no type. */
  content_type: string;
  content: Buffer;
}

const file = (name: string, content_type: string, ...parts: (string | number[])[]): AttackFile => ({
  name,
  content_type,
  content: Buffer.concat(parts.map((part) => Buffer.from(part as string))),
});

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const UTF_16 = Buffer.from(`\uFEFF${HTML}`, "utf16le");

/** Each of these files harms a person if the service sends it with the content type that the attacker declared. */
export const HARMFUL: readonly AttackFile[] = [
  file("page.html", "text/html", HTML),
  file("utf-16.html", "text/html", [...UTF_16]),
  file("picture.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}</script></svg>`),
  file("page.xhtml", "application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><script>${SCRIPT}</script></html>`),
  file(
    "data.xml",
    "text/xml",
    `<?xml version="1.0"?><x><s xmlns="http://www.w3.org/1999/xhtml"><script>${SCRIPT}</script></s></x>`,
  ),
  file("code.js", "text/javascript", SCRIPT),
  file("module.mjs", "application/javascript", `${SCRIPT}; export default 1`),
  file("style.css", "text/css", "html { outline-width: 7px !important }"),
  file("program.wasm", "application/wasm", [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]),
  file("png-and-html.png", "text/html", PNG, HTML),
  file("jpeg-and-html.jpg", "text/html", [0xff, 0xd8, 0xff], HTML),
  file("gif-and-script.gif", "text/javascript", `GIF89a=1;${SCRIPT}`),
  file("pdf-and-html.pdf", "text/html", `%PDF-1.4\n${HTML}`),
  file("riff-and-html.webp", "text/html", `RIFF0000WEBP${HTML}`),
  file("no-type", "", HTML),
  file("sniffed-as-html", "application/unknown", HTML),
  file("script-without-type", "", SCRIPT),
  file("script-as-json.json", "application/json", SCRIPT),
  file("script-as-markdown.md", "text/markdown", SCRIPT),
  file("script-as-text.txt", "text/plain", SCRIPT),
  file("script-as-diff.diff", "text/x-diff", SCRIPT),
];

const MHTML = `MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="b"

--b
Content-Type: text/html

${HTML}
--b--
`;
const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>>>endobj
2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj
trailer<</Root 1 0 R>>
`;

/** Chromium does not execute these files from the web, whatever their type is, but other browsers may. */
export const FOR_OTHER_BROWSERS: readonly AttackFile[] = [
  file("feed.rss", "application/rss+xml", `<rss><script xmlns="http://www.w3.org/1999/xhtml">${SCRIPT}</script></rss>`),
  file("page.mhtml", "multipart/related", MHTML),
  file("page.mht", "message/rfc822", MHTML),
  file("form.pdf", "application/pdf", PDF),
  file("parts.html", "multipart/x-mixed-replace;boundary=b", `--b\r\nContent-Type: text/html\r\n\r\n${HTML}\r\n--b--`),
  file("movie.swf", "application/x-shockwave-flash", "FWS\u0009"),
  file("page.hta", "application/hta", HTML),
];

/** A page without a doctype. Browsers show it in quirks mode, in which it may use a stylesheet of any content type. */
export const ATTACK_PAGE = "<html><title>Attack</title><body></body></html>";

/**
 * A script for the page: `open(way, address)` opens the address, and resolves once the browser has decided about it. For a frame,
 * it resolves at once, so a test waits until a frame that was opened later has run. `seen` collects what did harm.
 */
export const ATTACKS = `
  const seen = [];
  new BroadcastChannel("attack").onmessage = ({ data }) => seen.push(data);
  const add = (tag, fields) => new Promise((resolve) => {
    const node = Object.assign(document.createElement(tag), { onload: resolve, onerror: resolve }, fields);
    document.body.append(node);
  });
  const frame = (tag, fields) => void document.body.append(Object.assign(document.createElement(tag), fields));
  const ended = (worker) => new Promise((resolve) => {
    worker.onerror = resolve;
    new BroadcastChannel("attack").onmessage = resolve;
  });
  const importing = (address) => URL.createObjectURL(new Blob(["try { importScripts('" + new URL(address, location) + "') } catch {} postMessage(1)"]));
  const ways = {
    frame: (src) => frame("iframe", { src }),
    object: (data) => frame("object", { data }),
    embed: (src) => frame("embed", { src }),
    script: (src) => add("script", { src }),
    module: (src) => add("script", { src, type: "module" }),
    import: (src) => import(src).catch(() => {}),
    worker: (src) => ended(new Worker(src)),
    imported: (src) => new Promise((resolve) => (new Worker(importing(src)).onmessage = resolve)),
    service: (src) => navigator.serviceWorker.register(src).then((found) => found.unregister()).catch(() => {}),
    style: (href) => add("link", { href, rel: "stylesheet" })
      .then(() => getComputedStyle(document.documentElement).outlineWidth === "7px" && seen.push("styled")),
    wasm: (src) => WebAssembly.compileStreaming(fetch(src)).then(() => seen.push("compiled")).catch(() => {}),
  };
  globalThis.attack = { ways: Object.keys(ways), seen, open: async (way, address) => void (await ways[way](address)) };
`;
