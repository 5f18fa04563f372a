import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { archivePath, indexPath, createPackCalls, skillFile } from "../support/code-host.ts";
import { statusAndBody } from "../support/http.ts";
import { setupPacks, packSyncResult } from "./pack-fixture.ts";

/** A separate repository for each test, and its pack. */
let repository: string;
let id: string;

const { host, world, home, packs, openPack } = await setupPacks();
beforeEach(async () => {
  ({ repository, id } = await openPack());
});

const urlOf = (tail: string, branch = "main") => `https://github.com/${repository}/tree/${branch}${tail}`;
const result = (synced: number, created: number, updated: number, warnings: unknown = []) =>
  packSyncResult(id, synced, created, updated, warnings);
const index = (entries: unknown) => ({ "skills_index.json": JSON.stringify(entries) });

test("every SKILL.md outside of hidden folders becomes a skill, and a second sync changes nothing", async () => {
  await host.publish(repository, {
    "README.md": "# Not a skill",
    "SKILL.md": skillFile("root-skill"),
    "skills/paint/SKILL.md": skillFile("paint"),
    "skills/paint/notes/skill.md": skillFile("wrong case"),
    "deep/er/and/deeper/SKILL.md": skillFile("deep"),
    ".github/SKILL.md": skillFile("hidden"),
    "a/.b/c/SKILL.md": skillFile("hidden"),
    "skills/My Skill #1/SKILL.md": skillFile("spaced"),
  });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(4, 4, 0)]);
  const skills_by_folder = await packs.skills(id);
  expect(skills_by_folder.map(({ name, source_url, metadata }) => [name, source_url, metadata])).toEqual([
    ["root-skill", urlOf(""), { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "" }],
    ["deep", urlOf("/deep/er/and/deeper"), { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "deep/er/and/deeper" }],
    ["spaced", urlOf("/skills/My%20Skill%20%231"), expect.objectContaining({ skill_dir: "skills/My Skill #1" })],
    ["paint", urlOf("/skills/paint"), { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "skills/paint" }],
  ]);
  expect(skills_by_folder[3]).toMatchObject({ description: "What paint does", category: null, risk: null, source_label: null });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(4, 0, 0)]);
  expect(await packs.skills(id)).toEqual(skills_by_folder);
  expect((await packs.get(id)).body.skill_count).toBe(4);
  expect(host.requests).toEqual([archivePath(repository), archivePath(repository)]);
});

const FILES: [what: string, text: string, name: string, description: string | null][] = [
  ["front matter", "---\nname: Given\ndescription: >-\n  Two\n  lines\nlicense: MIT\n---\n# Heading\nText", "Given", "Two lines"],
  ["quoted front matter", `---\nname: "a: b"\ndescription: 'it''s'\n---\n`, "a: b", "it's"],
  ["numbers and words of YAML", "---\nname: 1.0\ndescription: yes\n---\n", "1.0", "yes"],
  [
    "front matter that is not YAML",
    '---\nname: "loose"\ndescription: Use when: always\nx: [\n---\nText',
    "loose",
    "Use when: always",
  ],
  ["much front matter", `---\nname: much\nx: ${"[".repeat(9_000)}\n---\n`, "much", null],
  ["an alias bomb", `---\na: &a [x, x]\nb: &b [*a, *a]\nname: bomb\n---\n`, "bomb", null],
  ["front matter of another shape", "---\n- name: x\n---\n# Heading\n", "Heading", null],
  ["names that are not text", "---\nname: [a]\ndescription: {b: c}\n---\n# Heading\nText", "Heading", "Text"],
  ["front matter without end", "---\nname: x\n", "folder", "name: x"],
  [
    "a heading and text",
    "\n\n```sh\n# not a heading\n```\n\n## The  Heading ##\r\n\r\nFirst line.\nSecond.",
    "The Heading",
    "First line.",
  ],
  ["text alone", "Only text.", "folder", "Only text."],
  ["no content", "", "folder", null],
  ["NUL and a byte order mark", "\uFEFF---\nname: a\0b\n---\n", "ab", null],
];

describe("the name and description of a SKILL.md", () => {
  let skills_by_folder: Map<unknown, Record<string, unknown>>;
  beforeAll(async () => {
    const { repository, id } = await openPack();
    await host.publish(repository, Object.fromEntries(FILES.map(([, text], n) => [`${n}/folder/SKILL.md`, text])));
    await packs.sync(id);
    skills_by_folder = new Map(
      (await packs.skills(id)).map((skill) => [(skill["metadata"] as { skill_dir: string }).skill_dir, skill]),
    );
  });

  test.each(FILES.map(([what, , name, description], n) => ({ what, n, name, description })))(
    "name and description are read from a SKILL.md with $what",
    ({ n, name, description }) => {
      expect(skills_by_folder.get(`${n}/folder`)).toMatchObject({ name, description });
    },
  );
});

