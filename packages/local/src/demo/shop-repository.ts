import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

export const UNSORTED = "export const listProducts = () => products;";
export const SORTED = "export const listProducts = () => products.toSorted((one, other) => one.price - other.price);";
export const TEST_COMMAND = "node --test";

const FILES = {
  "products.mjs": `const products = [
  { name: "Desk lamp", price: 49 },
  { name: "Bulb", price: 4 },
  { name: "Floor lamp", price: 89 },
];

${UNSORTED}
`,
  "products.test.mjs": `import assert from "node:assert";
import { test } from "node:test";
import { listProducts } from "./products.mjs";

test("the cheapest product is first", () => assert.equal(listProducts()[0].name, "Bulb"));
`,
};

/** Makes the repository of the shop, with a test that fails. Without git on this machine it is a plain folder. */
export function makeRepository(folder: string): string {
  const repository = path.join(folder, "shop");
  mkdirSync(repository);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(repository, name), text);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: repository, stdio: "ignore" });
  try {
    git("init", "--quiet");
    git("add", "--all");
    git("-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--no-verify", "--message=Open the shop");
  } catch {
    // Without git, the runner works in the folder itself.
  }
  return repository;
}
