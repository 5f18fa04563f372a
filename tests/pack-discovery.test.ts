import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { archivePath, type CodeHost, indexPath, packOf, SKILL } from "./support/code-host.ts";
import { told } from "./support/http.ts";
import { type Pack, packsOnOneHost, syncedPack } from "./support/pack.ts";
import type { Tenant, World } from "./support/world.ts";

let host: CodeHost;
let world: World;
let home: Tenant;
let packs: Pack["packs"];
/** A repository of this test's own, and its pack. */
let repository: string;
let id: string;

const openPack = packsOnOneHost();
beforeEach(async () => {
  ({ host, world, home, packs, repository, id } = await openPack());
});

const urlOf = (tail: string, branch = "main") => `https://github.com/${repository}/tree/${branch}${tail}`;
const result = (synced: number, created: number, updated: number, warnings: unknown = []) =>
  syncedPack(id, synced, created, updated, warnings);
const index = (entries: unknown) => ({ "skills_index.json": JSON.stringify(entries) });

test("every SKILL.md outside of hidden folders becomes a skill; a second sync finds nothing to do", async () => {
  await host.publish(repository, {
    "README.md": "# Not a skill",
    "SKILL.md": SKILL("root-skill"),
    "skills/paint/SKILL.md": SKILL("paint"),
    "skills/paint/notes/skill.md": SKILL("wrong case"),
    "deep/er/and/deeper/SKILL.md": SKILL("deep"),
    ".github/SKILL.md": SKILL("hidden"),
    "a/.b/c/SKILL.md": SKILL("hidden"),
    "skills/My Skill #1/SKILL.md": SKILL("spaced"),
  });
  expect(told(await packs.sync(id))).toEqual([200, result(4, 4, 0)]);
  const found = await packs.skills(id);
  expect(found.map(({ name, source_url, metadata }) => [name, source_url, metadata])).toEqual([
    ["root-skill", urlOf(""), { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "" }],
    ["deep", urlOf("/deep/er/and/deeper"), { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "deep/er/and/deeper" }],
    ["spaced", urlOf("/skills/My%20Skill%20%231"), expect.objectContaining({ skill_dir: "skills/My Skill #1" })],
    ["paint", urlOf("/skills/paint"), { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "skills/paint" }],
  ]);
  expect(found[3]).toMatchObject({ description: "What paint does", category: null, risk: null, source_label: null });
  expect(told(await packs.sync(id))).toEqual([200, result(4, 0, 0)]);
  expect(await packs.skills(id)).toEqual(found);
  expect((await packs.get(id)).body.skill_count).toBe(4);
  expect(host.requests).toEqual([archivePath(repository), archivePath(repository)]);
});

const FILES: [what: string, text: string, name: string, description: string | null][] = [
  ["front matter", "---\nname: Given\ndescription: >-\n  Two\n  lines\nlicense: MIT\n---\n# Heading\nText", "Given", "Two lines"],
  ["quoted front matter", `---\nname: "a: b"\ndescription: 'it''s'\n---\n`, "a: b", "it's"],
  ["numbers and words of YAML", "---\nname: 1.0\ndescription: yes\n---\n", "1.0", "yes"],
  [
    "front matter that is no YAML",
    '---\nname: "loose"\ndescription: Use when: always\nx: [\n---\nText',
    "loose",
    "Use when: always",
  ],
  ["much front matter", `---\nname: much\nx: ${"[".repeat(9_000)}\n---\n`, "much", null],
  ["an alias bomb", `---\na: &a [x, x]\nb: &b [*a, *a]\nname: bomb\n---\n`, "bomb", null],
  ["front matter of another shape", "---\n- name: x\n---\n# Heading\n", "Heading", null],
  ["names that are no text", "---\nname: [a]\ndescription: {b: c}\n---\n# Heading\nText", "Heading", "Text"],
  ["front matter without end", "---\nname: x\n", "folder", "name: x"],
  [
    "a heading and text",
    "\n\n```sh\n# not a heading\n```\n\n## The  Heading ##\r\n\r\nFirst line.\nSecond.",
    "The Heading",
    "First line.",
  ],
  ["text alone", "Only text.", "folder", "Only text."],
  ["nothing", "", "folder", null],
  ["NUL and a byte order mark", "\uFEFF---\nname: a\0b\n---\n", "ab", null],
];

