import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWebhook } from "../support/webhook.ts";

/** Sends a request. In the path, `{b}`, `{w}` and `{g}` stand for the ids of the board, the webhook and the gateway. */
const send = (method: string, path: string, body?: unknown) =>
  world.call(method, path.replace("{b}", home.board_id).replace("{w}", webhook).replace("{g}", home.gateway_id), {
    token: home.owner.token,
    body,
  });

const world = await setupWorld();
const home = await world.tenant("home");
const { id: webhook } = await createWebhook(world, home);

const TAG = "POST /api/tags";
const BOARD = "PATCH /api/v1/boards/{b}";
const MEMORY = "POST /api/v1/boards/{b}/memory";
const WEBHOOK = "PATCH /api/v1/boards/{b}/webhooks/{w}";
const GATEWAY = "PATCH /api/v1/gateways/{g}";
const ADDRESS = "url must be ws, wss, http or https with a host";
const LONG = "n".repeat(201);
const TYPES = "'goal', 'project', 'ops' or 'general'";

describe("problems of a body", () => {
  /** By default the first field of the body has the problem. */
  type Problem = { field?: (string | number)[]; input?: unknown };
  test.each<[string, string, object, string, string, Problem?]>([
    ["a missing field", TAG, {}, "missing", "Field required", { field: ["name"], input: null }],
    ["a number instead of text", TAG, { name: 5 }, "string_type", "Input should be a valid string"],
    ["a boolean instead of text", TAG, { name: true }, "string_type", "Input should be a valid string"],
    ["null instead of text", TAG, { name: null }, "string_type", "Input should be a valid string"],
    ["blank text", TAG, { name: " \t" }, "string_too_short", "String should have at least 1 character"],
    ["empty text", TAG, { name: "" }, "string_too_short", "String should have at least 1 character"],
    [
      "text that is too long",
      TAG,
      { name: LONG },
      "string_too_long",
      "String should have at most 200 characters",
      { input: LONG.slice(1) },
    ],
    ["text instead of a boolean", BOARD, { goal_confirmed: "true" }, "bool_type", "Input should be a valid boolean"],
    ["a number instead of a boolean", BOARD, { goal_confirmed: 1 }, "bool_type", "Input should be a valid boolean"],
    ["null instead of a boolean", BOARD, { goal_confirmed: null }, "bool_type", "Input should be a valid boolean"],
    ["text instead of an integer", BOARD, { max_agents: "5" }, "int_type", "Input should be a valid integer"],
    ["a fraction instead of an integer", BOARD, { max_agents: 1.5 }, "int_type", "Input should be a valid integer"],
    ["null instead of an integer", BOARD, { max_agents: null }, "int_type", "Input should be a valid integer"],
    ["a number below the minimum", BOARD, { max_agents: -1 }, "greater_than_equal", "Input should be greater than or equal to 0"],
    [
      "a number above the maximum",
      BOARD,
      { max_agents: 2 ** 31 },
      "less_than_equal",
      "Input should be less than or equal to 2147483647",
    ],
    [
      "a number above every integer",
      BOARD,
      { max_agents: 1e300 },
      "less_than_equal",
      "Input should be less than or equal to 2147483647",
    ],
    ["text instead of an array", MEMORY, { tags: "chat", content: "x" }, "list_type", "Input should be a valid array"],
    [
      "an array element of the wrong type",
      MEMORY,
      { tags: ["a", 5], content: "x" },
      "string_type",
      "Input should be a valid string",
      { field: ["tags", 1], input: 5 },
    ],
    ["text instead of an object", BOARD, { success_metrics: "x" }, "dict_type", "Input should be a valid object"],
    ["a malformed id", BOARD, { gateway_id: "g" }, "uuid_parsing", "Input should be a valid UUID"],
    ["a malformed time", BOARD, { target_date: "soon" }, "datetime_parsing", "Input should be a valid datetime"],
    ["a value outside an enumeration", BOARD, { board_type: "x" }, "literal_error", `Input should be ${TYPES}`],
    ["a value that breaks a rule", BOARD, { description: " " }, "value_error", "Value error, description is required"],
    ["an invalid URL", GATEWAY, { url: "host" }, "value_error", `Value error, ${ADDRESS}`],
    ["an empty URL", GATEWAY, { url: "" }, "string_too_short", "String should have at least 1 character"],
    ["a secret of the wrong type", WEBHOOK, { secret: 12345 }, "string_type", "Input should be a valid string", { input: "***" }],
    [
      "a secret that is too long",
      WEBHOOK,
      { secret: LONG.repeat(5) },
      "string_too_long",
      "String should have at most 1000 characters",
      { input: "***" },
    ],
  ])("a problem is reported with its type, place, message and value: %s", async (_what, operation, body, type, msg, problem) => {
    const [method = "", path = ""] = operation.split(" ");
    const { field = Object.keys(body).slice(0, 1), input = Object.values(body)[0] } = problem ?? {};
    const answer = await send(method, path, body);
    expect([answer.status, answer.body]).toEqual([422, { detail: [{ type, loc: ["body", ...field], msg, input }] }]);
  });

  test("all problems of a body are reported at once, in the order of the fields and without secrets", async () => {
    const answer = await send("POST", "/api/v1/gateways", {
      token: { value: "s3cret" },
      workspace_root: "",
      name: 5,
      unknown: 1,
      allow_insecure_tls: 0,
    });
    expect(answer.body.detail.map(({ type, loc, input }: Record<string, unknown>) => [type, loc, input])).toEqual([
      ["string_type", ["body", "name"], 5],
      ["missing", ["body", "url"], null],
      ["string_too_short", ["body", "workspace_root"], ""],
      ["string_type", ["body", "token"], "***"],
      ["bool_type", ["body", "allow_insecure_tls"], 0],
    ]);
  });

  test("a board's required fields cannot be set to null", async () => {
    const required = [
      "name",
      "description",
      "gateway_id",
      "board_type",
      "goal_confirmed",
      "require_approval_for_done",
      "max_agents",
    ];
    const answer = await send("PATCH", "/api/v1/boards/{b}", Object.fromEntries(required.map((field) => [field, null])));
    expect(answer.status).toBe(422);
    expect(answer.body.detail.map((problem: { loc: string[] }) => problem.loc[1])).toEqual(required);
  });
});

