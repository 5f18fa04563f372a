import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { signMessage } from "@board/core/subscription/secret";
import { afterAll, describe, expect, test } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";

type Verify = (secret: string, headers: Record<string, string>, body: string) => unknown;

const PAGE = path.resolve(import.meta.dirname, "../../docs/subscriptions.md");
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const BODY = '{"type":"task.created"}';

afterAll(cleanUpPrograms);

function writeExample(language: string, name: string): string {
  const code = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(readFileSync(PAGE, "utf8"))![1]!;
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, code);
  return file;
}

const loadTypeScript = async (): Promise<Verify> =>
  ((await import(pathToFileURL(writeExample("ts", "verify.mts")).href)) as { verify: Verify }).verify;

/** Runs a program that reads `{secret, headers, body}` and writes the verified message, or fails with the reason. */
function runWith(command: string, args: readonly string[], cwd: string): Verify {
  return (secret, headers, body) => {
    const ended = spawnSync(command, args, { cwd, input: JSON.stringify({ secret, headers, body }), encoding: "utf8" });
    if (ended.error) throw ended.error;
    if (ended.status !== 0) throw new Error(ended.stderr);
    return JSON.parse(ended.stdout);
  };
}

const PYTHON_CALLER = `import json, sys
from verify import verify
given = json.load(sys.stdin)
print(json.dumps(verify(given["secret"], given["headers"], given["body"].encode())))
`;

function loadPython(): Verify {
  const folder = path.dirname(writeExample("python", "verify.py"));
  writeFileSync(path.join(folder, "call.py"), PYTHON_CALLER);
  return runWith("python3", ["call.py"], folder);
}

const GO_CALLER = `package main

import (
	"encoding/json"
	"example.com/verify/events"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var given struct {
		Secret  string            \`json:"secret"\`
		Headers map[string]string \`json:"headers"\`
		Body    string            \`json:"body"\`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	header := http.Header{}
	for name, value := range given.Headers {
		header.Set(name, value)
	}
	if err := events.Verify(given.Secret, header, []byte(given.Body)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(given.Body)
}
`;

function loadGo(): Verify {
  const file = writeExample("go", "verify.go");
  const folder = path.dirname(file);
  mkdirSync(path.join(folder, "events"));
  renameSync(file, path.join(folder, "events", "verify.go"));
  writeFileSync(path.join(folder, "go.mod"), "module example.com/verify\n");
  writeFileSync(path.join(folder, "main.go"), GO_CALLER);
  const built = spawnSync("go", ["build", "-o", "verify", "."], { cwd: folder, encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
  return runWith(path.join(folder, "verify"), [], folder);
}

const isInstalled = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
const hasPython = isInstalled("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))");
const hasGo = isInstalled("go", "version");

const signed = (timestamp = Math.floor(Date.now() / 1000), secrets = [SECRET]) => ({
  "webhook-id": "event",
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signMessage(secrets, "event", String(timestamp), BODY),
});

describe.each([
  { language: "TypeScript", load: loadTypeScript, isMissing: false, missing: "", unnamed: "too old" },
  {
    language: "Python",
    load: loadPython,
    isMissing: !hasPython,
    missing: "python3 3.9 or newer is not installed",
    unnamed: "webhook-id",
  },
  { language: "Go", load: loadGo, isMissing: !hasGo, missing: "go is not installed", unnamed: "parsing" },
])("the documented $language", ({ load, isMissing, missing, unnamed }) => {
  // Each message starts the program of the example.
  test("the documented code verifies a message, even while a secret is rotated, and refuses all others", {
    timeout: 120_000,
  }, async ({ skip }) => {
    skip(isMissing, missing);
    const verify = await load();
    expect(verify(SECRET, signed(), BODY)).toEqual({ type: "task.created" });
    const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
    expect(verify(SECRET, signed(undefined, [other, SECRET]), BODY)).toEqual({ type: "task.created" });
    expect(() => verify(other, signed(), BODY)).toThrow("does not match");
    expect(() => verify(SECRET, signed(), `${BODY} `)).toThrow("does not match");
    expect(() => verify(SECRET, { ...signed(), "webhook-id": "another" }, BODY)).toThrow("does not match");
    expect(() => verify(SECRET, signed(1), BODY)).toThrow("too old");
    expect(() => verify(SECRET, {}, BODY)).toThrow(unnamed);
  });
});