describe("a SKILL.md of", () => {
  let found: Map<unknown, Record<string, unknown>>;
  beforeAll(async () => {
    const { host, packs, repository, id } = await openPack();
    await host.publish(repository, Object.fromEntries(FILES.map(([, text], n) => [`${n}/folder/SKILL.md`, text])));
    await packs.sync(id);
    found = new Map((await packs.skills(id)).map((skill) => [(skill["metadata"] as { skill_dir: string }).skill_dir, skill]));
  });

  test.each(FILES.map(([what, , name, description], n) => ({ what, n, name, description })))(
    "$what",
    ({ n, name, description }) => {
      expect(found.get(`${n}/folder`)).toMatchObject({ name, description });
    },
  );
});

test("an index tells the skills, and then no file is looked at", async () => {
  await host.publish(repository, {
    "a/SKILL.md": SKILL("not listed"),
    ...index([
      { path: "./skills/paint/SKILL.md", name: " Paint ", description: " d ", category: " Art ", risk: " low " },
      { path: "/skills/sing/", name: " ", category: "", risk: 5 },
      { path: "SKILL.md" },
      { source_url: `https://github.com/${repository.toUpperCase()}/tree/dev/x/`, name: "Elsewhere" },
    ]),
  });
  expect(told(await packs.sync(id))).toEqual([200, result(4, 4, 0)]);
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
  expect(told(await packs.sync(id))).toEqual([200, result(4, 0, 0)]);
});

test("an index may be an object with `skills`, and large", async () => {
  // More than are written at a time.
  const skills = Array.from({ length: 1_001 }, (_, n) => ({
    path: `skills/${n}`,
    name: `Skill ${n}`,
    description: "x".repeat(2_000),
  }));
  await host.publish(repository, index({ version: 1, skills }));
  expect(told(await packs.sync(id))).toEqual([200, result(1_001, 1_001, 0)]);
  expect(told(await packs.sync(id))).toEqual([200, result(1_001, 0, 0)]);
});

test("entries that name nothing in the repository are left out with a warning each", async () => {
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
  expect(body.warnings.map((text: string) => /^Entry (\d+) of skills_index\.json was left out: \S/.exec(text)?.[1])).toEqual(
    Array.from({ length: 13 }, (_, n) => String(n + 2)),
  );
});

test("warnings have an end", async () => {
  await host.publish(repository, index(Array.from({ length: 500 }, () => null)));
  const { warnings } = (await packs.sync(id)).body;
  expect([warnings.length, warnings.at(-1)]).toEqual([51, "450 more warnings"]);
});

test.each(["{", "5", "null", '{"skills":{}}'])("an index of %s is warned of, and the files are looked through", async (text) => {
  await host.publish(repository, { "skills_index.json": text, "a/SKILL.md": SKILL("seen"), "nested/skills_index.json": "[]" });
  expect(told(await packs.sync(id))).toEqual([200, result(1, 1, 0, [expect.stringContaining("skills_index.json")])]);
});

test("text that the database does not take does no harm", async () => {
  const text = '[{"path":"a\\u0000\\ud800","name":"n\\u0000\\udc00","description":"d\\ud800"}]';
  await host.publish(repository, { "skills_index.json": text });
  expect((await packs.sync(id)).body).toMatchObject({ synced: 1, created: 1 });
});

test("a change in the pack updates what it changes, and brings back by hand changed names", async () => {
  await host.publish(repository, { "a/SKILL.md": SKILL("a"), "b/SKILL.md": SKILL("b"), "c/SKILL.md": SKILL("c") });
  await packs.sync(id);
  const before = await packs.skills(id);
  const body = { source_url: urlOf("/c"), name: "By hand" };
  await world.call("POST", "/api/skills/marketplace", { token: home.owner.token, body });
  await host.publish(repository, {
    "a/SKILL.md": SKILL("a", "new"),
    "b/SKILL.md": SKILL("b"),
    "c/SKILL.md": SKILL("c"),
    "d/SKILL.md": SKILL("d"),
  });
  expect(told(await packs.sync(id))).toEqual([200, result(4, 1, 2)]);
  const after = await packs.skills(id);
  expect(after.map(({ name, description }) => [name, description])).toEqual([
    ["a", "new"],
    ["b", "What b does"],
    ["c", "What c does"],
    ["d", "What d does"],
  ]);
  expect([after[0]!["updated_at"] !== before[0]!["updated_at"], after[1]]).toEqual([true, before[1]]);
});

