import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { endpoints } from "@board/api/groups";
import { buildRoleDocument } from "@board/api/openapi/role-document";

/**
 * The table of operations for people, which `npm run docs:console` writes. Its last column says where the console offers an
 * operation. People edit this column, so it is kept when the table is written. A test refuses a row without it.
 */
export const OPERATIONS_FILE = fileURLToPath(new URL("../../../docs/console-operations.md", import.meta.url));

export const NOT_PLACED = "not placed";

const ROW = /^\| `([a-z0-9_]+)` \|.*\| ([^|]+) \|$/;

const HEAD = `# Operations in the console

Every operation that people may call, and where the console does it, or why it does not. Written by \`npm run docs:console\` from the
OpenAPI document; the last column is kept. Paths without \`/api/v1\`, which exist for older clients, are left out.

| Operation | Request | What | In the console |
|---|---|---|---|
`;

interface Operation {
  operationId?: string;
  summary?: string;
}

/** Reads the last column of the file: where the console offers each operation. */
function readPlaces(): Map<string, string> {
  return new Map(readFileSync(OPERATIONS_FILE, "utf8").split("\n").flatMap(placeOf));
}

function placeOf(row: string): [string, string][] {
  const match = ROW.exec(row);
  return match ? [[match[1]!, match[2]!.trim()]] : [];
}

/** Renders the table for the operations of this version. */
export function renderOperations(): string {
  const { paths } = buildRoleDocument(endpoints, { base_url: null, stream_url: null }, "user") as {
    paths: Record<string, Record<string, Operation>>;
  };
  const places = readPlaces();
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId = "" }]) => operationId !== "" && !operationId.endsWith("_unversioned"))
      .map(([method, { operationId = "", summary = "" }]) => {
        const request = `${method.toUpperCase()} ${path.replace("/api/v1", "…")}`;
        return `| \`${operationId}\` | \`${request}\` | ${summary} | ${places.get(operationId) ?? NOT_PLACED} |\n`;
      }),
  );
  return HEAD + rows.join("");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(OPERATIONS_FILE, renderOperations());
