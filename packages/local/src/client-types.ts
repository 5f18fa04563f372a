import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { endpoints } from "@board/api/groups";
import { openApiDocument } from "@board/api/openapi";
import { toModule } from "@board/client/generate";

const FILE = fileURLToPath(import.meta.resolve("@board/client/api"));

/** The types of the client, from the document that every service of this version serves. */
export const renderClientTypes = (): Promise<string> =>
  toModule(openApiDocument(endpoints, { base_url: null, stream_url: null }));

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, await renderClientTypes());
