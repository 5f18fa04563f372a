/** Checks the OpenAPI documents by the recommended rules of Redocly and Spectral. Prints each problem, and fails on any. */
import { endpoints } from "@board/api/groups";
import { buildOpenApiDocument } from "@board/api/openapi/openapi";
import { buildRoleDocument, type DocumentRole } from "@board/api/openapi/role-document";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectralCore from "@stoplight/spectral-core";
import spectralRulesets from "@stoplight/spectral-rulesets";

const addresses = { base_url: "https://board.example", stream_url: "https://streams.example" };
const ROLES: readonly DocumentRole[] = ["agent-lead", "agent-worker", "agent-main", "user"];
const documents = [
  { name: "openapi.json", document: buildOpenApiDocument(endpoints, addresses) },
  ...ROLES.map((role) => ({ name: `openapi.json?role=${role}`, document: buildRoleDocument(endpoints, addresses, role) })),
];

const config = await createConfig({ extends: ["recommended"] });
const spectral = new spectralCore.Spectral();
spectral.setRuleset({ extends: [[spectralRulesets.oas as never, "recommended"]] });

let problems = 0;
function report(name: string, rule: string, place: string, message: string): void {
  problems += 1;
  process.stderr.write(`${name} ${place}: ${message} (${rule})\n`);
}

for (const { name, document } of documents) {
  const source = JSON.stringify(document);
  for (const { ruleId, message, location } of await lintFromString({ source, config }))
    report(name, `redocly ${ruleId}`, location[0]?.pointer ?? "", message);
  for (const { code, message, path } of await spectral.run(JSON.parse(source) as Record<string, unknown>))
    report(name, `spectral ${code}`, path.join("/"), message);
}
process.stdout.write(`${documents.length} OpenAPI documents checked, ${problems} problems\n`);
process.exitCode = problems > 0 ? 1 : 0;
