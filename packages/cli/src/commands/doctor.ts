import { type AddCommands, startRun } from "../cli.ts";
import { configFile, isReadableByOthers, readConfig } from "../config.ts";
import { describeError, EXIT_FAILURE } from "../failure.ts";
import { listBoards, serviceUrl, type Session } from "../session.ts";
import { collect } from "../collect.ts";

interface Finding {
  check: string;
  state: "ok" | "wrong";
  text: string;
}

/**
 * The service compares a token's expiry with its own clock, so a larger difference between this machine's clock and the service's
 * clock is reported.
 */
const MAX_CLOCK_SECONDS = 60;
/** A service that is ready answers within this time. */
const ANSWER_MS = 10_000;

export const addDoctor: AddCommands = (program, host) => {
  program
    .command("doctor")
    .description("Check the settings, the connection, the clock and the token")
    .action(async (_options, command) => {
      const { options, environment, output, openSession } = startRun(command, host);
      const findings: Finding[] = [];
      const check = async (name: string, work: () => string | Promise<string>) => {
        const finding = await Promise.resolve()
          .then(work)
          .then(
            (text): Finding => ({ check: name, state: "ok", text }),
            (error: unknown): Finding => ({ check: name, state: "wrong", text: describeError(error).message }),
          );
        findings.push(finding);
        return finding.state === "ok";
      };
      let url = "";
      const reads = await check("settings", () => {
        const config = readConfig(environment);
        url = serviceUrl(options, environment, config);
        const file = configFile(config.folder);
        if (isReadableByOthers(file)) throw new Error(`Others may read ${file}, which holds tokens. Run: chmod 600 ${file}`);
        return `${url}, settings in ${file}`;
      });
      if (reads && (await check("service", () => checkService(url)))) {
        let session: Session | undefined;
        await check("token", async () => {
          session = await openSession();
          return session.identity.type === "user" ? "of a person" : `of the agent ${session.identity.agent_id}`;
        });
        if (session)
          await check(
            "boards",
            async () => `${(await collect(listBoards(session!.client, session!.identity))).length} that you may see`,
          );
      }
      if (findings.some(({ state }) => state === "wrong")) process.exitCode = EXIT_FAILURE;
      output.result({ ok: process.exitCode !== EXIT_FAILURE, findings }, () => {
        for (const { check, state, text } of findings) output.line(`${state.padEnd(5)}  ${check.padEnd(8)}  ${text}`);
      });
    });
};

async function checkService(url: string): Promise<string> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch((error: Error) => {
    const cause = error.cause as { code?: string; message?: string } | undefined;
    throw new Error(`${url} cannot be reached: ${cause?.code ?? cause?.message ?? error.message}. Is the service running?`);
  });
  if (!response.ok) throw new Error(`${url}/readyz answered ${response.status}: the service is not ready.`);
  const time = Date.parse(response.headers.get("date") ?? "");
  const difference = Math.round(Math.abs(Date.now() - time) / 1000);
  if (difference > MAX_CLOCK_SECONDS)
    throw new Error(`The clock of this machine differs from the service's by ${difference} seconds.`);
  return "ready";
}
