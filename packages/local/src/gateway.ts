import { startFakeGateway } from "./fake-gateway/server.ts";
import { answerHelp, onStopRequest } from "./terminal.ts";

/** `npm run gateway` starts a fake OpenClaw host for trying out the service, and prints the messages to its agents. */
const DEFAULT_PORT = 18789;
const TOKEN = "try-it-token";

const print = (line: string) => process.stdout.write(`${line}\n`);

const HELP = `Starts a fake OpenClaw host for trying out the service. It prints its address, its token and the messages to its agents.

  npm run gateway

  PORT  another port than ${DEFAULT_PORT}; 0 chooses a free one

Ctrl-C stops it.`;

answerHelp("run gateway", HELP);
try {
  const host = await startFakeGateway({ port: Number(process.env["PORT"] ?? DEFAULT_PORT), token: TOKEN });
  print(`A fake gateway listens at ${host.url} with token ${TOKEN}. Messages to its agents are printed here; Ctrl-C stops it.`);
  host.onMessage(({ session_key, message }) => print(`\n[${session_key}]\n${message}`));
  onStopRequest(() => void host.close().then(() => process.exit(0)));
} catch (error) {
  process.stderr.write(`The fake gateway cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