test("an index lists the skills, and then no file is read", async () => {
  await host.publish(repository, {
    "a/SKILL.md": skillFile("not listed"),
    ...index([
      { path: "./skills/paint/SKILL.md", name: " Paint ", description: " d ", category: " Art ", risk: " low " },
      { path: "/skills/sing/", name: " ", category: "", risk: 5 },
      { path: "SKILL.md" },
      { source_url: `https://github.com/${repository.toUpperCase()}/tree/dev/x/`, name: "Elsewhere" },
    ]),
  });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(4, 4, 0)]);
  const of = (more: object) => ({ discovery_mode: "skills_index", pack_branch: "main", ...more });
  const by_url = new Map((await packs.skills(id)).map((skill) => [skill.source_url, skill]));
  expect(by_url.get(urlOf("/skills/paint"))).toMatchObject({
    name: "Paint",
    description: "d",
    category: "Art",
    risk: "low",
    source_label: "skills/paint",
    metadata: of({ resolved_path: "skills/paint" }),
  });
  expect(by_url.get(urlOf("/skills/sing"))).toMatchObject({ name: "sing", description: null, category: null, risk: null });
  expect(by_url.get(urlOf(""))).toMatchObject({
    name: repository.split("/")[1],
    source_label: null,
    metadata: of({ resolved_path: "" }),
  });
  expect(by_url.get(urlOf("/x", "dev"))).toMatchObject({
    name: "Elsewhere",
    source_label: null,
    metadata: of({ source_url: `https://github.com/${repository.toUpperCase()}/tree/dev/x/` }),
  });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(4, 0, 0)]);
});

test("an index may be an object with `skills`, and may be large", async () => {
  // More skills than one statement inserts.
  const skills = Array.from({ length: 1_001 }, (_, n) => ({
    path: `skills/${n}`,
    name: `Skill ${n}`,
    description: "x".repeat(2_000),
  }));
  await host.publish(repository, index({ version: 1, skills }));
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1_001, 1_001, 0)]);
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1_001, 0, 0)]);
});

test("entries that refer to nothing in the repository are skipped with a warning each", async () => {
  await host.publish(
    repository,
    index([
      { path: "good" },
      { path: "../evil" },
      { path: "a/../../evil" },
      { source_url: "https://github.com/other/repo/tree/main/x" },
      { source_url: `https://github.com/${repository}-not/tree/main/x` },
      { source_url: `https://github.com/${repository}/../../other/repo` },
      { source_url: `https://user@github.com/${repository}` },
      { source_url: `http://github.com/${repository}/tree/main/x` },
      { source_url: "javascript:alert(1)" },
      { path: "good/SKILL.md" },
      { path: "x".repeat(2_000) },
      { name: "nowhere" },
      "text",
      null,
    ]),
  );
  const { body } = await packs.sync(id);
  expect(body).toMatchObject({ synced: 1, created: 1 });
  expect(body.warnings).toHaveLength(13);
  expect(body.warnings.map((text: string) => /^Entry (\d+) of skills_index\.json was skipped: \S/.exec(text)?.[1])).toEqual(
    Array.from({ length: 13 }, (_, n) => String(n + 2)),
  );
});

test("the number of warnings is limited", async () => {
  await host.publish(repository, index(Array.from({ length: 500 }, () => null)));
  const { warnings } = (await packs.sync(id)).body;
  expect([warnings.length, warnings.at(-1)]).toEqual([51, "450 more warnings"]);
});

test.each(["{", "5", "null", '{"skills":{}}'])(
  "the unusable index %s causes a warning, and the files are searched instead",
  async (text) => {
    await host.publish(repository, {
      "skills_index.json": text,
      "a/SKILL.md": skillFile("seen"),
      "nested/skills_index.json": "[]",
    });
    expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 1, 0, [expect.stringContaining("skills_index.json")])]);
  },
);

test("texts with characters that the database cannot store do not stop a sync", async () => {
  const text = '[{"path":"a\\u0000\\ud800","name":"n\\u0000\\udc00","description":"d\\ud800"}]';
  await host.publish(repository, { "skills_index.json": text });
  expect((await packs.sync(id)).body).toMatchObject({ synced: 1, created: 1 });
});

