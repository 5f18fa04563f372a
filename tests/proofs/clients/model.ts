/** A model server on loopback, whose only model follows a script. */
import { randomUUID } from "node:crypto";
import { serve } from "../../support/serve.ts";
import { modelApis } from "./model-apis.ts";
import { decide, hasJustBegun } from "./script.ts";

export interface ScriptedModel {
  url: string;
  close(): Promise<void>;
}

/** Starts the model server. The first answer after a task was taken waits until `mayGoOn` resolves. */
export async function startModel(mayGoOn: () => Promise<void> = async () => {}): Promise<ScriptedModel> {
  return serve(async (request) => {
    const { pathname } = new URL(request.url);
    const api = modelApis.find(({ path }) => path.test(pathname));
    if (!api || request.method !== "POST") return Response.json({}, { status: 404 });
    const conversation = api.read(await request.json());
    // Without tools, clients ask for a title of the conversation.
    const decision = conversation.tools.length > 0 ? decide(conversation) : { say: "Tasks" };
    if (hasJustBegun(conversation)) await mayGoOn();
    const events = api.write(decision, `call_${randomUUID().replaceAll("-", "")}`);
    return new Response(events.map(toEvent).join(""), { headers: { "content-type": "text/event-stream" } });
  });
}

/**
 * Formats an event for a stream. The event's name is the `type` of its data, if the data has a type.
 */
export const toEvent = (data: unknown): string => {
  const { type } = data as { type?: string };
  return `${type ? `event: ${type}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
};