test("a skill that its pack has no more stays, marked as vanished, until it is back", async () => {
  await host.publish(repository, { "a/SKILL.md": SKILL("a"), "b/SKILL.md": SKILL("b") });
  await packs.sync(id);
  const registered = { source_url: urlOf("/registered"), name: "By hand" };
  await world.call("POST", "/api/skills/marketplace", { token: home.owner.token, body: registered });
  await host.publish(repository, { "a/SKILL.md": SKILL("a") });
  expect(told(await packs.sync(id))).toEqual([200, result(1, 0, 0, [expect.stringMatching(/vanished.* 1 /)])]);
  expect(told(await packs.sync(id))).toEqual([200, result(1, 0, 0)]);
  const marks = async () =>
    (await packs.skills(id)).map(({ name, metadata }) => [name, (metadata as { vanished?: true }).vanished]);
  expect(await marks()).toEqual([
    ["a", undefined],
    ["b", true],
    ["By hand", undefined],
  ]);
  await host.publish(repository, { "a/SKILL.md": SKILL("a"), "b/SKILL.md": SKILL("b") });
  expect(told(await packs.sync(id))).toEqual([200, result(2, 0, 1)]);
  expect((await marks())[1]).toEqual(["b", undefined]);
});

test("an index is asked for by itself: the archive of a repository that has one is not fetched", async () => {
  await host.publish(repository, index([{ path: "skills/paint" }]));
  expect(told(await packs.sync(id))).toEqual([200, result(1, 1, 0)]);
  expect(host.requests).toEqual([]);
  // Where it cannot be had by itself, the one in the archive serves.
  host.answers.delete(indexPath(repository));
  expect(told(await packs.sync(id))).toEqual([200, result(1, 0, 0)]);
  expect(host.requests).toEqual([archivePath(repository)]);
});

test("an index that its host breaks off is read from the archive", async () => {
  await host.publish(repository, index([{ path: "skills/paint" }]));
  host.answers.set(indexPath(repository), (_request, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("[");
    response.destroy();
  });
  expect(told(await packs.sync(id))).toEqual([200, result(1, 1, 0)]);
});

test("an index that its host never sends leaves time for the archive", async () => {
  await host.publish(repository, index([{ path: "skills/paint" }]));
  host.answers.set(indexPath(repository), () => {});
  expect(told(await packs.sync(id))).toEqual([200, result(1, 1, 0)]);
});

test("of a branch that is not there the default branch takes the place, with a warning", async () => {
  await host.publish(repository, { "a/SKILL.md": SKILL("a") }, "trunk");
  expect(told(await packs.sync(id))).toEqual([200, result(1, 1, 0, [expect.stringContaining("main")])]);
  expect(host.requests).toEqual([archivePath(repository), archivePath(repository, "HEAD")]);
  expect(await packs.skills(id)).toMatchObject([{ source_url: urlOf("/a", "HEAD"), metadata: { pack_branch: "HEAD" } }]);
});

test("another branch is read when the pack names it", async () => {
  await host.publish(repository, { "a/SKILL.md": SKILL("a") }, "release/1.0");
  await packs.add(repository, { branch: "release/1.0" });
  expect((await packs.sync(id)).body).toEqual(result(1, 1, 0));
  expect(await packs.skills(id)).toMatchObject([
    { source_url: urlOf("/a", "release/1.0"), metadata: { pack_branch: "release/1.0" } },
  ]);
});

test("an organization's sync changes nothing in another's", async () => {
  await host.publish(repository, { "a/SKILL.md": SKILL("a") });
  const abroad = await world.tenant("abroad");
  const theirs = packOf(world, abroad);
  const their_id = (await theirs.add(repository)).id;
  await packs.sync(id);
  expect(await theirs.skills(their_id)).toEqual([]);
  expect((await theirs.sync(their_id)).body).toMatchObject({ created: 1 });
  await host.publish(repository, {});
  await packs.sync(id);
  expect(await theirs.skills(their_id)).toMatchObject([
    { metadata: { discovery_mode: "skills_md", pack_branch: "main", skill_dir: "a" } },
  ]);
  expect((await packs.run(id, crypto.randomUUID())).status).toBe(404);
});
