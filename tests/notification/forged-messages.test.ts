import { memoryContent, notificationText } from "@board/core/webhook/message";
import { toChatText } from "@board/openclaw/wire/chat-text";
import fc from "fast-check";
import { expect, test } from "vitest";
import { splitFences } from "../support/fences.ts";
import { hostileTexts } from "../support/hostile-texts.ts";
import { BUILDERS } from "../support/message-builders.ts";

/** Messages that are not tested here: a nudge is only the lead's text, and the instruction of a webhook may have several lines. */
const OWN_LINES = ["a text alone", "a webhook's event"];
const messages = Object.entries(BUILDERS).filter(([name]) => !OWN_LINES.includes(name));
const BENIGN = "Benign";

test.each(messages)("no text in %s adds a line outside of a fence", (_name, build) => {
  const expected = splitFences(build(BENIGN)).outside;
  fc.assert(
    fc.property(hostileTexts, (text) => {
      for (const message of [build(text), toChatText({ message: build(text) })]) {
        const { outside, open } = splitFences(message);
        expect(open).toBe(false);
        // A line that contained the benign text still begins with its label, which says what the text is.
        const labels = expected.map((line) => line.split(BENIGN, 1)[0]!.trimEnd());
        expect(outside.map((line, index) => line.startsWith(labels[index] ?? "\0"))).toEqual(labels.map(() => true));
      }
    }),
    { numRuns: 200 },
  );
});

test("neither the instruction of a webhook nor its payload opens or closes a fence", () => {
  fc.assert(
    fc.property(hostileTexts, hostileTexts, (instruction, text) => {
      const ids = { board_id: "b", webhook_id: "w", payload_id: "p" };
      const facts = { ...ids, board_name: "Shop", instruction, summary: null, text };
      for (const message of [notificationText(facts), memoryContent(facts)]) {
        expect(message).toMatch(/\n--- BEGIN EXTERNAL DATA ([0-9a-f]{16}) [^\n]*\n[^]*\n--- END EXTERNAL DATA \1 ---$/);
        expect(message).toContain(`\n${text}\n--- END `);
        expect(fenceLines(message) - fenceLines(text)).toBe(2);
      }
    }),
  );
});

const fenceLines = (text: string) => text.split("\n").filter((line) => /^--- (BEGIN|END) /.test(line)).length;
