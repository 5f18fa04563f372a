import { ApiError, type BoardWebhook, type BoardWebhookAccepted, ConnectionError } from "@board/client";
import { type AddCommands, readText, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { UsageError } from "../failure.ts";
import { UUID } from "../session.ts";
import { sampleEvent, samplePayload, toWebhookHeaders } from "../sign-webhook.ts";
import { PROGRAM } from "../program.ts";

const SECRET = "BOARD_WEBHOOK_SECRET";

interface SendOptions {
  data?: string;
  event?: string;
  type: string;
  unsigned?: boolean;
}

export const addWebhook: AddCommands = (program, host) => {
  const webhook = program.command("webhook").description("Webhooks of a board");

  webhook
    .command("list")
    .description("List the webhooks of a board")
    .action(async (_options, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const params = { path: { board_id: await session.findBoardId() } };
      const found = await collect<BoardWebhook>(session.client.list("/api/v1/boards/{board_id}/webhooks", { params }));
      output.result(found, () =>
        output.table(
          found,
          [
            { title: "id", value: ({ id }) => id },
            { title: "source", value: ({ source }) => source },
            { title: "state", value: ({ enabled }) => (enabled ? "enabled" : "disabled") },
            { title: "signed", value: ({ has_secret }) => (has_secret ? "yes" : "no") },
            { title: "description", value: ({ description }) => description, max: 60 },
          ],
          "The board has no webhooks.",
        ),
      );
    });

  webhook
    .command("send <webhook>")
    .description(`Post a test event, signed as its sender signs. The secret of the webhook is read from ${SECRET}`)
    .option("-d, --data <text>", "the body; - reads standard input. By default a small example")
    .option("-e, --event <name>", "the name of the event, as the sender names it")
    .option("--type <type>", "the Content-Type", "application/json")
    .option("--unsigned", "without a signature, to see whether it is refused")
    .action(async (text: string, { data, event, type, unsigned }: SendOptions, command) => {
      const { output, openSession, stdin, environment } = startRun(command, host);
      if (!UUID.test(text)) throw new UsageError(`${text} is not the id of a webhook. "${PROGRAM} webhook list" shows the ids.`);
      const session = await openSession();
      const path = { board_id: await session.findBoardId(), webhook_id: text };
      const found = await session.client.get("/api/v1/boards/{board_id}/webhooks/{webhook_id}", { params: { path } });
      const secret = unsigned ? null : environment[SECRET]?.trim() || null;
      if (found.has_secret && secret === null && !unsigned)
        throw new UsageError(`This webhook requires a signature. Set ${SECRET} to its secret, or send --unsigned.`);
      const now = new Date();
      const name = event ?? sampleEvent(found);
      const body = Buffer.from(data === undefined ? samplePayload(found, name, now) : await readText(stdin, data));
      const headers = { "content-type": type, ...toWebhookHeaders({ webhook: found, body, secret, event: name, now }) };
      const accepted = await post(session.url, found.endpoint_path, headers, body);
      output.result(accepted, () => output.line(`Accepted as payload ${accepted.payload_id}.`));
    });
};

/** Posts exactly the signed bytes. Like a real sender, it sends no credential of the caller. */
async function post(url: string, path: string, headers: Record<string, string>, body: Buffer): Promise<BoardWebhookAccepted> {
  const response = await fetch(`${url}${path}`, { method: "POST", headers, body: new Uint8Array(body) }).catch(
    (error: unknown) => {
      throw new ConnectionError(url, error);
    },
  );
  const text = await response.text();
  const answer = parse(text);
  if (!response.ok) throw new ApiError(response, answer);
  return answer as BoardWebhookAccepted;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
