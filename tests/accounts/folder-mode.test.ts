import { linkSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { migrateAccounts } from "@board/local/accounts-migration";
import { findSecrets, withGeneratedSecrets } from "@board/local/secrets";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

const TOKEN = { LOCAL_AUTH_TOKEN: "o".repeat(60) };

/** Creates a folder with some of the files that a service leaves in its data folder. */
function folderWith(...content: ("database" | "secrets" | "accounts" | "local")[]): string {
  const folder = temporaryFolder();
  for (const name of content) {
    if (name === "database" || name === "secrets") mkdirSync(path.join(folder, name));
    else writeFileSync(path.join(folder, "auth_mode"), `${name}\n`);
  }
  return folder;
}

describe("the authentication mode at a start", () => {
  test.each([
    ["accounts in an empty folder", [], {}, "accounts"],
    ["local in a folder with a database from before accounts", ["database"], {}, "local"],
    ["local in a folder that has only secrets, because the database is elsewhere", ["secrets"], {}, "local"],
    ["local in an empty folder if LOCAL_AUTH_TOKEN is set", [], TOKEN, "local"],
    ["accounts in a folder that was migrated", ["database", "accounts"], {}, "accounts"],
    ["accounts in a folder that was migrated, even if LOCAL_AUTH_TOKEN is set", ["database", "accounts"], TOKEN, "accounts"],
    ["local in a folder that was migrated back", ["database", "local"], {}, "local"],
    ["what AUTH_MODE says in an empty folder", [], { AUTH_MODE: "local" }, "local"],
    ["what AUTH_MODE says in a folder that was migrated", ["database", "accounts"], { AUTH_MODE: "oidc" }, "oidc"],
  ] as const)("is %s, for commands before and after the first start", (_what, content, environment, mode) => {
    const folder = folderWith(...content);
    const read = () => findSecrets({ DATA_DIR: folder, ...environment }).filled["AUTH_MODE"];
    expect(read()).toBe(mode);
    expect(withGeneratedSecrets({ DATA_DIR: folder, ...environment })["AUTH_MODE"]).toBe(mode);
    expect(read()).toBe(mode);
  });

  test("a start is refused if the folder names an authentication mode that does not exist", () => {
    const folder = folderWith("database");
    writeFileSync(path.join(folder, "auth_mode"), "everybody\n");
    expect(() => findSecrets({ DATA_DIR: folder })).toThrow(/auth_mode must contain accounts or local/);
  });
});

test("a start does not change a secret that another process with the same process id has just created", () => {
  const folder = folderWith("secrets");
  const used = path.join(folder, "used");
  writeFileSync(used, "key of the other process\n");
  // In containers, most processes have the id 1. The other process has linked its draft to the secret and not yet removed it.
  linkSync(used, path.join(folder, "secrets", `encryption_key.${process.pid}`));
  withGeneratedSecrets({ DATA_DIR: folder, ...TOKEN });
  expect(readFileSync(used, "utf8")).toBe("key of the other process\n");
});

describe("the migration of accounts", () => {
  test("the migration of accounts is refused in an empty folder, and leaves it empty", async () => {
    const folder = temporaryFolder();
    await expect(migrateAccounts({ DATA_DIR: folder }, "accounts")).rejects.toThrow(/There is no service in .+ yet/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(["local", "oidc"])("is refused while AUTH_MODE=%s is set", async (mode) => {
    const folder = folderWith("database");
    await expect(migrateAccounts({ DATA_DIR: folder, AUTH_MODE: mode }, "accounts")).rejects.toThrow(
      `AUTH_MODE=${mode} takes precedence over the data folder.`,
    );
  });
});