describe("problems of the query and the path", () => {
  const integer = "Input should be a valid integer";
  const uuid = "Input should be a valid UUID";

  test.each([
    ["/api/v1/boards?limit=0", "greater_than_equal", ["query", "limit"], "Input should be greater than or equal to 1", "0"],
    ["/api/v1/boards?limit=201", "less_than_equal", ["query", "limit"], "Input should be less than or equal to 200", "201"],
    ["/api/v1/boards?offset=-1", "greater_than_equal", ["query", "offset"], "Input should be greater than or equal to 0", "-1"],
    ["/api/v1/boards?page=0", "greater_than_equal", ["query", "page"], "Input should be greater than or equal to 1", "0"],
    ["/api/v1/boards?limit=ten", "int_type", ["query", "limit"], integer, "ten"],
    ["/api/v1/boards?limit=1.5", "int_type", ["query", "limit"], integer, "1.5"],
    ["/api/v1/boards?limit=0x10", "int_type", ["query", "limit"], integer, "0x10"],
    ["/api/v1/boards?gateway_id=x", "uuid_parsing", ["query", "gateway_id"], uuid, "x"],
    ["/api/v1/boards/{b}/memory?is_chat=maybe", "bool_type", ["query", "is_chat"], "Input should be a valid boolean", "maybe"],
    ["/api/v1/boards/board", "uuid_parsing", ["path", "board_id"], uuid, "board"],
    ["/api/v1/gateways/1", "uuid_parsing", ["path", "gateway_id"], uuid, "1"],
    [`/api/v1/boards/${LONG}`, "uuid_parsing", ["path", "board_id"], uuid, LONG.slice(1)],
  ])("GET %s is 422 with the problem %s", async (path, type, loc, msg, input) => {
    const answer = await send("GET", path);
    expect([answer.status, answer.body]).toEqual([422, { detail: [{ type, loc, msg, input }] }]);
  });

  test.each([
    "/api/v1/boards/{b}/memory?key=%00",
    "/api/v1/boards?limit=%00",
    "/api/v1/boards?limit=1&limit=2",
    "/api/v1/boards?limit=%E0%A4%A",
    "/api/v1/boards?offset=99999999999999999999",
    "/api/v1/boards/%00",
    "/api/v1/boards/%ED%A0%80",
    "/api/v1/agents/null",
  ])("GET %s with an unreadable value is 422", async (path) => {
    expect((await send("GET", path)).status).toBe(422);
  });

  test("a boolean in a query is accepted in every usual spelling", async () => {
    await send("POST", "/api/v1/boards/{b}/memory", { content: "said", tags: ["chat"] });
    await send("POST", "/api/v1/boards/{b}/memory", { content: "noted" });
    const contents = async (text: string) =>
      (await send("GET", `/api/v1/boards/{b}/memory?is_chat=${text}`)).body.items.map(
        (entry: { content: string }) => entry.content,
      );
    for (const text of ["true", "1", "yes", "on", "t", "y", "TRUE", "Yes"]) expect(await contents(text), text).toEqual(["said"]);
    for (const text of ["false", "0", "no", "off", "f", "n", "FALSE", "No"])
      expect(await contents(text), text).toEqual(["noted"]);
  });

  test("ids are accepted in any letter case and returned in lower case", async () => {
    expect((await send("GET", `/api/v1/boards/${home.board_id.toUpperCase()}`)).body.id).toBe(home.board_id);
    const body = { name: "Board", description: "A board", gateway_id: home.gateway_id.toUpperCase() };
    expect((await send("POST", "/api/v1/boards", body)).body.gateway_id).toBe(home.gateway_id);
  });
});
