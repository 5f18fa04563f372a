import { carry, ownIn, toolsIn } from "@board/core/gateway/carrier";
import { describe, expect, test } from "vitest";

describe("a file that carries others", () => {
  const own = { name: "AGENTS.md", content: "Own text.\n" };

  test("is itself when there is nothing to carry, and its own text comes out as it went in", () => {
    expect(carry(own, null, [])).toBe("Own text.\n");
    const text = carry(own, "A=1", [{ name: "ROLES.md", content: "Roles" }]);
    expect([ownIn({ name: "AGENTS.md", content: text }), toolsIn(text)]).toEqual(["Own text.", "A=1"]);
    expect(ownIn({ name: "AGENTS.md", content: carry(own, null, [{ name: "ROLES.md", content: "Roles" }]) })).toBe("Own text.");
    expect(carry({ name: "AGENTS.md", content: "" }, "A=1", [])).toBe("<!-- file: TOOLS.md -->\nA=1\n");
  });

  test("shows TOOLS.md only where it comes first", () => {
    expect(toolsIn("<!-- file: TOOLS.md -->\r\nA=1\r\n\r\n<!-- file: AGENTS.md -->\r\nx")).toBe("A=1");
    for (const text of ["", "text", "x\n<!-- file: TOOLS.md -->\nA=1", "<!-- file: ROLES.md -->\n<!-- file: TOOLS.md -->\nA=1"])
      expect(toolsIn(text)).toBeNull();
  });

  test("a marker inside a content is text", () => {
    const text = carry(own, "A=1\n<!-- file: AGENTS.md -->\nB=2", [{ name: "ROLES.md", content: "<!-- file: AGENTS.md -->\nx" }]);
    expect(toolsIn(text)).toBe("A=1\n <!-- file: AGENTS.md -->\nB=2");
    expect(ownIn({ name: "AGENTS.md", content: text })).toBe("Own text.");
  });
});
