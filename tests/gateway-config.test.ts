import { GatewayError } from "@board/core/gateway/client";
import { entriesPatch, isStale, refusedKeys, toHostConfig, type WantedEntry, withoutKeys } from "@board/core/gateway/config";
import { workspacePath } from "@board/core/agent/host";
import { describe, expect, test } from "vitest";

const heartbeat = { every: "10m", target: "last", includeReasoning: false };
const wanted = (id: string, changed: object = {}): WantedEntry => ({
  id,
  settings: { workspace: `/srv/${id}`, heartbeat, ...changed },
});
const list = (...entries: unknown[]) => ({ agents: { list: entries } });

describe("in the list layout", () => {
  test("every entry is sent as it is and in its place, our own with our settings, missing ones at the end", () => {
    const main = { id: "main", default: true, heartbeat: { every: "1h" }, tools: { deny: ["x"] } };
    const own = {
      id: "own",
      name: "Own",
      agentDir: "/a",
      workspace: "/old",
      heartbeat: { every: "1h" },
      model: { primary: "m" },
    };
    expect(entriesPatch(list(main, own, "odd", null), [wanted("new"), wanted("own")])).toEqual(
      list(main, { ...own, workspace: "/srv/own", heartbeat }, "odd", null, { id: "new", workspace: "/srv/new", heartbeat }),
    );
  });

  test.each([{}, { agents: {} }, { agents: null }, { agents: { list: null } }, { agents: { defaults: {} } }])(
    "%j has an empty list",
    (config) => {
      expect(entriesPatch(config, [wanted("own")])).toEqual(list({ id: "own", workspace: "/srv/own", heartbeat }));
    },
  );

  test("what the host keeps in a heartbeat beside ours stays, however the host merges lists", () => {
    const own = {
      id: "own",
      workspace: "/srv/own",
      heartbeat: { prompt: "Look", activeHours: { start: "08:00", end: "20:00" } },
    };
    const patch = entriesPatch(list(own), [wanted("own", { heartbeat: { ...heartbeat, activeHours: { start: "09:00" } } })]);
    const next = { ...heartbeat, prompt: "Look", activeHours: { start: "09:00", end: "20:00" } };
    expect(patch).toEqual(list({ ...own, heartbeat: next }));
  });
});

describe("in the entries layout", () => {
  test("our own entries are sent alone", () => {
    const config = { agents: { entries: { main: { name: "Main" }, own: { name: "Own", workspace: "/old" } } } };
    expect(entriesPatch(config, [wanted("own"), wanted("new")])).toEqual({
      agents: { entries: { own: wanted("own").settings, new: wanted("new").settings } },
    });
  });

  test("it is taken from the shape alone, an empty one too", () => {
    expect(entriesPatch({ agents: { entries: {}, list: [] } }, [wanted("own")])).toEqual({
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
  expect(entriesPatch(config(reordered), [wanted("own")])).toBeNull();
  expect(entriesPatch(config(reordered), [wanted("own", { heartbeat: { ...heartbeat, model: null } })])).toBeNull();
  expect(entriesPatch(config({ ...reordered, workspace: "/srv/OWN" }), [wanted("own")])).not.toBeNull();
  expect(entriesPatch(config(reordered), [])).toBeNull();
});

test.each([null, "text", [], {}, { hash: "x" }, { hash: "x", config: null }, { hash: "x", config: [] }])(
  "an answer without a configuration is refused: %j",
  (payload) => {
    expect(() => toHostConfig(payload)).toThrow(GatewayError);
  },
);

test("a hash may be missing", () => {
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
])("of %j the keys of ours are %j, from details and from the text", (issues, keys) => {
  expect(refusedKeys(refusal("invalid config", issues), [wanted("own")])).toEqual(keys);
  const text = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  expect(refusedKeys(refusal(`invalid config: ${text}`), [wanted("own")])).toEqual(keys);
});

test("no other error names a key", () => {
  for (const error of [
    refusal("rate limit for heartbeat"),
    refusal("invalid config"),
    new Error("invalid config: heartbeat: no"),
    null,
  ])
    expect(refusedKeys(error, [wanted("own")])).toEqual([]);
});

test("a key is left out wherever it stands", () => {
  expect(withoutKeys(wanted("own"), ["workspace", "every"])).toEqual({
    id: "own",
    settings: { heartbeat: { target: "last", includeReasoning: false } },
  });
  expect(withoutKeys(wanted("own"), ["heartbeat"])).toEqual({ id: "own", settings: { workspace: "/srv/own" } });
});

test("a stale hash is told from other refusals", () => {
  for (const text of ["config changed since last load; re-run config.get and retry", "config base hash required"])
    expect(isStale(refusal(text))).toBe(true);
  expect([isStale(refusal("invalid config")), isStale(new Error("base hash required"))]).toEqual([false, false]);
});

test.each([
  ["/srv/agents", "mc-1", "/srv/agents/workspace-mc-1"],
  ["~/agents//", "lead-1", "~/agents/workspace-lead-1"],
  ["/", "mc-1", "/workspace-mc-1"],
  ["/srv", "mc-gateway-1", "/srv/workspace-gateway-1"],
  [" C:\\agents ", "My Agent!", "C:\\agents/workspace-my-agent"],
])("below %j the workspace of %s is %s", (root, id, path) => {
  expect(workspacePath(root, id)).toBe(path);
});
