import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

/*
 * The verbs of CONTRIBUTING.md are checked against the declarations that the compiler infers, because many functions do not write
 * their return type.
 */

const root = path.resolve(import.meta.dirname, "../..");

/** Functions whose name begins with a verb of the list, but uses the word in another sense. */
const EXCEPTIONS = ["listOf"];

const isNullable = (parts: readonly string[]) => parts.some((part) => part === "null" || part === "undefined");
const isAnswer = (parts: readonly string[]) => parts.every((part) => /^boolean$|^\w+ is |SQL|Filter|^undefined$/.test(part));

/** Checks the members of the union that a function with the verb returns. A condition in SQL is allowed wherever a boolean is. */
const RULES: Readonly<Record<string, (parts: readonly string[]) => boolean>> = {
  get: (parts) => !isNullable(parts),
  require: (parts) => !isNullable(parts),
  find: isNullable,
  list: ([type, ...others]) => others.length === 0 && /\[\]$|Page|^(?:Changes|SkillList)$|(?:Map|Set|Generator)</.test(type!),
  to: (parts) => !parts.includes("void"),
  insert: (parts) => !parts.includes("boolean"),
  is: isAnswer,
  has: isAnswer,
  can: isAnswer,
};

/** Generates the declarations of core, and returns them by file. */
function declare(): Record<string, string> {
  const folder = mkdtempSync(path.join(tmpdir(), "declarations-"));
  try {
    const config = path.join(folder, "tsconfig.json");
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      noCheck: true,
      rootDir: path.join(root, "packages/core/src"),
      outDir: path.join(folder, "out"),
      typeRoots: [path.join(root, "node_modules/@types")],
    };
    const include = [path.join(root, "packages/core/src")];
    writeFileSync(config, JSON.stringify({ extends: path.join(root, "tsconfig.json"), compilerOptions, include, exclude: [] }));
    execFileSync(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", config]);
    const names = globSync("**/*.d.ts", { cwd: path.join(folder, "out") });
    return Object.fromEntries(names.map((name) => [name, readFileSync(path.join(folder, "out", name), "utf8")]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the index after the bracket that closes the first bracket of the text. */
function endOfBrackets(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if ("([{<".includes(text[at]!)) depth++;
    else if (")]}".includes(text[at]!) || (text[at] === ">" && text[at - 1] !== "=")) depth--;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Returns the members of a union; what is in brackets is not split. */
function membersOf(type: string): string[] {
  const members = [""];
  for (let at = 0; at < type.length; at++) {
    const end = "([{<".includes(type[at]!) ? at + endOfBrackets(type.slice(at)) : at + 1;
    if (type[at] === "|") members.push("");
    else members[members.length - 1] += type.slice(at, end);
    at = end - 1;
  }
  return members.map((member) => member.trim());
}

/** Returns the members of a declared function's return type, without `Promise`; null if it is not a function. */
function returnOf(declaration: string): string[] | null {
  let rest = declaration.replace(/^:\s*/, "").replace(/;\s*$/, "").replaceAll(/\s+/g, " ").trim();
  if (rest.startsWith("<")) rest = rest.slice(endOfBrackets(rest)).trim();
  if (!rest.startsWith("(")) return null;
  const type = rest.slice(endOfBrackets(rest)).replace(/^ ?(?:=>|:) /, "");
  return membersOf(type.replace(/^Promise<(.*)>$/, "$1"));
}

test("every exported function of core returns what the verb in its name means", () => {
  let checked = 0;
  const wrong = Object.entries(declare()).flatMap(([file, text]) =>
    [
      ...text.matchAll(
        /^export declare (?:function|const) (([a-z]+)[A-Z]\w*)(.*?)(?=^(?:export|declare|interface|type|\/\*\*)|$(?![^]))/gms,
      ),
    ].flatMap(([, name, verb, declaration]) => {
      const rule = RULES[verb!];
      const parts = rule && !EXCEPTIONS.includes(name!) ? returnOf(declaration!) : null;
      if (!parts) return [];
      checked++;
      return rule!(parts) ? [] : [`${file}: ${name} returns ${parts.join(" | ")}`];
    }),
  );
  expect(wrong).toEqual([]);
  expect(checked, "the declarations were read").toBeGreaterThan(200);
});
