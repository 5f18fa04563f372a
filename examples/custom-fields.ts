// Custom fields of tasks: an organization defines them for some of its boards, and the service checks their values.
// Run: BOARD_TOKEN=… BOARD=… node examples/custom-fields.ts
import { ApiError, createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const board_id = process.env.BOARD!;
const FIELDS = "/api/v1/organizations/me/custom-fields";

/** Adds the board to an existing field, or creates the field. A key is unique in an organization. */
async function ensureField(field_key: string, rule: { field_type: "integer" | "text"; validation_regex?: string }) {
  const found = (await you.get(FIELDS)).find((field) => field.field_key === field_key);
  if (!found) return you.post(FIELDS, { body: { field_key, ...rule, board_ids: [board_id] } });
  const params = { path: { field_id: found.id } };
  return you.patch(`${FIELDS}/{field_id}`, { params, body: { board_ids: [...new Set([...found.board_ids, board_id])] } });
}

await ensureField("order_number", { field_type: "text", validation_regex: "ORD-[0-9]+" });
await ensureField("lamps", { field_type: "integer" });

const createTask = (custom_field_values: Record<string, unknown>) =>
  you.post("/api/v1/boards/{board_id}/tasks", {
    params: { path: { board_id } },
    body: { title: "Pack an order", custom_field_values },
  });

const task = await createTask({ order_number: "ORD-17", lamps: 2 });
console.log(JSON.stringify(task.custom_field_values));

try {
  await createTask({ order_number: "seventeen" });
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.log(`${error.status}: ${JSON.stringify(error.detail)}`);
}
