import type { Client } from "@board/client/client";

/** The ids of what is added to the board of the demo, so that no picture shows an empty page. */
export interface Content {
  diff_id: string;
  report_id: string;
  task_id: string;
}

const DIFF = `diff --git a/src/cart/total.ts b/src/cart/total.ts
--- a/src/cart/total.ts
+++ b/src/cart/total.ts
@@ -9,6 +9,9 @@ import type { Line } from "./line.ts";
 /** The sum of a cart in cents. */
 export function total(lines: readonly Line[]): number {
-  let sum = 0;
-  for (const line of lines) sum += line.price * line.count;
-  return sum;
+  const sum = lines.reduce((before, { price, count }) => before + price * count, 0);
+  return sum - discount(sum);
+}
+
+function discount(sum: number): number {
+  return sum >= 10_000 ? Math.round(sum * 0.05) : 0;
 }
--- a/src/cart/total.test.ts
+++ b/src/cart/total.test.ts
@@ -3,3 +3,7 @@ import { total } from "./total.ts";
 test("a cart without lines costs nothing", () => {
   expect(total([])).toBe(0);
 });
+
+test("a cart of 100 dollars costs 5 percent less", () => {
+  expect(total([{ price: 5_000, count: 2 }])).toBe(9_500);
+});
`;
const REPORT = `# Discount for large carts

| Cart | Before | Now |
|---|---|---|
| $40 | $40.00 | $40.00 |
| $100 | $100.00 | $95.00 |

- All tests of \`src/cart\` pass.
- **Open:** does the discount hold for gift cards?
`;

/** Adds a task with files, whose diff waits for the review of a person. */
async function handIn(api: Client, board_id: string): Promise<Content> {
  const description = "Carts from **$100** on cost 5 % less.\n\n1. Change `total`.\n2. Add a test.";
  const board = { path: { board_id } };
  const { id: task_id } = await api.post("/api/v1/boards/{board_id}/tasks", {
    params: board,
    body: { title: "Give a discount for large carts", description, priority: "high", status: "review" },
  });
  const params = { path: { board_id, task_id } };
  const add = (name: string, content_type: string, content: string) =>
    api.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
      params,
      body: { name, content_type, content: Buffer.from(content).toString("base64") },
    });
  const { id: diff_id } = await add("discount.diff", "text/x-diff", DIFF);
  const { id: report_id } = await add("report.md", "text/markdown", REPORT);
  await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/comments", {
    params,
    body: {
      content: "Is it before or after tax?",
      anchor: { artifact_id: diff_id, path: "src/cart/total.ts", side: "new", line: 16 },
    },
  });
  return { diff_id, report_id, task_id };
}

/** Adds something to each page that the demo leaves empty. */
export async function addContent(api: Client, board_id: string): Promise<Content> {
  const params = { path: { board_id } };
  const { id: board_group_id } = await api.post("/api/v1/board-groups", {
    body: { name: "Sales", description: "Everything that customers see" },
  });
  await api.patch("/api/v1/boards/{board_id}", { params, body: { board_group_id } });
  for (const content of ["Prices are in US dollars, with tax.", "Refunds over $200 need a person."])
    await api.post("/api/v1/boards/{board_id}/memory", { params, body: { content } });
  await api.post("/api/v1/boards/{board_id}/group-memory", {
    params,
    body: { content: "The sale begins on the first of June." },
  });
  await api.post("/api/v1/organizations/me/custom-fields", {
    body: { field_key: "customer", label: "Customer", field_type: "text", ui_visibility: "if_set", board_ids: [board_id] },
  });
  await api.post("/api/v1/organizations/me/invites", { body: { invited_email: "ann@shop.example", all_boards_write: true } });
  await api.post("/api/v1/keys", { body: { name: "Deployments", access: "write", board_ids: [board_id] } });
  await api.post("/api/v1/keys", { body: { name: "Nightly report", access: "read" } });
  await api.post("/api/v1/users/me/keys", { body: { name: "Scripts on my laptop", access: "write" } });
  // Names under .example are reserved and never resolve, so nothing is sent.
  const url = "https://books.shop.example/events";
  await api.post("/api/v1/subscriptions", { body: { url, description: "Bookkeeping", event_types: ["task.*"] } });
  await api.post("/api/v1/budgets", { body: { scope: "board", scope_id: board_id, limit: { cost_usd: "20" } } });
  await api.put("/api/v1/boards/{board_id}/saved-views", {
    params,
    body: { views: [{ name: "Urgent", query: "view=list&priority=high" }] },
  });
  return handIn(api, board_id);
}
