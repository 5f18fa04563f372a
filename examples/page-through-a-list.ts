// Reads a long list page by page with plain fetch: each answer links to the next page.
// Run: BOARD_TOKEN=… BOARD=… node examples/page-through-a-list.ts
import process from "node:process";

interface Page {
  items: { title: string; priority: string }[];
  total: number;
}

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const headers = { Authorization: `Bearer ${process.env.BOARD_TOKEN}` };

/** Returns the address in `Link: </api/v1/…?cursor=…>; rel="next"`, or null on the last page. */
const nextAddress = (answer: Response) => /<([^>]+)>; rel="next"/.exec(answer.headers.get("Link") ?? "")?.[1] ?? null;

/** Yields all pages. An empty cursor asks for the first page. Rows that exist the whole time are neither missed nor repeated. */
async function* pages(path: string): AsyncGenerator<Page> {
  let next: string | null = `${path}&cursor=`;
  while (next !== null) {
    const answer: Response = await fetch(new URL(next, url), { headers });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    yield (await answer.json()) as Page;
    next = nextAddress(answer);
  }
}

let count = 0;
for await (const page of pages(`/api/v1/boards/${process.env.BOARD}/tasks?sort=priority&limit=2`)) {
  for (const { title, priority } of page.items) console.log(`${priority}: ${title}`);
  count += page.items.length;
}
console.log(`${count} tasks`);

// The npm client reads all pages like this: for await (const task of client.list("/api/v1/boards/{board_id}/tasks", …))
