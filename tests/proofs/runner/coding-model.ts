/** A model server on loopback that makes a coding agent write a file, commit it with a command, and say that it is done. */
import { randomUUID } from "node:crypto";
import { serve } from "../../support/serve.ts";
import { modelApis } from "../clients/model-apis.ts";
import { toEvent } from "../clients/model.ts";
import type { Conversation, Decision } from "../clients/script.ts";

export interface CodingModel {
  url: string;
  /** The tools that the agent offered, and what they answered: for the message of a failed test. */
  story(): string;
  /** How many requests it got. */
  requests(): number;
  close(): Promise<void>;
}

interface Work {
  file: string;
  text: string;
  command: string;
}

type ToInput = (work: Work) => Record<string, unknown>;

const toWrite: ToInput = ({ file, text }) => ({ file_path: file, content: text });
const toRun: ToInput = ({ command }) => ({ command, description: "Commit the file" });

/** The tools with which agents write a file, by the names that agents give them. */
const WRITERS: Record<string, ToInput> = {
  Write: toWrite,
  write_file: toWrite,
  write: ({ file, text }) => ({ filePath: file, content: text }),
  create: ({ file, text }) => ({ path: file, file_text: text }),
};
/** The tools with which agents run a command. */
const SHELLS: Record<string, ToInput> = {
  Bash: toRun,
  bash: toRun,
  run_shell_command: (work) => ({ ...toRun(work), is_background: false }),
  exec_command: ({ command }) => ({ cmd: command }),
};

function decide({ tools, results }: Conversation, work: Work): Decision {
  const find = (table: Record<string, ToInput>) => Object.entries(table).find(([name]) => tools.includes(name));
  const isDone = (table: Record<string, ToInput>) => results.some(({ tool }) => tool in table);
  const writer = find(WRITERS);
  if (writer && !isDone(WRITERS)) return { call: writer[0], input: writer[1](work) };
  const shell = find(SHELLS);
  if (!shell || isDone(SHELLS)) return { say: "I wrote the file." };
  // An agent without a tool for files writes files with commands.
  const command = writer ? work.command : `printf %s '${work.text}' > '${work.file}' && ${work.command}`;
  return { call: shell[0], input: shell[1]({ ...work, command }) };
}

/** Starts the model server. `onRequest` gets each request, headers included. */
export async function startCodingModel(work: Work, onRequest: (text: string) => void = () => {}): Promise<CodingModel> {
  let requests = 0;
  const tools = new Set<string>();
  let results: Conversation["results"] = [];
  const server = await serve(async (request) => {
    const { pathname } = new URL(request.url);
    const text = await request.text();
    requests += 1;
    onRequest(`${JSON.stringify([request.url, ...request.headers])}\n${text}`);
    const api = modelApis.find(({ path }) => path.test(pathname));
    if (!api || request.method !== "POST") return Response.json({}, { status: 404 });
    const conversation = api.read(JSON.parse(text));
    for (const tool of conversation.tools) tools.add(tool);
    ({ results } = conversation);
    // Without tools, agents ask for a title of the conversation.
    const decision = conversation.tools.length > 0 ? decide(conversation, work) : { say: "A file" };
    const events = api.write(decision, `call_${randomUUID().replaceAll("-", "")}`);
    return new Response(events.map(toEvent).join(""), { headers: { "content-type": "text/event-stream" } });
  });
  return {
    url: server.url,
    story: () => `${[...tools].join(", ")}\n${results.map(({ tool, text }) => `${tool}: ${text}`).join("\n")}`,
    requests: () => requests,
    close: () => server.close(),
  };
}
