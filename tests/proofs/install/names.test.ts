/** Every file that names the package, the image or the chart uses the name of packages/board/name.mjs and the current version. */
import { randomBytes } from "node:crypto";
import { Environment } from "@board/core/config/environment";
import { expect, test } from "vitest";
import { parse, parseDocument } from "yaml";
import { IMAGE, MCP_NAME, NAME, REPOSITORY } from "../../../packages/board/name.mjs";
import { readProjectFile } from "./copy.ts";

const { version } = JSON.parse(readProjectFile("package.json"));

test("the chart has the name and the version of the package, and runs the image of that version", () => {
  const chart = parse(readProjectFile("deploy/helm/Chart.yaml"));
  expect(chart).toMatchObject({ apiVersion: "v2", name: NAME, version, appVersion: version });
  expect(parse(readProjectFile("deploy/helm/values.yaml")).image).toMatchObject({ repository: IMAGE, tag: "" });
});

test("the templates for container hosts run the image of this version and check whether it is ready", () => {
  const [service] = parse(readProjectFile("deploy/render.yaml")).services;
  expect(service).toMatchObject({ name: NAME, image: { url: `${IMAGE}:${version}` }, healthCheckPath: "/readyz" });
  const fly = readProjectFile("deploy/fly.toml");
  expect(fly).toContain(`app = "${NAME}"`);
  expect(fly).toContain(`image = "${IMAGE}:${version}"`);
  expect(fly).toContain('path = "/readyz"');
  const railway = JSON.parse(readProjectFile("deploy/railway.json"));
  expect(railway).toMatchObject({ build: { dockerfilePath: "Dockerfile" }, deploy: { healthcheckPath: "/readyz" } });
});

test("every setting that Render generates accepts what Render generates, which is 256 bits in Base64", () => {
  const groups: { envVars: { key: string; generateValue?: boolean }[] }[] = parse(
    readProjectFile("deploy/render.yaml"),
  ).envVarGroups;
  const generated = groups.flatMap(({ envVars }) => envVars.filter(({ generateValue }) => generateValue));
  const accepts = ({ key }: { key: string }) =>
    Environment.shape[key as keyof typeof Environment.shape].safeParse(randomBytes(32).toString("base64")).success;
  expect(generated.length).toBeGreaterThan(0);
  expect(generated.filter((setting) => !accepts(setting))).toEqual([]);
});

test("the entry of the MCP registry has the package of this version, and an address for a service that a team runs", () => {
  const server = JSON.parse(readProjectFile("server.json"));
  expect(server).toMatchObject({ name: MCP_NAME, version, repository: { url: REPOSITORY, source: "github" } });
  expect(server.name).toMatch(/^[a-zA-Z0-9.-]{1,100}\/[a-zA-Z0-9._-]{1,99}$/);
  expect(server.description.length).toBeLessThanOrEqual(100);
  expect(server.packages).toMatchObject([
    { registryType: "npm", identifier: NAME, version, transport: { type: "streamable-http" } },
  ]);
  expect(server.remotes).toMatchObject([{ type: "streamable-http", url: "https://{host}/mcp" }]);
  const secrets = [server.packages[0].transport, server.remotes[0]].flatMap(({ headers }) => headers);
  expect(secrets.every(({ isSecret }: { isSecret: boolean }) => isSecret)).toBe(true);
});

test("documents, image and workflow use the published name of the package", () => {
  for (const file of ["README.md", "packages/board/README.md", "Dockerfile", "docs/operating.md"])
    expect(readProjectFile(file), file).toContain(NAME);
  const workflow = parseDocument(readProjectFile(".github/workflows/release.yml"));
  expect(workflow.errors).toEqual([]);
  expect(workflow.toString()).toContain("packages/board/name.mjs");
});
