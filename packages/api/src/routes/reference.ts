import { anyone } from "@board/core/context/actor";
import { notFound } from "@board/core/values/errors";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";
import type { DocumentRole } from "../openapi/role-document.ts";
import { answerPublicFile } from "../edge/public-file.ts";
import { lazyObject } from "@board/core/values/wire";

const REFERENCE_HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Board coordination API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>body { margin: 0 } .swagger-ui .topbar { display: none }</style>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script type="module" src="/docs/start.js"></script>
</html>
`;

/** Shows the operations in the document's order, without aliases. */
const START_SCRIPT = `const METHODS = ["get", "put", "post", "delete", "patch"];
const response = await fetch("/openapi.json");
const spec = await response.json();
for (const [path, item] of Object.entries(spec.paths)) {
  for (const method of METHODS) if (item[method]?.deprecated) delete item[method];
  if (!METHODS.some((method) => method in item)) delete spec.paths[path];
}
SwaggerUIBundle({ spec, dom_id: "#reference", deepLinking: true, docExpansion: "none", filter: true, showExtensions: true, persistAuthorization: true, validatorUrl: null });
`;

const CONTENT_TYPES: Readonly<Record<string, string>> = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" };
const ASSETS = ["swagger-ui.css", "swagger-ui-bundle.js"];
const DAY_SECONDS = 86_400;

/** Allows no third-party resources. Swagger UI needs inline styles. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ROLES = ["agent-lead", "agent-worker", "agent-main", "user"] as const satisfies readonly DocumentRole[];
const DocumentQuery = lazyObject(() => ({
  role: z
    .enum(ROLES)
    .optional()
    .describe("Only the operations that this role may call, with the components that they need; shortened for agents."),
}));

/** The OpenAPI document, and the API reference page that shows it. */
export const reference = [
  endpoint(
    "GET",
    "/openapi.json",
    {
      as: anyone,
      in_memory: true,
      summary: "Get the OpenAPI document",
      description:
        "Returns this document as OpenAPI 3.1. Agents filter the operations by the tag of their role, or ask for the short document of their role.",
      query: DocumentQuery,
      returns: z.record(z.string(), z.unknown()).meta({ id: "OpenApiDocument", description: "An OpenAPI 3.1 document." }),
    },
    async (ctx, { query: { role }, http }) =>
      answerPublicFile(
        await http.publicFile(`openapi:${role ?? "all"}`, async () => {
          // These modules are loaded on the first request, because the schema converter would slow down every cold start.
          const [{ buildOpenApiDocument }, { buildRoleDocument }, { endpoints }] = await Promise.all([
            import("../openapi/openapi.ts"),
            import("../openapi/role-document.ts"),
            import("../groups.ts"),
          ]);
          const { settings } = ctx;
          const document = role ? buildRoleDocument(endpoints, settings, role) : buildOpenApiDocument(endpoints, settings);
          const bytes = Buffer.from(JSON.stringify(document));
          return { headers: { "content-type": "application/json", "cache-control": "private, no-cache" }, bytes };
        }),
        http.headers,
      ),
  ),
  endpoint(
    "GET",
    "/docs",
    {
      as: anyone,
      in_memory: true,
      summary: "Read the API reference",
      returns: z.string(),
      media_type: "text/html",
      hidden: true,
    },
    async () =>
      new Response(REFERENCE_HTML, {
        headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": CONTENT_SECURITY_POLICY },
      }),
  ),
  endpoint(
    "GET",
    "/docs/{file}",
    { as: anyone, in_memory: true, summary: "Get a file of the API reference", returns: z.string(), hidden: true },
    async (_ctx, { params, http }) => {
      const { file } = params;
      if (file !== "start.js" && !ASSETS.includes(file)) throw notFound();
      const loaded = await http.publicFile(`docs/${file}`, async () => ({
        headers: { "content-type": CONTENT_TYPES[file.split(".").at(-1)!]!, "cache-control": `public, max-age=${DAY_SECONDS}` },
        bytes: file === "start.js" ? Buffer.from(START_SCRIPT) : await http.readAsset(file),
      }));
      return answerPublicFile(loaded, http.headers);
    },
  ),
];
