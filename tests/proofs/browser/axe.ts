/** axe in the pages of the console, in each look that people may have. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect } from "vitest";
import type { Page } from "./chromium.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SCHEMES = ["light", "dark"];
const WIDTHS = [1280, 390];
/** The page's background in each scheme: it shows that a check ran in the scheme that it names. */
const BACKGROUNDS: Record<string, string> = { light: "rgb(247, 247, 249)", dark: "rgb(15, 16, 20)" };

/** Returns axe's findings on the page in its current state, as text. */
export async function findings(page: Page, what: string): Promise<string[]> {
  await page.evaluate(AXE);
  const found = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")))`,
  )) as string[];
  return found.map((text) => `${what}: ${text}`);
}

/** Runs a check in light and in dark, on a desktop and on a phone. */
export async function inEveryLook(page: Page, check: (look: string) => Promise<void>): Promise<void> {
  for (const scheme of SCHEMES)
    for (const width of WIDTHS) {
      await page.emulateMediaFeatures([
        { name: "prefers-color-scheme", value: scheme },
        { name: "prefers-reduced-motion", value: "reduce" },
      ]);
      await page.setViewport({ width, height: 800 });
      expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(BACKGROUNDS[scheme]);
      await check(`${scheme} ${width}`);
    }
}
