import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface FakeModel {
  url: string;
  close(): Promise<void>;
}

/** Starts a fake model with the chat-completions API for a host's agents. It always gives the same answer. */
export async function startFakeModel(answer: string): Promise<FakeModel> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { stream } = JSON.parse(body || "{}") as { stream?: boolean };
      const chunk = { id: "answer", created: 0, model: "echo" };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const message = { role: "assistant", content: answer };
      if (!stream) {
        response.setHeader("content-type", "application/json");
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        return response.end(JSON.stringify({ ...chunk, object: "chat.completion", choices, usage }));
      }
      response.setHeader("content-type", "text/event-stream");
      const say = (part: object) =>
        response.write(`data: ${JSON.stringify({ ...chunk, object: "chat.completion.chunk", ...part })}\n\n`);
      say({ choices: [{ index: 0, delta: message, finish_reason: null }] });
      say({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage });
      return response.end("data: [DONE]\n\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
