/** The parts of model APIs that clients need: tool calls in streamed answers. */
import type { Conversation, Decision } from "./script.ts";

export interface ModelApi {
  /** The path of the requests for an answer. */
  readonly path: RegExp;
  read(body: any): Conversation;
  /** Returns the data of each event in the streamed answer that expresses the decision. */
  write(decision: Decision, id: string): unknown[];
}

const toText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""));
/** Pairs calls with their results, in the order of the results. */
const pair = (names: ReadonlyMap<string, string>, results: readonly [id: string, value: unknown][]) =>
  results.map(([id, value]) => ({ tool: names.get(id) ?? "", text: toText(value) }));

/** Anthropic's Messages API. */
const messages: ModelApi = {
  path: /^\/v1\/messages$/,
  read({ tools = [], messages }) {
    const blocks = messages.flatMap(({ content }: any) => (Array.isArray(content) ? content : []));
    const calls = blocks.filter(({ type }: any) => type === "tool_use");
    const results = blocks.filter(({ type }: any) => type === "tool_result");
    return {
      tools: tools.map(({ name }: any) => name),
      results: pair(
        new Map(calls.map(({ id, name }: any) => [id, name])),
        results.map(({ tool_use_id, content }: any) => [tool_use_id, content]),
      ),
    };
  },
  write(decision, id) {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id, type: "message", role: "assistant", model: "scripted", content: [], stop_reason: null, usage };
    const isCall = "call" in decision;
    const block = isCall ? { type: "tool_use", id, name: decision.call, input: {} } : { type: "text", text: "" };
    const delta = isCall
      ? { type: "input_json_delta", partial_json: JSON.stringify(decision.input) }
      : { type: "text_delta", text: decision.say };
    return [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: isCall ? "tool_use" : "end_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
  },
};

/** OpenAI's Responses API. Codex puts the tools of a server into a namespace. */
const responses: ModelApi = {
  path: /\/responses$/,
  read({ tools = [], input }) {
    const names = tools.flatMap((tool: any) =>
      tool.type === "namespace" ? tool.tools.map(({ name }: any) => `${tool.name}|${name}`) : [tool.name ?? tool.type],
    );
    const calls = input.filter(({ type }: any) => type === "function_call");
    const results = input.filter(({ type }: any) => type === "function_call_output");
    return {
      tools: names,
      results: pair(
        new Map(calls.map(({ call_id, name }: any) => [call_id, name])),
        results.map(({ call_id, output }: any) => [call_id, output]),
      ),
    };
  },
  write(decision, id) {
    const item =
      "call" in decision
        ? {
            type: "function_call",
            id: `item_${id}`,
            call_id: id,
            ...toNamespaced(decision.call),
            arguments: JSON.stringify(decision.input),
          }
        : {
            type: "message",
            id: `item_${id}`,
            role: "assistant",
            content: [{ type: "output_text", text: decision.say, annotations: [] }],
          };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return [
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id, output: [item], usage } },
    ];
  },
};

function toNamespaced(tool: string): { name: string; namespace?: string } {
  const [namespace, name] = tool.split("|") as [string, string?];
  return name ? { name, namespace } : { name: tool };
}

/** OpenAI's chat completions, which most other model servers support. */
const completions: ModelApi = {
  path: /\/chat\/completions$/,
  read({ tools = [], messages }) {
    const calls = messages.flatMap(({ tool_calls = [] }: any) => tool_calls);
    const results = messages.filter(({ role }: any) => role === "tool");
    return {
      tools: tools.map(({ function: { name } }: any) => name),
      results: pair(
        new Map(calls.map(({ id, function: { name } }: any) => [id, name])),
        results.map(({ tool_call_id, content }: any) => [tool_call_id, content]),
      ),
    };
  },
  write(decision, id) {
    const delta =
      "call" in decision
        ? {
            tool_calls: [
              { index: 0, id, type: "function", function: { name: decision.call, arguments: JSON.stringify(decision.input) } },
            ],
          }
        : { content: decision.say };
    const chunk = (choice: object) => ({
      id,
      object: "chat.completion.chunk",
      created: 0,
      model: "scripted",
      choices: [{ index: 0, ...choice }],
    });
    return [
      chunk({ delta: { role: "assistant", ...delta }, finish_reason: null }),
      chunk({ delta: {}, finish_reason: "call" in decision ? "tool_calls" : "stop" }),
      "[DONE]",
    ];
  },
};

/** Google's Gemini API. */
const gemini: ModelApi = {
  path: /:streamGenerateContent$/,
  read({ tools = [], contents }) {
    const results = contents.flatMap(({ parts }: any) => parts).flatMap(({ functionResponse }: any) => functionResponse ?? []);
    return {
      tools: tools.flatMap(({ functionDeclarations = [] }: any) => functionDeclarations.map(({ name }: any) => name)),
      results: results.map(({ name, response }: any) => ({ tool: name, text: toText(response) })),
    };
  },
  write(decision) {
    const part = "call" in decision ? { functionCall: { name: decision.call, args: decision.input } } : { text: decision.say };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    return [{ candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata }];
  },
};

export const modelApis: readonly ModelApi[] = [messages, responses, completions, gemini];
