/**
 * Parts of the commands in the files; the tests run them all. `get` takes the first line, so that nothing further down
 * counts: hosts that refuse TOOLS.md have its text at the top of AGENTS.md. Names of variables are in lower case, since
 * `KEY=` in front of a line is a value of TOOLS.md to whoever reads the token back.
 */
export const GET = `get() { grep -hs "^$1=" AGENTS.md TOOLS.md SOUL.md | head -n 1 | cut -d= -f2-; }`;

/** Fails on every status that is not 2xx. */
export const API = `api() { curl -fsS -m 30 -H "X-Agent-Token: $(get AUTH_TOKEN)" "$@"; }`;

/** The operations of a role: method, path, operationId, intent, when to use it, how to route. */
export const INDEX = `.paths | to_entries[] | .key as $path | .value | to_entries[]
  | .key as $method | .value | objects | select((.tags // []) | index($tag))
  | [($method | ascii_upcase), $path, .operationId, .["x-llm-intent"],
     ((.["x-when-to-use"] // []) | join("; ")), ((.["x-routing-policy"] // []) | join("; "))]
  | @tsv`;

/** One operation, found by its intent. */
export const OPERATION = `. as $doc
  | def open: if type == "object" and has("$ref") then $doc.components.schemas[.["$ref"] | split("/") | last] else . end;
  .paths[][] | objects | select(.["x-llm-intent"] == $intent)
  | {operationId, description, parameters: [.parameters[]? | {name, in, required, description}],
     body: (.requestBody.content["application/json"].schema | open),
     actor: .["x-required-actor"], not_for: .["x-when-not-to-use"], needs: .["x-prerequisites"], effects: .["x-side-effects"],
     never: .["x-negative-guidance"]}`;

/** The path of an operation, found by its intent. */
export const PATH = `.paths | to_entries[] | select(any(.value[]; objects | .["x-llm-intent"] == $intent)) | .key`;
