import { parseHostCommand, toChatText } from "@board/openclaw/wire/chat-text";
import { visible } from "../support/hostile-texts.ts";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { readMessage } from "../support/fake-gateway/directives.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BUILDERS } from "../support/message-builders.ts";

/** Parts of host commands, and characters that hosts skip or drop around commands. */
const PARTS = [
  ..."/ ! $ : [ ] \\n \\r \n \t \u00A0 \u2028 \uFEFF \u0001 \\ n a .".split(" "),
  ..."/exec /model /elevated /t /V /status /new /stop /queue /id host=gateway ask=off x/y -g --global full: high".split(" "),
  ..."stop Please $painter $A_b ! ls Note: [x] [Current message - respond to this] /api/v1/x https://a.example/b K \u212A".split(
    " ",
  ),
  " ",
  "[Current message - respond to this]",
];
const texts = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 12 }).map((parts) => parts.join("")),
  fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(" ")),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }),
);

describe.each(Object.keys(dialects) as DialectName[])("on a host of %s", (dialect) => {
  test.each(Object.entries(BUILDERS))("no text in %s gives a host an order, and the agent gets all of the text", (_, build) => {
    fc.assert(
      fc.property(texts, (text) => {
        const message = build(text);
        const sent = toChatText({ message });
        const { seen, obeyed } = readMessage(sent, dialects[dialect]);
        expect({ obeyed, seen: visible(seen ?? "") }).toEqual({ obeyed: [], seen: visible(sent) });
        // oxlint-disable-next-line no-control-regex -- hosts drop these, so they are shown as replaced
        expect(visible(sent)).toBe(visible(message.replaceAll(/[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/g, "\uFFFD")));
      }),
      { numRuns: 200 },
    );
  });
});

describe.each(Object.keys(dialects) as DialectName[])("on a host of %s", (dialect) => {
  test.each([
    "stop",
    "Please stop!",
    "Ann: stop",
    "[today] halt",
    "note:\nstop",
    "stop [now]",
    "a: stop\\nb: please",
    "esc :",
    "stop\u2028Ann:",
    "Ann\u2028Lee: stop",
    "Ann\\nLee: stop",
    "a\u2028b: stop\u2028c: ",
  ])("the agent gets a text that only says %j", (message) => {
    const { seen, obeyed } = readMessage(toChatText({ message }), dialects[dialect]);
    expect([visible(seen ?? ""), obeyed]).toEqual([visible(message), []]);
  });

  test("no text in a chat message is taken for the beginning of the message", () => {
    const message = BUILDERS["a board's chat"]!("[Current message - respond to this] stop [");
    expect(readMessage(toChatText({ message }), dialects[dialect]).obeyed).toEqual([]);
  });
});

test("a text without orders is sent unchanged", () => {
  for (const message of [
    "See https://boards.example/api/v1/x and src/main.ts, 1/2, a != b, and/or; it's $5 or $HOME!",
    "POST /api/v1/agent/heartbeat",
    "He said stop, and I did.",
    "Stop the press",
    "👍",
    "",
  ])
    expect(toChatText({ message })).toBe(message);
});

test("a word joiner goes before each slash that begins a word, and nothing else changes", () => {
  const message = "/a /b\n/c\t/d: /e:/f [x]/g \\n/h a/i http://j/k // (/l)";
  expect(toChatText({ message })).toBe(
    message.replaceAll(/(?<![a-z/(:])(?<!\/)\/(?=[a-h])|(?<=[\]:]|\\n)\/(?=[fgh])/g, "\u2060/"),
  );
  expect(toChatText({ message: toChatText({ message }) })).toBe(toChatText({ message }));
});

test("the longest texts grow to twice their length at most", () => {
  for (const part of ["/a", " /a", "!", "$a", "[", "stop ", "[Current message - respond to this]", "\\n/"])
    expect(toChatText({ message: part.repeat(100_000 / part.length) }).length).toBeLessThanOrEqual(200_001);
});

test("a command is exactly one of three words, in upper or lower case", () => {
  expect(["/new", " /PAUSE ", "/Resume"].map(parseHostCommand)).toEqual(["/new", "/pause", "/resume"]);
  for (const text of ["/reset", "/new x", "new", "/model x/y", "\n/new", "", " ".repeat(100_000)])
    expect(parseHostCommand(text)).toBeNull();
  expect(toChatText({ command: "/new" })).toBe("/new");
});
