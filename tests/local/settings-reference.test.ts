import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { renderSettings } from "@board/local/settings-reference";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const text = readFileSync(path.join(root, "docs/settings.md"), "utf8");
const infra = globSync("infra/*.ts", { cwd: root }).map((file) => readFileSync(path.join(root, file), "utf8"));
const documented = (name: string) => text.includes(`\`${name}\``);

test("docs/settings.md matches the output of `npm run docs:settings`", () => {
  expect(text).toBe(renderSettings());
});

test("docs/settings.md lists every variable and secret of the deployment", () => {
  const read = infra.flatMap((code) => [
    ...[...code.matchAll(/process\.env\.([A-Z_]+)/g)].map((match) => match[1]!),
    ...[...code.matchAll(/const \{([^}]*)\} = process\.env/g)].flatMap((match) => match[1]!.match(/\b[A-Z][A-Z_]+\b/g) ?? []),
  ]);
  const secrets = infra.flatMap((code) => [...code.matchAll(/new sst\.Secret\("(\w+)"/g)].map((match) => match[1]!));
  expect(read).toContain("ALARM_EMAIL");
  expect(secrets).toContain("EncryptionKey");
  expect([...read, ...secrets].filter((name) => !documented(name))).toEqual([]);
});

test("docs/settings.md lists no variable that the deployment does not read", () => {
  const [, deployment = ""] = text.split("## The deployment");
  const names = [...deployment.matchAll(/^\| `(\w+)`/gm)].map((match) => match[1]!);
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !infra.some((code) => code.includes(name)))).toEqual([]);
});

test("every setting has a description", () => {
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(35);
  for (const row of rows)
    expect(
      row
        .split("|")
        .slice(2, -1)
        .map((cell) => cell.trim() !== ""),
    ).not.toContain(false);
});
