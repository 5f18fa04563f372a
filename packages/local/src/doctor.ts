import { parseArgs } from "node:util";
import { errorText } from "@board/core/log";
import { toText } from "./doctor/finding.ts";
import { fail, say } from "./terminal.ts";

const HELP = `Looks at all that the service works with, and says what is wrong and what to do about it. It changes nothing.

  npm run doctor              settings, database, schema, clock, jobs, gateways, sign-in, souls directory
  npm run doctor -- --lambda  the same for a stage on AWS: what a local server makes or may do by itself does not count
  npm run doctor -- --json    for programs

It reads the settings of the environment. With DELIVERIES_QUEUE_URL and SYNCS_QUEUE_URL set it takes them for those of a
stage on AWS, and looks at the queues too. An embedded database (no DATABASE_URL) can be looked at while its service is stopped.
It ends with 0 when nothing is wrong, with 1 when something is, with 2 when it did not understand.`;

async function main(): Promise<void> {
  const { help, json, lambda } = readArguments();
  if (help) return void say(HELP);
  // Loading all that there is to look at takes a second, which whoever asks for help need not wait for.
  const { examine } = await import("./doctor/examine.ts");
  const findings = await examine(process.env, lambda ? { edge: "lambda" } : {});
  const wrong = findings.some(({ state }) => state === "wrong");
  say(json ? JSON.stringify({ ok: !wrong, findings }, null, 2) : toText(findings));
  process.exitCode = wrong ? 1 : 0;
}

function readArguments(): { help: boolean; json: boolean; lambda: boolean } {
  try {
    const flag = { type: "boolean" } as const;
    const { values } = parseArgs({ options: { help: { ...flag, short: "h" }, json: flag, lambda: flag } });
    const { help = false, json = false, lambda = false } = values;
    return { help, json, lambda };
  } catch (error) {
    return fail(`${errorText(error)} Try npm run doctor -- --help`, 2);
  }
}

main().catch((error: unknown) => fail(`The doctor itself failed: ${errorText(error)}`));
