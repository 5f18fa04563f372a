import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { endpoints } from "@board/api/groups";
import { buildOpenApiDocument } from "@board/api/openapi/openapi";
import { renderModule } from "@board/client/generate";

const CLIENT_TYPES_FILE = fileURLToPath(import.meta.resolve("@board/client/api"));

/** Renders the types of the client from the OpenAPI document of this version. */
export const renderClientTypes = (): Promise<string> =>
  renderModule(buildOpenApiDocument(endpoints, { base_url: null, stream_url: null }));

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(CLIENT_TYPES_FILE, await renderClientTypes());
