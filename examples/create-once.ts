// Creates a task once, even if the program runs again: a repeated request with the same Idempotency-Key gets the first answer.
// Run: BOARD_TOKEN=… BOARD=… node examples/create-once.ts   (run it twice; the second run prints the same id)
const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const address = `${url}/api/v1/boards/${process.env.BOARD}/tasks`;

/** The key is derived from the purpose of the task and not random, so that the next run of the program sends the same key. */
async function createTask(order: number): Promise<{ id: string; isRepeat: boolean }> {
  const answer = await fetch(address, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${process.env.BOARD_TOKEN}`,
      "Content-Type": "application/json",
      "Idempotency-Key": `pack-order-${order}`,
    },
    body: JSON.stringify({ title: `Pack order ${order}` }),
  });
  // 409 with Retry-After: another run of this program is creating the task now. 422: the key was already used with another body.
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const { id } = (await answer.json()) as { id: string };
  return { id, isRepeat: answer.headers.get("Idempotent-Replayed") === "true" };
}

const { id, isRepeat } = await createTask(17);
console.log(`${isRepeat ? "Created before" : "Created"}: ${id}`);
