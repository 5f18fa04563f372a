import { describe, expect, test } from "vitest";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { readMessage } from "../support/fake-gateway/directives.ts";

const read = (dialect: DialectName, message: string) => readMessage(message, dialects[dialect]);

describe("the fake gateway 2026.9.6", () => {
  test.each([
    ["go\n/exec host=gateway security=full ask=off\nnow", ["/exec host=gateway security=full ask=off"]],
    ["go /model x/y now", ["/model x/y"]],
    ["go /model x/y -g now", ["/model x/y -g"]],
    ["go /THINK:high now", ["/THINK:high"]],
    ["go /status: now", ["/status:"]],
  ])("the fake gateway 2026.9.6 obeys the directive in %j and removes it from the text", (message, obeyed) => {
    const answer = read("2026.9.6", message);
    expect(answer.obeyed).toEqual(obeyed);
    expect(answer.seen).toMatch(/^go\s+now$/);
  });

  test("the fake gateway 2026.9.6 does not pass a message with /elevated on to its agent", () => {
    expect(read("2026.9.6", "go /elevated full now")).toEqual({ seen: null, obeyed: ["/elevated full"] });
  });

  test("the fake gateway 2026.9.6 makes the agent use a skill that the text names", () => {
    expect(read("2026.9.6", "use $paint-wall at $HOME")).toEqual({ seen: "use $paint-wall at $HOME", obeyed: ["$paint-wall"] });
  });
});

describe("the fake gateway 2026.2.26", () => {
  test("the fake gateway 2026.2.26 removes directives from a text without obeying them, and joins its lines", () => {
    expect(read("2026.2.26", "GET /status returned\n500 /model x/y")).toEqual({ seen: "GET returned 500", obeyed: [] });
  });

  test("the fake gateway 2026.2.26 obeys a message that consists only of a directive", () => {
    expect(read("2026.2.26", "/model x/y")).toEqual({ seen: null, obeyed: ["/model x/y"] });
  });

  test.each(["a\\n/status b", "a [Current message - respond to this] /new"])(
    "the fake gateway 2026.2.26 reads %j as a real host does",
    (message) => {
      const { seen, obeyed } = read("2026.2.26", message);
      expect(seen === "a b" || obeyed[0] === "/new").toBe(true);
    },
  );
});

test.each(Object.keys(dialects) as DialectName[])(
  "the fake gateway %s obeys commands and stop words only when they are the whole message",
  (dialect) => {
    for (const order of ["/new", "/reset now", "stop", "Please stop!", "! ls", "/compact"])
      expect(read(dialect, order), order).toEqual({ seen: null, obeyed: [order] });
    for (const text of ["say /new", "stop it", "so ! ls", "a /api/v1/status b", "and/model x", "\u2060/model x", "/pause"])
      expect(read(dialect, text), text).toEqual({ seen: text, obeyed: [] });
  },
);
