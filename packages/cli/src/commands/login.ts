import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { ConnectionError } from "@board/client";
import { type AddCommands, readInput, startRun } from "../cli.ts";
import { configFile, readConfig } from "../config.ts";
import { UsageError } from "../failure.ts";
import { identify, loginUrl, serviceUrl } from "../session.ts";

export const addLogin: AddCommands = (program, host) => {
  program
    .command("login")
    .description("Store the token of a person or an agent. It is read from standard input, or asked for")
    .action(async (_options, command) => {
      const { options, environment, output, stdin } = startRun(command, host);
      const config = readConfig(environment);
      const url = loginUrl(options, environment, config);
      const token = stdin.isTTY
        ? await askSecret(stdin, `Token for ${url}: `)
        : (await readInput(stdin, 100_000)).toString("utf8").trim();
      if (token === "") throw new UsageError("No token was given. Pass it on standard input.");
      if (/\s/.test(token)) throw new UsageError("A token has no blanks or line breaks in it.");
      const { protocol, hostname } = new URL(url);
      if (protocol === "http:" && !/^(localhost|127\..*|\[::1\])$/.test(hostname))
        process.stderr.write("Warning: this address is not encrypted, so others on the network can read the token.\n");
      const identity = await identify(url, token).catch((error: unknown) => {
        if (!(error instanceof ConnectionError)) throw error;
        throw new UsageError(`${error.message} Name the address of the service with --url; it prints it when it starts.`);
      });
      config.url = url;
      config.logins[url] = { token, identity };
      config.save();
      const stored_in = configFile(config.folder);
      output.result({ url, ...identity, stored_in }, () => output.line(`Signed in to ${url} as ${nameOf(identity)}.`));
    });

  program
    .command("logout")
    .description("Delete the stored token")
    .action((_options, command) => {
      const { options, environment, output } = startRun(command, host);
      const config = readConfig(environment);
      const url = serviceUrl(options, environment, config);
      const was_signed_in = config.logins[url] !== undefined;
      delete config.logins[url];
      if (was_signed_in) config.save();
      output.result({ url, was_signed_in }, () =>
        output.line(was_signed_in ? `The token for ${url} is deleted.` : `No token was stored for ${url}.`),
      );
    });
};

const nameOf = (identity: { type: "user" } | { type: "agent"; is_board_lead: boolean }) =>
  identity.type === "user" ? "a person" : identity.is_board_lead ? "the lead of a board" : "an agent";

/** Asks on the terminal without showing the input. */
function askSecret(stdin: NodeJS.ReadStream, question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true });
  return new Promise((resolve) => {
    reader.on("close", () => resolve(""));
    reader.question("", (answer) => {
      resolve(answer.trim());
      reader.close();
      process.stderr.write("\n");
    });
  });
}
