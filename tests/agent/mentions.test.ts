import { isMentioned, parseMentions } from "@board/core/values/mention";
import { describe, expect, test } from "vitest";

describe("parsing mentions", () => {
  test.each<[string, string[]]>([
    ["@ada", ["ada"]],
    ["Hello @Ada, and @BOB: look", ["ada", "bob"]],
    ["@ada @Ada @ADA", ["ada"]],
    ["(@ada) @bob! @eve's @mia.", ["ada", "bob", "eve", "mia"]],
    ["@ada_2-b", ["ada_2-b"]],
    ["@zoë @Ångström", ["zoë", "ångström"]],
    ["line\n@ada\t@bob", ["ada", "bob"]],
    ["@@ada", ["ada"]],
    ["-@ada", ["ada"]],
    ["ada@example.org 7@bob _@eve é@mia", []],
    ["@ ada @1st @_x @-y", []],
    ["no mention", []],
    ["", []],
  ])("the text %j mentions %j", (text, names) => {
    expect([...parseMentions(text)]).toEqual(names);
  });

  test("a mentioned name is cut after 32 characters", () => {
    expect([...parseMentions(`@${"a".repeat(32)}`)]).toEqual(["a".repeat(32)]);
    expect([...parseMentions(`@${"a".repeat(33)}`)]).toEqual(["a".repeat(32)]);
  });

  test("a long text without mentions is parsed in under 500 ms", () => {
    const started = performance.now();
    expect(parseMentions(`${"@".repeat(50_000)}${"a".repeat(50_000)}`).size).toBe(1);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("matching mentions", () => {
  const worker = (name: string) => ({ name, is_board_lead: false });
  const lead = (name: string) => ({ name, is_board_lead: true });
  test.each<[string, { name: string; is_board_lead: boolean }, boolean]>([
    ["@ada", worker("Ada"), true],
    ["@ada", worker(" Ada Lovelace "), true],
    ["@lovelace", worker("Ada Lovelace"), false],
    ["@ada-lovelace", worker("Ada-Lovelace"), true],
    ["@ad", worker("Ada"), false],
    ["@adam", worker("Ada"), false],
    ["@lead", lead("Ada"), true],
    ["@ada", lead("Ada"), true],
    ["@LEAD", lead("Lead Agent"), true],
    ["@lead", worker("Lead"), false],
    ["@lead", worker("Lead Agent"), false],
    ["@all", worker("Ada"), false],
    ["@all", lead("Ada"), false],
    ["@ada", worker(" "), false],
    ["hello", worker(""), false],
  ])("the text %j mentions the agent %j: %s", (text, agent, meant) => {
    expect(isMentioned(agent, parseMentions(text))).toBe(meant);
  });
});