test("a change in the pack updates the changed fields, and overwrites names edited by hand", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a"), "b/SKILL.md": skillFile("b"), "c/SKILL.md": skillFile("c") });
  await packs.sync(id);
  const before = await packs.skills(id);
  const body = { source_url: urlOf("/c"), name: "By hand" };
  await world.call("POST", "/api/skills/marketplace", { token: home.owner.token, body });
  await host.publish(repository, {
    "a/SKILL.md": skillFile("a", "new"),
    "b/SKILL.md": skillFile("b"),
    "c/SKILL.md": skillFile("c"),
    "d/SKILL.md": skillFile("d"),
  });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(4, 1, 2)]);
  const after = await packs.skills(id);
  expect(after.map(({ name, description }) => [name, description])).toEqual([
    ["a", "new"],
    ["b", "What b does"],
    ["c", "What c does"],
    ["d", "What d does"],
  ]);
  expect([after[0]!["updated_at"] !== before[0]!["updated_at"], after[1]]).toEqual([true, before[1]]);
});

test("a skill that is missing in its pack stays, marked as vanished, until it returns", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a"), "b/SKILL.md": skillFile("b") });
  await packs.sync(id);
  const registered = { source_url: urlOf("/registered"), name: "By hand" };
  await world.call("POST", "/api/skills/marketplace", { token: home.owner.token, body: registered });
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 0, 0, [expect.stringMatching(/vanished.* 1 /)])]);
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 0, 0)]);
  const marks = async () =>
    (await packs.skills(id)).map(({ name, metadata }) => [name, (metadata as { vanished?: true }).vanished]);
  expect(await marks()).toEqual([
    ["a", undefined],
    ["b", true],
    ["By hand", undefined],
  ]);
  await host.publish(repository, { "a/SKILL.md": skillFile("a"), "b/SKILL.md": skillFile("b") });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(2, 0, 1)]);
  expect((await marks())[1]).toEqual(["b", undefined]);
});

test("an index is fetched alone, without the archive of its repository", async () => {
  await host.publish(repository, index([{ path: "skills/paint" }]));
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 1, 0)]);
  expect(host.requests).toEqual([]);
  // When the index cannot be fetched alone, the one in the archive is used.
  host.answers.delete(indexPath(repository));
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 0, 0)]);
  expect(host.requests).toEqual([archivePath(repository)]);
});

test("an index whose download breaks off is read from the archive", async () => {
  await host.publish(repository, index([{ path: "skills/paint" }]));
  host.answers.set(indexPath(repository), (_request, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("[");
    response.destroy();
  });
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 1, 0)]);
});

test("an index that its host never sends leaves time for the archive", async () => {
  await host.publish(repository, index([{ path: "skills/paint" }]));
  host.answers.set(indexPath(repository), () => {});
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 1, 0)]);
});

test("a missing branch is replaced by the default branch with a warning", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") }, "trunk");
  expect(statusAndBody(await packs.sync(id))).toEqual([200, result(1, 1, 0, [expect.stringContaining("main")])]);
  expect(host.requests).toEqual([archivePath(repository), archivePath(repository, "HEAD")]);
  expect(await packs.skills(id)).toMatchObject([{ source_url: urlOf("/a", "HEAD"), metadata: { pack_branch: "HEAD" } }]);
});

test("the branch that the pack names is read", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") }, "release/1.0");
  await packs.add(repository, { branch: "release/1.0" });
  expect((await packs.sync(id)).body).toEqual(result(1, 1, 0));
  expect(await packs.skills(id)).toMatchObject([
    { source_url: urlOf("/a", "release/1.0"), metadata: { pack_branch: "release/1.0" } },
  ]);
});

test("a sync in one organization changes nothing in another", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  const abroad = await world.tenant("abroad");
  const foreign_packs = createPackCalls(world, abroad);
  const foreign_id = (await foreign_packs.add(repository)).id;
  await packs.sync(id);
  expect(await foreign_packs.skills(foreign_id)).toEqual([]);
  expect((await foreign_packs.sync(foreign_id)).body).toMatchObject({ created: 1 });
  await host.publish(repository, {});
  await packs.sync(id);
  expect(await foreign_packs.skills(foreign_id)).toMatchObject([
    { metadata: { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "a" } },
  ]);
  expect((await packs.run(id, crypto.randomUUID())).status).toBe(404);
});
