import { createApp } from "@board/api/app";
import { type Endpoint, isStream } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { toJson } from "@board/core/values/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatewayFixture, openGatewayFixture } from "../support/gateway-fixture.ts";
import { call, type CallOptions } from "../support/http.ts";
import type { Tenant } from "../support/world.ts";
import { fillOrganization, type PathIds } from "./full-world.ts";

/** A Lambda cannot return more than 6 MB. */
const LARGEST_ANSWER = 6_000_000;
const LARGEST_BUDGET = 5_500_000;
const TIMEOUT_MS = 240_000;

/** As JSON, a control character takes six bytes, and an ideograph takes its three bytes of UTF-8. */
const CHARACTERS = [
  ["control characters", 1],
  ["ideographs", 0x5b57],
] as const;

const SHORT_PAGES = ["/api/activity", "/api/activity/task-comments", "/api/tags"];
/** These lists answer with a plain array, without pages. */
const ARRAYS = [
  "/api/skills/marketplace",
  "/api/skills/packs",
  "/organizations/me/custom-fields",
  "/organizations/me/list",
  "/api/v1/agent/boards/{board_id}/tags",
];

function toQuery(path: string, { spec }: Endpoint, board_id: string): string {
  if (path.includes("/gateway/") || /gateways\/(status|sessions|commands)/.test(path)) return `?board_id=${board_id}`;
  if (path === "/api/v1/agent/inbox") return "?limit=50";
  if (path.endsWith("snapshot")) return "?include_done=true&include_self=true&per_board_task_limit=100";
  const takesLimit = JSON.stringify(spec.query?.def ?? {}).includes('"limit"');
  if (!takesLimit || ARRAYS.includes(path)) return "";
  return `?limit=${SHORT_PAGES.includes(path) || path.includes("souls") ? 100 : 200}`;
}

/** Gives a host sessions that are almost as large as the service accepts. */
function fillHost({ host }: GatewayFixture, character: string): void {
  const messages = Array.from({ length: 12 }, () => ({ role: "assistant", content: character.repeat(100_000) }));
  for (const key of ["agent:main:main", "agent:main:1", "agent:main:2"])
    host.host.sessions.set(key, { sessionId: key, updatedAt: 1, label: character.repeat(200_000), messages } as never);
}

/** An agent's soul is left out, because the host has none here. */
const reads = endpoints.filter(
  (endpoint) =>
    endpoint.method === "GET" && !isStream(endpoint) && !endpoint.spec.hidden && !endpoint.paths[0]!.endsWith("/soul"),
);

describe.each(CHARACTERS)("an organization that is filled with %s", (_name, code_point) => {
  let fixture: GatewayFixture;
  let home: Tenant;
  let ids: PathIds;
  /** Bytes of the values that the operations returned, before the HTTP layer shortens them. */
  const returned = new Map<string, number>();
  let app: ReturnType<typeof createApp>;

  beforeAll(async () => {
    const limits = { answer_max_bytes: LARGEST_BUDGET };
    fixture = await openGatewayFixture({ environment: { ACTIVITY_READERS: "member" }, limits });
    const { world, host } = fixture;
    home = await world.tenant("home", host.url);
    const measured = reads.map((endpoint) => ({
      ...endpoint,
      async run(...args: Parameters<Endpoint["run"]>) {
        const value = await endpoint.run(...args);
        if (!(value instanceof Response)) returned.set(endpoint.paths[0]!, Buffer.byteLength(toJson(value)));
        return value;
      },
    }));
    app = createApp(world.runtime, measured);
    await send("/api/v1/users/me", { token: home.owner.token });
    ids = await fillOrganization(world, home, code_point);
    fillHost(fixture, String.fromCodePoint(code_point));
  }, TIMEOUT_MS);
  afterAll(() => fixture.close());

  const send = (path: string, options: CallOptions) => call((target, init) => app.request(target, init), "GET", path, options);

  const cases = reads.map((endpoint) => ({ path: endpoint.paths[0]!, endpoint }));
  test.each(cases)("the answer of $path has less than 6 MB", { timeout: TIMEOUT_MS }, async ({ path, endpoint }) => {
    const filled = path
      .replace(
        "{run_id}",
        path.includes("packs") ? ids["pack_run_id"]! : path.includes("/runs/") ? ids["task_run_id"]! : ids["sync_run_id"]!,
      )
      .replace("{session_id}", "agent:main:1")
      .replace("{handle}/{slug}", "board/engineer")
      .replaceAll(/\{(\w+)\}/g, (_match, name: string) => ids[name] ?? name);
    const { users } = endpoint.spec.as;
    const credential = users || endpoint.spec.as.name === "PUBLIC" ? { token: home.owner.token } : { agent: home.lead.token };
    const answer = await send(filled + toQuery(path, endpoint, home.board_id), credential);
    expect(answer.status, answer.text.slice(0, 200)).toBe(200);
    expect(Buffer.byteLength(answer.text)).toBeLessThan(LARGEST_ANSWER);
    const bytes = returned.get(endpoint.paths[0]!) ?? 0;
    const isMarked = answer.headers.has("x-limit") || answer.text.includes('"truncated_fields":[');
    expect(isMarked || bytes <= LARGEST_BUDGET).toBe(true);
  });
});
