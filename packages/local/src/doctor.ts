import { parseArgs } from "node:util";
import { errorText } from "@board/core/values/log";
import { asInstalled } from "./command.ts";
import { formatFindings } from "./doctor/finding.ts";
import { exitWithError, printLine } from "./terminal.ts";

const HELP = `Checks everything that the service depends on, and reports what is wrong and how to fix it. Except for a link, it changes nothing.

  npm run doctor              settings, database, schema, clock, jobs, gateways, sign-in, souls directory
  npm run doctor -- --lambda  checks a stage on AWS, which generates no secrets and has stricter rules
  npm run doctor -- --json    prints JSON
  npm run doctor -- --owner-link [e-mail]  makes a link that signs in once, within a day, as the first owner or as the owner
                              with this e-mail address (AUTH_MODE=accounts)

It reads the settings from the environment. If the URLs of the queues (QUEUE_URLS) are set, it checks a stage on AWS,
including the queues. An embedded database (no DATABASE_URL) can only be checked while its service is stopped.
The exit code is 0 if nothing is wrong, 1 if something is, 2 for wrong arguments.`;

async function main(): Promise<void> {
  const { help, json, lambda, owner_link, email } = readArguments();
  if (help) return void printLine(asInstalled(HELP));
  if (owner_link) {
    const { createOwnerLink } = await import("./owner-link.ts");
    return void printLine(await createOwnerLink(process.env, email));
  }
  // Loading the checks takes a second, and --help does not need them.
  const { runChecks } = await import("./doctor/run-checks.ts");
  const findings = await runChecks(process.env, lambda ? { edge: "lambda" } : {});
  const wrong = findings.some(({ state }) => state === "wrong");
  printLine(json ? JSON.stringify({ ok: !wrong, findings }, null, 2) : formatFindings(findings));
  process.exitCode = wrong ? 1 : 0;
}

interface Arguments {
  help: boolean;
  json: boolean;
  lambda: boolean;
  owner_link: boolean;
  /** Whom the link is for; null for the first owner. */
  email: string | null;
}

function readArguments(): Arguments {
  try {
    const flag = { type: "boolean" } as const;
    const options = { help: { ...flag, short: "h" }, json: flag, lambda: flag, "owner-link": flag } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const { help = false, json = false, lambda = false, "owner-link": owner_link = false } = values;
    const [email = null, ...others] = positionals;
    const [unexpected] = owner_link ? others : positionals;
    if (unexpected !== undefined) throw new Error(`Unexpected argument '${unexpected}'.`);
    return { help, json, lambda, owner_link, email };
  } catch (error) {
    return exitWithError(`${errorText(error)} Try npm run doctor -- --help`, 2);
  }
}

main().catch((error: unknown) => exitWithError(`The doctor itself failed: ${errorText(error)}`));
