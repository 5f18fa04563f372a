import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { ConnectionError } from "@board/client";
import { type AddCommands, readInput, startRun } from "../cli.ts";
import { configFile, readConfig } from "../config.ts";
import { endSession, openBrowser, requestDeviceCode, waitForApproval } from "../device-login.ts";
import { UsageError } from "../failure.ts";
import { identify, loginUrl, serviceUrl } from "../session.ts";
import { toSafeText } from "../text.ts";

export const addLogin: AddCommands = (program, host) => {
  program
    .command("login")
    .description(
      "Sign in: by the browser where the service has accounts, else by a token, which is asked for or read from standard input",
    )
    .option("--browser", "sign in by the browser even if standard input is not a terminal")
    .action(async ({ browser }: { browser?: boolean }, command) => {
      const { options, environment, output, stdin } = startRun(command, host);
      const config = readConfig(environment);
      const url = loginUrl(options, environment, config);
      const { protocol, hostname } = new URL(url);
      if (protocol === "http:" && !/^(localhost|127\..*|\[::1\])$/.test(hostname))
        process.stderr.write("Warning: this address is not encrypted, so others on the network can read the token.\n");
      const signIn = async () => {
        const session = browser || stdin.isTTY ? await signInByBrowser(url, environment) : null;
        if (session === null && browser) throw new UsageError(`${url} has no accounts. Pass a token on standard input.`);
        const token = session ?? (await readToken(stdin, url));
        return { token, identity: await identify(url, token) };
      };
      const { token, identity } = await signIn().catch((error: unknown) => {
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
    .description("Delete the stored token, and end its session")
    .action(async (_options, command) => {
      const { options, environment, output } = startRun(command, host);
      const config = readConfig(environment);
      const url = serviceUrl(options, environment, config);
      const login = config.logins[url];
      const was_signed_in = login !== undefined;
      delete config.logins[url];
      if (login) {
        config.save();
        // An error is ignored, because this machine no longer has the token in any case.
        await endSession(url, login.token).catch(() => false);
      }
      output.result({ url, was_signed_in }, () =>
        output.line(was_signed_in ? `The token for ${url} is deleted.` : `No token was stored for ${url}.`),
      );
    });
};

/** Shows a code, and waits until the person has agreed. Returns null if the service has no accounts. */
async function signInByBrowser(url: string, environment: NodeJS.ProcessEnv): Promise<string | null> {
  const code = await requestDeviceCode(url);
  if (!code) return null;
  const { user_code, verification_uri, verification_uri_complete } = code;
  process.stderr.write(
    toSafeText(`Open ${verification_uri} and check that it shows the code ${user_code}. Waiting until you agree there …\n`),
  );
  openBrowser(verification_uri_complete, environment);
  return waitForApproval(url, code);
}

async function readToken(stdin: NodeJS.ReadStream, url: string): Promise<string> {
  const token = stdin.isTTY
    ? await askSecret(stdin, `Token for ${url}: `)
    : (await readInput(stdin, 100_000)).toString("utf8").trim();
  if (token === "") throw new UsageError("No token was given. Pass it on standard input.");
  if (/\s/.test(token)) throw new UsageError("A token has no blanks or line breaks in it.");
  return token;
}

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
