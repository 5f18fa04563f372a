import { gateway_installed_skills, gateways, marketplace_skills } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { Tenant } from "../support/world.ts";

const PREFIXES = ["/api/skills/marketplace", "/api/v1/skills/marketplace"] as const;

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const as = (tenant: Tenant) => ({ token: tenant.owner.token });
const register = (body: object, tenant = home) => world.call("POST", PREFIXES[1], { ...as(tenant), body });
const list = (query = "", tenant = home) => world.call("GET", PREFIXES[0] + query, as(tenant));
const names = async (query: string, tenant = home): Promise<string[]> =>
  (await list(query, tenant)).body.map(({ name }: { name: string }) => name);

test("a skill is registered, and shown in the same way under both path prefixes", async () => {
  const source_url = "https://example.com/skills/red";
  const made = await register({ source_url: ` ${source_url} `, name: " Red ", description: " Paints " });
  expect(made.status).toBe(200);
  expect(made.body).toMatchObject({
    organization_id: home.organization_id,
    name: "Red",
    description: "Paints",
    category: null,
    risk: null,
    source: source_url,
    source_label: null,
    source_url,
    tree_url: source_url,
    metadata: {},
    installed: false,
    installed_at: null,
  });
  for (const prefix of PREFIXES) expect((await world.call("GET", prefix, as(home))).body).toContainEqual(made.body);
});

test.each([
  ["https://example.com/skills/my-first_skill.git", "my first skill"],
  ["https://example.com/a/deep%20blue-sea/", "deep blue sea"],
  ["https://example.com/%E2%9C%93", "✓"],
  ["https://example.com/100%", "100%"],
  ["https://example.com/%00%0A", "Skill"],
  ["https://example.com/--", "Skill"],
  ["https://my-host.example", "my host.example"],
  ["https://example.com/x?name=y#z", "x"],
])("the skill at %s without a name is called %j", async (source_url, name) => {
  for (const sent of [{ source_url }, { source_url, name: " " }]) expect((await register(sent)).body.name).toBe(name);
});

test.each([
  "http://example.com/skill",
  "ftp://example.com/skill",
  "example.com/skill",
  "https:example.com/skill",
  "https://",
  "https://localhost/skill",
  "https://LOCALHOST./skill",
  "https://any.localhost/skill",
  "https://127.0.0.1/skill",
  "https://2130706433/skill",
  "https://0x7f.1/skill",
  "https://8.8.8.8/skill",
  "https://[::1]/skill",
  "https://[2606:4700::1111]/skill",
  "https://user@example.com/skill",
  "https://user:pass@example.com/skill",
  "https://:pass@example.com/skill",
  "https://exa mple.com/skill",
])("the skill address %s is refused", async (source_url) => {
  const refused = await register({ source_url });
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "source_url"]]);
});

test("a skill address may have at most 2,000 characters", async () => {
  const source_url = `https://example.com/${"x".repeat(1_980)}`;
  expect([(await register({ source_url })).status, (await register({ source_url: `${source_url}x` })).status]).toEqual([
    200, 422,
  ]);
});

test("registering the same url again updates the name and description that are sent, and keeps the other fields", async () => {
  const source_url = "https://example.com/again";
  const first = (await register({ source_url, name: "One", description: "d" })).body;
  expect((await register({ source_url })).body).toEqual(first);
  const renamed = (await register({ source_url, name: "Two" })).body;
  expect(renamed).toEqual({ ...first, name: "Two", updated_at: renamed.updated_at });
  expect(renamed.updated_at > first.updated_at).toBe(true);
  expect((await register({ source_url, name: "Two", description: "d" })).body).toEqual(renamed);
  expect((await register({ source_url }, abroad)).body.id).not.toBe(first.id);
});

test("a skill is deleted with its installations, and not by a person of another organization", async () => {
  const { id } = (await register({ source_url: "https://example.com/goes" })).body;
  await world.db.insert(gateway_installed_skills).values({ gateway_id: home.gateway_id, skill_id: id });
  const remove = (tenant: Tenant) => world.call("DELETE", `${PREFIXES[0]}/${id}`, as(tenant));
  expect((await remove(abroad)).status).toBe(404);
  expect((await remove(home)).body).toEqual({ ok: true });
  expect((await remove(home)).status).toBe(404);
  expect(await world.db.select().from(gateway_installed_skills)).toEqual([]);
});

