/**
 * Reads a client's messages in PostgreSQL's protocol and reports each statement: "Q" is a query, "P" prepares a statement
 * under a name, which may be empty, and "B" executes the statement of that name.
 */
export function createStatementReader(report: (text: string) => void): (chunk: Buffer) => void {
  let unread = Buffer.alloc(0);
  let started = false;
  const texts = new Map<string, string>();
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    // The first message has no type before its length.
    for (let head = started ? 1 : 0; unread.length >= head + 4; head = 1) {
      const end = head + unread.readUInt32BE(head);
      if (unread.length < end) return;
      const [type, body] = [started ? String.fromCharCode(unread[0]!) : "", unread.subarray(head + 4, end)];
      if (type === "Q") report(textAt(body, 0));
      if (type === "P") texts.set(textAt(body, 0), textAt(body, body.indexOf(0) + 1));
      // The name of the portal precedes the name of the statement.
      if (type === "B") report(texts.get(textAt(body, body.indexOf(0) + 1)) ?? "");
      unread = unread.subarray(end);
      started = true;
    }
  };
}

const textAt = (body: Buffer, start: number) => body.toString("utf8", start, body.indexOf(0, start));
