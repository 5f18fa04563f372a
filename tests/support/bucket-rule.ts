/** The CORS rule that operators give to a bucket, as docs/deploying.md has it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { CorsRule } from "./fake-bucket.ts";

const DOCUMENT = path.resolve(import.meta.dirname, "../../docs/deploying.md");

export function documentedCorsRule(): CorsRule {
  const [, json] = /### CORS of the bucket\n[^]*?```json\n([^]*?)```/.exec(readFileSync(DOCUMENT, "utf8"))!;
  return (JSON.parse(json!) as { CORSRules: [CorsRule] }).CORSRules[0];
}
