import { combineFiles, extractOwnContent, extractTools } from "@board/openclaw/host/file-fallback";
import { describe, expect, test } from "vitest";

describe("a file that contains other files as sections", () => {
  const own = { name: "AGENTS.md", content: "Own text.\n" };

  test("a file that contains no other files is unchanged, and its text is extracted as it was", () => {
    expect(combineFiles(own, null, [])).toBe("Own text.\n");
    const text = combineFiles(own, "A=1", [{ name: "ROLES.md", content: "Roles" }]);
    expect([extractOwnContent({ name: "AGENTS.md", content: text }), extractTools(text)]).toEqual(["Own text.", "A=1"]);
    expect(
      extractOwnContent({ name: "AGENTS.md", content: combineFiles(own, null, [{ name: "ROLES.md", content: "Roles" }]) }),
    ).toBe("Own text.");
    expect(combineFiles({ name: "AGENTS.md", content: "" }, "A=1", [])).toBe("<!-- file: TOOLS.md -->\nA=1\n");
  });

  test("TOOLS.md is found only at the start of the file", () => {
    expect(extractTools("<!-- file: TOOLS.md -->\r\nA=1\r\n\r\n<!-- file: AGENTS.md -->\r\nx")).toBe("A=1");
    for (const text of ["", "text", "x\n<!-- file: TOOLS.md -->\nA=1", "<!-- file: ROLES.md -->\n<!-- file: TOOLS.md -->\nA=1"])
      expect(extractTools(text)).toBeNull();
  });

  test("a marker inside a text is treated as text", () => {
    const text = combineFiles(own, "A=1\n<!-- file: AGENTS.md -->\nB=2", [
      { name: "ROLES.md", content: "<!-- file: AGENTS.md -->\nx" },
    ]);
    expect(extractTools(text)).toBe("A=1\n <!-- file: AGENTS.md -->\nB=2");
    expect(extractOwnContent({ name: "AGENTS.md", content: text })).toBe("Own text.");
  });
});
