/**
 * Shell function that reads a value of TOOLS.md, which some hosts have at the top of AGENTS.md or SOUL.md. The first match wins, so
 * later text cannot override a value. Shell variables are lower case, because a line `KEY=` would be parsed as a key line.
 */
export const GET = `get() { grep -hs "^$1=" AGENTS.md TOOLS.md SOUL.md | head -n 1 | cut -d= -f2-; }`;

/** Shell function that calls the service with the agent's token. It fails on every status other than 2xx. */
export const API = `api() { curl -fsS -m 30 -H "X-Agent-Token: $(get AUTH_TOKEN)" "$@"; }`;

/** jq program that lists the operations of a role: method, path, operationId, intent, when to use, routing policy. */
export const INDEX = `.paths | to_entries[] | .key as $path | .value | to_entries[]
  | .key as $method | .value | objects | select((.tags // []) | index("agent") and index($tag))
  | [($method | ascii_upcase), $path, .operationId, .["x-llm-intent"],
     ((.["x-when-to-use"] // []) | join("; ")), ((.["x-routing-policy"] // []) | join("; "))]
  | @tsv`;

/** jq program that describes one operation, found by its intent. */
export const OPERATION = `. as $doc
  | def open: if type == "object" and has("$ref") then $doc.components.schemas[.["$ref"] | split("/") | last] else . end;
  .paths[][] | objects | select(.["x-llm-intent"] == $intent)
  | {operationId, description, parameters: [.parameters[]? | {name, in, required, description}],
     body: (.requestBody.content["application/json"].schema | open),
     actor: .["x-required-actor"], not_for: .["x-when-not-to-use"], needs: .["x-prerequisites"], effects: .["x-side-effects"],
     never: .["x-negative-guidance"]}`;

/** jq program that returns the path of an operation, found by its intent. */
export const PATH = `.paths | to_entries[] | select(any(.value[]; objects | .["x-llm-intent"] == $intent)) | .key`;
