import { anyone } from "@board/core/context/actor";
import { notFound } from "@board/core/values/errors";
import type { Settings } from "@board/core/config/settings";
import * as z from "zod";
import { endpoint, type HttpExchange } from "../endpoint.ts";
import { json } from "../edge/errors.ts";
import { answerPublicFile, type EncodedFile, type PublicFile } from "../edge/public-file.ts";
import { lazyObject } from "@board/core/values/wire";

/**
 * The page that is shown while the console is being built. The build takes some seconds at the first start after an installation
 * without install scripts.
 */
const NOT_BUILT_HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="2">
<title>Board</title>
<p>The console is being built, which takes a few seconds. This page then opens by itself.</p>
<p>If it does not, run <code>npm run build -w packages/console</code> and look at its output. The API works meanwhile: <a href="/docs">reference</a>.</p>
</html>
`;

/** The name of a built file contains a hash of its content. */
const ASSET = /^[\w.-]+-[\w-]{8}\.(?:js|css|svg)$/;
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};
const YEAR_SECONDS = 31_536_000;
const DAY_SECONDS = 86_400;
/**
 * The icons of the console as an installed app. Their names stay the same in every build, because the web app manifest contains
 * them.
 */
const ICON = /^[a-z]+-\d{2,3}\.png$/;
const SUFFIXES = { br: ".br", gzip: ".gz" } as const;

const ConsoleConfig = lazyObject(() => ({
  auth: z.union([
    z.object({ mode: z.literal("local") }),
    z.object({ mode: z.literal("accounts"), ways: z.array(z.enum(["github", "google", "mail"])) }),
    z.object({
      mode: z.literal("oidc"),
      issuer: z.string(),
      client_id: z.string().nullable(),
      scope: z.string(),
      audience: z.string().nullable(),
    }),
  ]),
})).meta({ id: "ConsoleConfig", description: "How people sign in to the console." });

/** Declares the operation for a file of the console whose name stays the same in every build. */
const file = <Path extends `/${string}`>(path: Path, summary: string, headers: PublicFile["headers"]) =>
  endpoint("GET", path, { as: anyone, in_memory: true, summary, returns: z.string(), hidden: true }, (_ctx, { http }) =>
    answerFile(http, path.slice(1), headers),
  );

/** The console: a page of static files that uses this API like any other client. */
export const consolePage = [
  endpoint(
    "GET",
    "/",
    { as: anyone, in_memory: true, summary: "Open the console", returns: z.string(), media_type: "text/html", hidden: true },
    async (ctx, { http }) => {
      const headers = {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-security-policy": toContentSecurityPolicy(ctx.settings),
      };
      const page = await loadFile(http, "index.html", headers);
      return page ? answerPublicFile(page, http.headers) : new Response(NOT_BUILT_HTML, { headers });
    },
  ),
  endpoint(
    "GET",
    "/assets/{file}",
    { as: anyone, in_memory: true, summary: "Get a file of the console", returns: z.string(), hidden: true },
    async (_ctx, { params: { file }, http }) => {
      if (!ASSET.test(file)) throw notFound();
      return answerFile(http, `assets/${file}`, {
        "content-type": CONTENT_TYPES[file.split(".").at(-1)!]!,
        "cache-control": `public, max-age=${YEAR_SECONDS}, immutable`,
      });
    },
  ),
  file("/service-worker.js", "Get the service worker of the console", {
    "content-type": CONTENT_TYPES["js"]!,
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; connect-src 'self'",
  }),
  file("/manifest.webmanifest", "Get what a device needs to install the console", {
    "content-type": "application/manifest+json",
    "cache-control": "no-cache",
  }),
  endpoint(
    "GET",
    "/icons/{file}",
    { as: anyone, in_memory: true, summary: "Get an icon of the console", returns: z.string(), hidden: true },
    async (_ctx, { params: { file }, http }) => {
      if (!ICON.test(file)) throw notFound();
      const headers = { "content-type": "image/png", "cache-control": `public, max-age=${DAY_SECONDS}` };
      return answerFile(http, `icons/${file}`, headers);
    },
  ),
  endpoint(
    "GET",
    "/console/config.json",
    { as: anyone, in_memory: true, summary: "Get how people sign in to the console", returns: ConsoleConfig, hidden: true },
    async (ctx) => json(toConfig(ctx.settings), 200, { "cache-control": "no-store" }),
  ),
];

async function answerFile(http: HttpExchange, name: string, headers: PublicFile["headers"]): Promise<Response> {
  const found = await loadFile(http, name, headers);
  if (!found) throw notFound();
  return answerPublicFile(found, http.headers);
}

/** Returns a file of the console in the encodings from its build, or null if the file does not exist. */
const loadFile = (http: HttpExchange, name: string, headers: PublicFile["headers"]): Promise<EncodedFile | null> =>
  nullIfMissing(
    http.publicFile(`console/${name}`, async () => ({
      headers,
      bytes: await http.readConsoleFile(name),
      readEncoded: (encoding) => nullIfMissing(http.readConsoleFile(name + SUFFIXES[encoding])),
    })),
  );

const nullIfMissing = <T>(file: Promise<T>): Promise<T | null> =>
  file.catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });

function toConfig({ auth, mail }: Settings): z.infer<typeof ConsoleConfig> {
  if (auth.mode === "local") return { auth: { mode: "local" } };
  if (auth.mode === "accounts") {
    const offered = { github: auth.github, google: auth.google, mail };
    const ways = (["github", "google", "mail"] as const).filter((way) => offered[way] !== null);
    return { auth: { mode: "accounts", ways } };
  }
  const { client_id, scope } = auth.console;
  return { auth: { mode: "oidc", issuer: auth.issuer, client_id, scope, audience: auth.audience } };
}

/**
 * Allows only files and answers of the service itself. In OIDC mode it also allows the identity provider, which issues the token,
 * and with a bucket also the files of tasks there.
 */
function toContentSecurityPolicy({ auth, file_origin }: Settings): string {
  const provider = auth.mode === "oidc" ? [new URL(auth.issuer).origin, ...auth.console.origins] : [];
  const origins = file_origin === null ? provider : [...provider, file_origin];
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "manifest-src 'self'",
    `connect-src ${["'self'", ...new Set(origins)].join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}
