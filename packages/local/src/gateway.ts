import { startFakeGateway } from "./fake-gateway/server.ts";

/** `npm run gateway`: a stand-in OpenClaw host to try the service with; prints what its agents are told. */
const DEFAULT_PORT = 18789;
const TOKEN = "try-it-token";

const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  const host = await startFakeGateway({ port: Number(process.env["PORT"] ?? DEFAULT_PORT), token: TOKEN });
  say(`A stand-in gateway listens at ${host.url} with token ${TOKEN}. Messages to its agents appear here; Ctrl-C ends it.`);
  host.onMessage(({ session_key, message }) => say(`\n[${session_key}]\n${message}`));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void host.close().then(() => process.exit(0)));
} catch (error) {
  process.stderr.write(`The stand-in gateway cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