test("`installed` refers to the gateway in the query, else to the only gateway, and is false if there are several gateways", async () => {
  const tenant = await world.tenant("rack");
  const { id } = (await register({ source_url: "https://example.com/there" }, tenant)).body;
  await world.db.insert(gateway_installed_skills).values({ gateway_id: tenant.gateway_id, skill_id: id });
  const installed = async (query = "") => (await list(query, tenant)).body[0].installed;
  expect([await installed(), await installed(`?gateway_id=${tenant.gateway_id}`)]).toEqual([true, true]);
  expect((await list("", tenant)).body[0].installed_at).toMatch(/Z$/);
  const body = { name: "Second", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
  const second = (await world.call("POST", "/api/v1/gateways", { ...as(tenant), body })).body;
  expect([
    await installed(),
    await installed(`?gateway_id=${tenant.gateway_id}`),
    await installed(`?gateway_id=${second.id}`),
  ]).toEqual([false, true, false]);
  await world.db.delete(gateways).where(eq(gateways.id, second.id));
  expect(await installed()).toBe(true);
});

test("filters ignore case and treat pattern characters literally", async () => {
  const tenant = await world.tenant("filters");
  const { organization_id } = tenant;
  const row = (name: string, more: object = {}) => ({
    organization_id,
    name,
    source_url: `https://example.com/${name}`,
    ...more,
  });
  await world.db
    .insert(marketplace_skills)
    .values([
      row("percent%sign"),
      row("under_score"),
      row("underXscore"),
      row("described", { description: "Writes ÄRGER down" }),
      row("labelled", { category: " Design ", risk: "High", source_label: "skills/labelled-path" }),
      row("blank", { category: " ", risk: "" }),
    ]);
  const found = async (query: string) => (await names(query, tenant)).toSorted();
  expect(await found("?search=%25")).toEqual(["percent%sign"]);
  expect(await found("?search=r_s")).toEqual(["under_score"]);
  expect(await found("?search=%5C")).toEqual([]);
  expect(await found("?search=WRITES")).toEqual(["described"]);
  expect(await found("?search=DESIGN")).toEqual(["labelled"]);
  expect(await found("?search=hig")).toEqual(["labelled"]);
  expect(await found("?search=labelled-PATH")).toEqual(["labelled"]);
  expect(await found("?search=example.com/blank")).toEqual(["blank"]);
  expect(await found("?category=%20dESIGN%20&risk=high")).toEqual(["labelled"]);
  expect(await found("?category=desig")).toEqual([]);
  expect(await found("?category=Uncategorized&search=b")).toEqual(["blank", "described"]);
  expect(await found("?risk=uncategorized&search=blank")).toEqual(["blank"]);
  expect(await found("?category=&risk=%20&search=")).toHaveLength(6);
});

test("the skills of a pack are the skills at its url or below it", async () => {
  const tenant = await world.tenant("packs");
  const body = { source_url: "https://github.com/acme/my_skills" };
  const pack = (await world.call("POST", "/api/skills/packs", { ...as(tenant), body })).body;
  for (const tail of ["", "/tree/main/a", "-2/tree/main/a", "x"])
    await register({ source_url: body.source_url + tail, name: tail || "itself" }, tenant);
  await register({ source_url: "https://github.com/acme/myXskills/tree/main/a", name: "pattern" }, tenant);
  expect((await names(`?pack_id=${pack.id}`, tenant)).toSorted()).toEqual(["/tree/main/a", "itself"]);
});

test("skills are sorted by name ignoring case, and skills of the same name from newest to oldest", async () => {
  const tenant = await world.tenant("sorted");
  for (const [url, name] of [
    ["a", "beta"],
    ["b", "Alpha"],
    ["c", "gamma"],
    ["d", "alpha"],
  ])
    await register({ source_url: `https://example.com/${url}`, name }, tenant);
  expect(await names("", tenant)).toEqual(["alpha", "Alpha", "beta", "gamma"]);
  expect([...(await names("?limit=3", tenant)), ...(await names("?limit=3&offset=3", tenant))]).toEqual(await names("", tenant));
});

test("a page of skills has headers for its position and total, and a list without a limit has none", async () => {
  const tenant = await world.tenant("pages");
  for (const name of ["one", "two", "three"]) await register({ source_url: `https://example.com/${name}` }, tenant);
  const headers = (answer: { headers: Headers }) =>
    ["x-total-count", "x-limit", "x-offset"].map((name) => answer.headers.get(name));
  const all = await list("", tenant);
  expect([all.body.length, headers(all)]).toEqual([3, [null, null, null]]);
  const pages = [
    await list("?limit=2", tenant),
    await list("?limit=2&offset=2", tenant),
    await list("?limit=2&offset=9", tenant),
  ];
  expect(pages.map((page) => page.body.length)).toEqual([2, 1, 0]);
  expect(pages.map(headers)).toEqual([
    ["3", "2", "0"],
    ["3", "2", "2"],
    ["3", "2", "9"],
  ]);
  expect([...pages[0]!.body, ...pages[1]!.body]).toEqual(all.body);
  expect(await names("", tenant)).toEqual(["one", "three", "two"]);
  expect(headers(await list("?limit=2&search=/t", tenant))).toEqual(["2", "2", "0"]);
  expect(headers(await list("?limit=1&search=/t", tenant))).toEqual(["2", "1", "0"]);
});

test.each([
  ["limit=0", "limit", "greater_than_equal"],
  ["limit=201", "limit", "less_than_equal"],
  ["limit=ten", "limit", "int_type"],
  ["limit=5&offset=-1", "offset", "greater_than_equal"],
  ["offset=1", "offset", "value_error"],
  ["gateway_id=x", "gateway_id", "uuid_parsing"],
  ["pack_id=x", "pack_id", "uuid_parsing"],
])("the query ?%s is refused", async (query, field, type) => {
  const refused = await list(`?${query}`);
  expect([refused.status, refused.body.detail]).toEqual([422, [expect.objectContaining({ type, loc: ["query", field] })]]);
});

test("a list without a limit shows at most 5,000 skills", async () => {
  const tenant = await world.tenant("many");
  const { organization_id } = tenant;
  await world.db.execute(sql`insert into ${marketplace_skills} (organization_id, name, source_url)
    select ${organization_id}::uuid, n, 'https://example.com/' || n from generate_series(1, 5001) as n`);
  expect((await list("", tenant)).body).toHaveLength(5_000);
  expect((await list("?limit=200", tenant)).headers.get("x-total-count")).toBe("5001");
});
