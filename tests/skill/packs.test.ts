import { marketplace_skills } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const PREFIXES = ["/api/skills/packs", "/api/v1/skills/packs"] as const;

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const token = home.owner.token;
const post = (body: object, prefix: string = PREFIXES[1]) => world.call("POST", prefix, { token, body });
const get = (id: string) => world.call("GET", `${PREFIXES[0]}/${id}`, { token });
const patch = (id: string, body: object) => world.call("PATCH", `${PREFIXES[1]}/${id}`, { token, body });
const repository = (name: string) => `https://github.com/acme/${name}`;

test("a new personal organization has the two default packs, newest first under both path prefixes", async () => {
  const person = await world.person("newcomer");
  const lists = await Promise.all(PREFIXES.map((prefix) => world.call("GET", prefix, { token: person.token })));
  expect(lists[0]!.body).toEqual(lists[1]!.body);
  expect(lists[0]!.body.map((pack: { source_url: string }) => pack.source_url).toSorted()).toEqual([
    "https://github.com/BrianRWagner/ai-marketing-skills",
    "https://github.com/sickn33/antigravity-awesome-skills",
  ]);
  const made = (await world.call("POST", PREFIXES[0], { token: person.token, body: { source_url: repository("newest") } })).body;
  expect((await world.call("GET", PREFIXES[0], { token: person.token })).body[0]).toEqual(made);
});

test("a pack is created with default values, and named after its repository", async () => {
  const made = await post({ source_url: repository("my-fine_skills") });
  expect(made.status).toBe(200);
  expect(made.body).toMatchObject({
    organization_id: home.organization_id,
    name: "my fine skills",
    description: null,
    branch: "main",
    skill_count: 0,
  });
  expect(made.body.metadata).toEqual({});
  expect((await get(made.body.id.toUpperCase())).body).toEqual(made.body);
});

test.each([
  [" https://github.com/acme/one.git/ ", repository("one")],
  ["https://github.com/acme/two///", repository("two")],
  ["HTTPS://GitHub.com:443/acme/three.git", repository("three")],
  ["https://github.com/acme/a.git.b", repository("a.git.b")],
])("the url %j is stored as %s", async (source_url, kept) => {
  expect((await post({ source_url })).body.source_url).toBe(kept);
});

test.each([
  ["http://github.com/acme/skills", /https/],
  ["git@github.com:acme/skills.git", /https/],
  ["ssh://github.com/acme/skills", /https/],
  ["https://gitlab.com/acme/skills", /not allowed/],
  ["https://github.com.evil.example/acme/skills", /not allowed/],
  ["https://www.github.com/acme/skills", /not allowed/],
  ["https://github.com:8443/acme/skills", /not allowed/],
  ["https://user:pass@github.com/acme/skills", /not allowed/],
  ["https://140.82.121.4/acme/skills", /not allowed/],
  ["https:///", /not allowed/],
  ["https://github.com/acme", /owner/],
  ["https://github.com/", /owner/],
  ["https://github.com//skills", /owner/],
  ["https://github.com/acme/../..", /owner/],
  ["https://github.com/acme/skills/tree/main", /owner/],
  ["https://github.com/acme/sk%2e%2eills", /owner/],
  ["https://github.com/acme/skills?x=1", /owner/],
])("the url %s is refused at creation and at a change", async (source_url, text) => {
  const { id } = (await post({ source_url: repository("stays") })).body;
  for (const answer of [await post({ source_url }), await patch(id, { source_url })]) {
    expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["body", "source_url"]]);
    expect(answer.body.detail[0].msg).toMatch(text);
  }
});

test.each([
  ["dev", "dev"],
  [" release/1.0_x-y ", "release/1.0_x-y"],
  ["-x", "main"],
  ["a..b", "main"],
  ["a b", "main"],
  ["ü", "main"],
  ["", "main"],
  [null, "main"],
  ["x".repeat(201), "main"],
])("the branch %j is read as %s", async (branch, read) => {
  expect((await post({ source_url: repository("branched"), branch })).body.branch).toBe(read);
});

test("adding the same repository again updates the sent fields of its pack, and keeps the other fields", async () => {
  const source_url = repository("again");
  const first = (await post({ source_url, name: "One", description: "d", branch: "dev", metadata: { a: 1 } })).body;
  expect((await post({ source_url: `${source_url}.git` })).body).toEqual(first);
  const changed = (await post({ source_url, name: "Two", metadata: { a: [2] } })).body;
  expect(changed).toEqual({ ...first, name: "Two", metadata: { a: [2] }, updated_at: changed.updated_at });
  expect(changed.updated_at > first.updated_at).toBe(true);
  expect((await post({ source_url, name: "Two", metadata: { a: [2] } })).body).toEqual(changed);
});

test("a change replaces all fields of the pack, and a change without effect writes nothing", async () => {
  const body = { source_url: repository("whole"), name: "Whole", description: "d", branch: "dev", metadata: { a: 1 } };
  const made = (await post(body)).body;
  expect((await patch(made.id, body)).body).toEqual(made);
  const bare = (await patch(made.id, { source_url: repository("other-whole") })).body;
  expect(bare).toMatchObject({ name: "other whole", description: null, branch: "main" });
  expect(bare.metadata).toEqual({});
  for (const wrong of [{}, { ...body, metadata: null }, { ...body, metadata: [] }, { ...body, branch: 5 }, { ...body, name: 5 }])
    expect((await patch(made.id, wrong)).status, JSON.stringify(wrong)).toBe(422);
});

test("a pack cannot be given the repository of another pack, but another organization may have the same repository", async () => {
  await post({ source_url: repository("taken") });
  const { id } = (await post({ source_url: repository("free") })).body;
  const refused = await patch(id, { source_url: `${repository("taken")}/` });
  expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining("already exists")]);
  const foreign = await world.call("POST", PREFIXES[0], { token: abroad.owner.token, body: { source_url: repository("taken") } });
  expect(foreign.status).toBe(200);
});

test("a pack counts the skills of its repository, which stay when it is deleted and belong to it when it is added again", async () => {
  const source_url = repository("counted");
  const { id } = (await post({ source_url })).body;
  const of = (organization_id: string, urls: string[]) => urls.map((url) => ({ organization_id, name: "s", source_url: url }));
  await world.db
    .insert(marketplace_skills)
    .values([
      ...of(home.organization_id, [
        source_url,
        `${source_url}/tree/main/a`,
        `${source_url}/tree/dev/b`,
        `${source_url}-not/tree/main`,
      ]),
      ...of(abroad.organization_id, [`${source_url}/tree/main/a`]),
    ]);
  expect((await get(id)).body.skill_count).toBe(3);
  const listed = (await world.call("GET", PREFIXES[1], { token })).body;
  expect(listed.find((pack: { id: string }) => pack.id === id).skill_count).toBe(3);
  expect((await world.call("DELETE", `${PREFIXES[0]}/${id}`, { token })).body).toEqual({ ok: true });
  expect((await get(id)).status).toBe(404);
  expect((await world.call("DELETE", `${PREFIXES[0]}/${id}`, { token })).status).toBe(404);
  expect((await post({ source_url })).body.skill_count).toBe(3);
});
