import { GatewayError } from "@board/openclaw/wire/gateway-error";
import {
  createEntriesPatch,
  isStaleConfigError,
  listRefusedKeys,
  toHostConfig,
  type DesiredEntry,
  omitKeys,
} from "@board/openclaw/host/config";
import { workspacePath } from "@board/core/values/session-key";
import { describe, expect, test } from "vitest";

const heartbeat = { every: "10m", target: "last", includeReasoning: false };
const wanted = (id: string, changed: object = {}): DesiredEntry => ({
  id,
  settings: { workspace: `/srv/${id}`, heartbeat, ...changed },
});
const list = (...entries: unknown[]) => ({ agents: { list: entries } });

describe("agents in the list layout", () => {
  test("the list layout keeps all entries in their order, changes only the settings of the service's agents, and appends new agents", () => {
    const main = { id: "main", default: true, heartbeat: { every: "1h" }, tools: { deny: ["x"] } };
    const own = {
      id: "own",
      name: "Own",
      agentDir: "/a",
      workspace: "/old",
      heartbeat: { every: "1h" },
      model: { primary: "m" },
    };
    expect(createEntriesPatch(list(main, own, "odd", null), [wanted("new"), wanted("own")])).toEqual(
      list(main, { ...own, workspace: "/srv/own", heartbeat }, "odd", null, { id: "new", workspace: "/srv/new", heartbeat }),
    );
  });

  test.each([{}, { agents: {} }, { agents: null }, { agents: { list: null } }, { agents: { defaults: {} } }])(
    "the configuration %j has an empty list",
    (config) => {
      expect(createEntriesPatch(config, [wanted("own")])).toEqual(list({ id: "own", workspace: "/srv/own", heartbeat }));
    },
  );

  test("settings that a host has in an agent's heartbeat stay, whether or not the host merges lists", () => {
    const own = {
      id: "own",
      workspace: "/srv/own",
      heartbeat: { prompt: "Look", activeHours: { start: "08:00", end: "20:00" } },
    };
    const patch = createEntriesPatch(list(own), [
      wanted("own", { heartbeat: { ...heartbeat, activeHours: { start: "09:00" } } }),
    ]);
    const next = { ...heartbeat, prompt: "Look", activeHours: { start: "09:00", end: "20:00" } };
    expect(patch).toEqual(list({ ...own, heartbeat: next }));
  });
});

describe("agents in the entries layout", () => {
  test("the entries layout sends only the entries of the service's agents", () => {
    const config = { agents: { entries: { main: { name: "Main" }, own: { name: "Own", workspace: "/old" } } } };
    expect(createEntriesPatch(config, [wanted("own"), wanted("new")])).toEqual({
      agents: { entries: { own: wanted("own").settings, new: wanted("new").settings } },
    });
  });

  test("the entries layout is recognized by its shape, even when it is empty", () => {
    expect(createEntriesPatch({ agents: { entries: {}, list: [] } }, [wanted("own")])).toEqual({
      agents: { entries: { own: wanted("own").settings } },
    });
  });
});

test.each([
  ["list", (own: object) => list({ id: "main" }, { id: "own", ...own })],
  ["entries", (own: object) => ({ agents: { entries: { main: {}, own } } })],
])("nothing is sent in the %s layout when nothing would change, whatever the order of keys", (_layout, config) => {
  const reordered = {
    heartbeat: { includeReasoning: false, prompt: "kept", target: "last", every: "10m" },
    name: "Own",
    workspace: "/srv/own",
  };
  expect(createEntriesPatch(config(reordered), [wanted("own")])).toBeNull();
  expect(createEntriesPatch(config(reordered), [wanted("own", { heartbeat: { ...heartbeat, model: null } })])).toBeNull();
  expect(createEntriesPatch(config({ ...reordered, workspace: "/srv/OWN" }), [wanted("own")])).not.toBeNull();
  expect(createEntriesPatch(config(reordered), [])).toBeNull();
});

test.each([null, "text", [], {}, { hash: "x" }, { hash: "x", config: null }, { hash: "x", config: [] }])(
  "an answer without a configuration is refused: %j",
  (payload) => {
    expect(() => toHostConfig(payload)).toThrow(GatewayError);
  },
);

test("a configuration without a hash is accepted", () => {
  for (const hash of [undefined, null, ""]) expect(toHostConfig({ hash, config: {} })).toEqual({ hash: null, config: {} });
});

const refusal = (message: string, issues?: unknown) =>
  new GatewayError(message, issues === undefined ? {} : { details: { issues } });

test.each([
  [[{ path: "agents.list.1.heartbeat", message: 'Unrecognized key: "includeReasoning"' }], ["includeReasoning"]],
  [[{ path: "agents.list.1.heartbeat", message: 'Unrecognized keys: "target", "every"' }], ["target", "every"]],
  [[{ path: "agents.entries.own.heartbeat.every", message: "invalid duration (use ms, s, m, h)" }], ["every"]],
  [[{ path: "agents.list.1", message: 'Unrecognized key: "heartbeat"' }], ["heartbeat"]],
  [[{ path: "agents.list.1.workspace", message: "Invalid input" }], ["workspace"]],
  [[{ path: "agents", message: 'Unrecognized key: "list"' }], []],
  [[{ path: "channels.defaults", message: "Invalid input" }], []],
])("the error details %j and their text name the refused keys %j of the service's entries", (issues, keys) => {
  expect(listRefusedKeys(refusal("invalid config", issues), [wanted("own")])).toEqual(keys);
  const text = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  expect(listRefusedKeys(refusal(`invalid config: ${text}`), [wanted("own")])).toEqual(keys);
});

test("no refused key is reported for an error about another problem", () => {
  for (const error of [
    refusal("rate limit for heartbeat"),
    refusal("invalid config"),
    new Error("invalid config: heartbeat: no"),
    null,
  ])
    expect(listRefusedKeys(error, [wanted("own")])).toEqual([]);
});

test("a refused key is left out wherever it occurs in the configuration", () => {
  expect(omitKeys(wanted("own"), ["workspace", "every"])).toEqual({
    id: "own",
    settings: { heartbeat: { target: "last", includeReasoning: false } },
  });
  expect(omitKeys(wanted("own"), ["heartbeat"])).toEqual({ id: "own", settings: { workspace: "/srv/own" } });
});

test("a stale hash is distinguished from other refusals", () => {
  for (const text of ["config changed since last load; re-run config.get and retry", "config base hash required"])
    expect(isStaleConfigError(refusal(text))).toBe(true);
  expect([isStaleConfigError(refusal("invalid config")), isStaleConfigError(new Error("base hash required"))]).toEqual([
    false,
    false,
  ]);
});

test.each([
  ["/srv/agents", "mc-1", "/srv/agents/workspace-mc-1"],
  ["~/agents//", "lead-1", "~/agents/workspace-lead-1"],
  ["/", "mc-1", "/workspace-mc-1"],
  ["/srv", "mc-gateway-1", "/srv/workspace-gateway-1"],
  [" C:\\agents ", "My Agent!", "C:\\agents/workspace-my-agent"],
])("below the root %j the workspace of %s is %s", (root, id, path) => {
  expect(workspacePath(root, id)).toBe(path);
});
