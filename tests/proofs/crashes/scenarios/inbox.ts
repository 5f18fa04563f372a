import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { Answer } from "../../../support/http.ts";
import type { ServiceEnvironment } from "../../load/environment.ts";
import type { Scenario } from "../walk.ts";
import type { ScenarioFixture } from "./setup.ts";

type Remote = ScenarioFixture["remote"];

interface StoredMessage {
  id: string;
  title: string;
  read: boolean;
}

const TITLES = ["Remote one", "Remote two"];
const PAUSE_MS = 20;
const MAX_READS = 250;

/** An agent without a host is assigned tasks, reads its messages and acknowledges the first. */
export const inbox: Scenario = {
  name: "an agent acknowledges a message of its inbox",

  async act(outside, { remote }, answers) {
    for (const title of TITLES) answers.push(await assign(outside, remote, title));
    const [first] = await readMessages(outside, remote, TITLES.length);
    answers.push(await acknowledge(outside, remote, first!.id));
  },

  async check(outside, { remote }, answers) {
    for (const { status } of answers) expect(status).toBe(200);
    const stored = await listStored(outside, remote);
    const tasks = await outside.rows<{ title: string }>(
      `select title from tasks where board_id = '${remote.board_id}' order by created_at`,
    );
    // A task without an answer was stored with its message, or neither was.
    expect(tasks.map(({ title }) => title)).toEqual(stored.map(({ title }) => title));
    expect(stored.map(({ title }) => title)).toEqual(TITLES.slice(0, stored.length));
    expect(stored.length).toBeGreaterThanOrEqual(Math.min(answers.length, TITLES.length));
    await expectMark(outside, remote, stored);

    const acknowledged = answers[TITLES.length];
    if (acknowledged) {
      expect(acknowledged.body).toEqual({ ok: true, acknowledged: 1 });
      expect(stored.map(({ read }) => read)).toEqual([true, false]);
    }
    for (const title of TITLES.slice(stored.length)) expect((await assign(outside, remote, title)).status).toBe(200);
    const [first, second] = await listStored(outside, remote);
    // The request is repeated, and changes nothing the second time.
    const repeated = [await acknowledge(outside, remote, first!.id), await acknowledge(outside, remote, first!.id)];
    expect(repeated.map(({ body }) => body.acknowledged)).toEqual([first!.read ? 0 : 1, 0]);
    const left = await readMessages(outside, remote, 1);
    expect(left.map(({ id }) => id)).toEqual([second!.id]);
    await expectMark(outside, remote, await listStored(outside, remote));
    expect(await outside.rows("select kind, status, last_error from jobs where status <> 'done'")).toEqual([]);
    return null;
  },
};

const assign = (outside: ServiceEnvironment, { id, board_id }: Remote, title: string): Promise<Answer> =>
  outside.request("POST", `/api/v1/boards/${board_id}/tasks`, { body: { title, assigned_agent_id: id } });

const acknowledge = (outside: ServiceEnvironment, { token }: Remote, message_id: string): Promise<Answer> =>
  outside.request("POST", "/api/v1/agent/inbox/ack", { agent: token, body: { through: message_id } });

/** Reads until there are enough messages. A message is shown only when all earlier transactions of the server have ended. */
async function readMessages(outside: ServiceEnvironment, { token }: Remote, least: number): Promise<{ id: string }[]> {
  for (let reads = 1; ; reads++) {
    const answer = await outside.request("GET", "/api/v1/agent/inbox", { agent: token });
    expect(answer.status).toBe(200);
    const { messages } = answer.body as { messages: { id: string }[] };
    if (messages.length >= least || reads === MAX_READS) return messages;
    await pause(PAUSE_MS);
  }
}

const listStored = (outside: ServiceEnvironment, { id }: Remote): Promise<StoredMessage[]> =>
  outside.rows(
    `select message.id, title, acknowledged_at is not null as read from inbox_messages as message
    join tasks on tasks.id = message.task_id where agent_id = '${id}' order by message.tx, message.seq`,
  );

/** Checks that the messages and the acknowledgement are both stored or both missing, because one statement writes them. */
async function expectMark(outside: ServiceEnvironment, { id }: Remote, stored: readonly StoredMessage[]): Promise<void> {
  const marks = await outside.rows(`select 1 from inbox_acknowledgements where agent_id = '${id}'`);
  expect(marks.length > 0).toBe(stored.some(({ read }) => read));
}
