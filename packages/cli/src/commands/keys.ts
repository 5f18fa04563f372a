import type { Client } from "@board/client";
import { type Command, Option } from "commander";
import { type AddCommands, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { requireSecret } from "../failure.ts";
import { PROGRAM } from "../program.ts";
import { toCount, toIntegerFrom } from "./tasks.ts";

type Key = Awaited<ReturnType<typeof readKey>>;
const readKey = (client: Client, key_id: string) => client.get("/api/v1/keys/{key_id}", { params: { path: { key_id } } });

const HOURS_OF_OVERLAP = 24;
const ACCESS = ["read", "write", "admin"] as const;

interface CreateOptions {
  access: (typeof ACCESS)[number];
  days?: number;
  personal?: true;
  boards?: string[];
}

export const addKeys: AddCommands = (program, host) => {
  const keys = program
    .command("keys")
    .description("List the keys of programs (admins), or with --personal your own")
    .option("--personal", "your own keys")
    .action(async ({ personal }: { personal?: true }, command) => {
      const { output, openSession } = startRun(command, host);
      const { client } = await openSession();
      const found = await collect<Key>(client.list(personal ? "/api/v1/users/me/keys" : "/api/v1/keys"));
      output.result(found, () =>
        output.table(
          found,
          [
            { title: "id", value: ({ id }) => id },
            { title: "name", value: ({ name }) => name, max: 30 },
            { title: "key", value: ({ prefix }) => `${prefix}…` },
            { title: "access", value: ({ access, personal }) => (personal ? `${access} (personal)` : access) },
            { title: "boards", value: ({ board_ids }) => board_ids?.length ?? "all" },
            { title: "last used", value: ({ last_used_at }) => last_used_at ?? "never" },
            { title: "ends", value: ({ expires_at }) => expires_at ?? "never" },
          ],
          "No keys.",
        ),
      );
    });

  keys
    .command("create <name>")
    .description("Make a key and print it. It is shown only now")
    .addOption(new Option("-a, --access <access>", "what the key may do").choices(ACCESS).default("write"))
    .option("--boards <id...>", "only these boards, by id")
    .option("--days <number>", "number of days for which it works", toCount)
    .option("--personal", "with your own rights")
    .action(async (name: string, { access, days, boards }: CreateOptions, command: Command) => {
      const { output, openSession } = startRun(command, host);
      const { client } = await openSession();
      const expires_at = days === undefined ? {} : { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() };
      const body = { name, access, board_ids: boards ?? null, ...expires_at };
      const personal = command.optsWithGlobals<CreateOptions>().personal === true;
      const made = await client.post(personal ? "/api/v1/users/me/keys" : "/api/v1/keys", { body });
      const option = personal ? " --personal" : "";
      const key = requireSecret(made.key, `Revoke it with "${PROGRAM} keys revoke ${made.id}${option}" and create another key.`);
      output.result(made, () => output.line(key));
    });

  keys
    .command("rotate <id>")
    .description("Replace a key and print the new one. The previous one still works for a while")
    .option("--overlap <hours>", "hours for which the previous key still works", toIntegerFrom(0), HOURS_OF_OVERLAP)
    .option("--personal", "a key of your own")
    .action(async (key_id: string, { overlap }: { overlap: number }, command: Command) => {
      const { output, openSession } = startRun(command, host);
      const { client } = await openSession();
      const call = { params: { path: { key_id } }, body: { overlap_hours: overlap } };
      const personal = command.optsWithGlobals<CreateOptions>().personal === true;
      const rotated = await (personal
        ? client.post("/api/v1/users/me/keys/{key_id}/rotate", call)
        : client.post("/api/v1/keys/{key_id}/rotate", call));
      const again = `Run "${PROGRAM} keys rotate ${rotated.id}${personal ? " --personal" : ""}" again.`;
      const key = requireSecret(rotated.key, again);
      output.result(rotated, () => output.line(key));
    });

  keys
    .command("revoke <id>")
    .description("End a key at once")
    .option("--personal", "a key of your own")
    .action(async (key_id: string, _options: object, command: Command) => {
      const { output, openSession } = startRun(command, host);
      const { client } = await openSession();
      const call = { params: { path: { key_id } } };
      const personal = command.optsWithGlobals<CreateOptions>().personal === true;
      await (personal ? client.delete("/api/v1/users/me/keys/{key_id}", call) : client.delete("/api/v1/keys/{key_id}", call));
      output.result({ revoked: key_id }, () => output.line("The key is revoked."));
    });
};
