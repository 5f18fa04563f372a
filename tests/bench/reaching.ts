import { createSmtpMailer } from "@board/core/mail/smtp";
import { approvals, channels, user_notifications, users } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { percentilesOf } from "./resource-usage.ts";
import { round, type Row } from "./row.ts";

const APPROVALS = 200;
const APART_MS = 50;
const ADDRESS = "owner@example.com";
const TARGET = "p95 2 s";

/**
 * Measures the time from the request for an approval until the mail server receives the mail about it: first with requests that
 * are sent one after the other, then with 20 requests a second, where several approvals may share a mail. The baseline sends mails
 * without the service.
 */
export async function benchReaching(place: BenchEnvironment): Promise<Row[]> {
  const { db, board, waitForJobs } = place;
  await waitForJobs();
  await db.update(users).set({ email: ADDRESS });
  try {
    await ask(place, "warm");
    const baseline = `a mail alone ${named(await sendAlone(place))}`;
    const one = await askOneByOne(place);
    const many = await askSteadily(place);
    const row = (what: string, times: number[]): Row => {
      return { what, figure: named(times), target: TARGET, baseline, ratio: "", statements: "" };
    };
    return [
      row("approval to the call of the mail server, one at a time", one),
      row("the same, at 20/s, in shared mails", many),
      await compareFollowers(place),
    ];
  } finally {
    await waitForJobs();
    await db.update(users).set({ email: null });
    await db.delete(user_notifications);
    await db.delete(channels);
    await db.delete(approvals).where(eq(approvals.board_id, board.id));
  }
}

function named(times: number[]): string {
  const { p50, p95 } = percentilesOf(times);
  return `p50 ${round(p50)} ms, p95 ${round(p95)} ms`;
}

async function request({ service, board, lead }: BenchEnvironment, action_type: string): Promise<void> {
  const answer = await fetch(`${service.url}/api/v1/agent/boards/${board.id}/approvals`, {
    method: "POST",
    headers: { "x-agent-token": lead.auth_token },
    body: JSON.stringify({ action_type, description: "All tests pass" }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
}

/** Returns when the mail server received the mail that names an action, or undefined if the mail has not arrived yet. */
const receivedAt = ({ mail }: BenchEnvironment, action_type: string): number | undefined =>
  mail.mails.find(({ text }) => text?.includes(`${action_type}.`))?.received_at;

/** Requests one approval, waits for its mail, and returns the milliseconds in between. */
async function ask(place: BenchEnvironment, name: string): Promise<number> {
  const start = performance.now();
  await request(place, `${name}.`);
  for (;;) {
    const received = receivedAt(place, name);
    if (received !== undefined) return received - start;
    await pause(1);
  }
}

async function askOneByOne(place: BenchEnvironment): Promise<number[]> {
  place.mail.mails.length = 0;
  const times: number[] = [];
  for (let n = 0; n < APPROVALS; n++) times.push(await ask(place, `one-${n}`));
  return times;
}

/** Requests approvals at a steady rate. Mails are searched only at the end, because a search delays the mail server. */
async function askSteadily(place: BenchEnvironment): Promise<number[]> {
  place.mail.mails.length = 0;
  const asked: { name: string; start: number; sent: Promise<void> }[] = [];
  for (let n = 0; n < APPROVALS; n++) {
    const name = `many-${n}`;
    asked.push({ name, start: performance.now(), sent: request(place, `${name}.`) });
    await pause(APART_MS);
  }
  await Promise.all(asked.map(({ sent }) => sent));
  await place.waitForJobs();
  return asked.map(({ name, start }) => (receivedAt(place, name) ?? Number.POSITIVE_INFINITY) - start);
}

async function sendAlone({ mail }: BenchEnvironment): Promise<number[]> {
  const mailer = createSmtpMailer({ smtp_url: mail.url, from: "Board <board@example.com>" });
  const times: number[] = [];
  for (let n = 0; n < APPROVALS; n++) {
    mail.mails.length = 0;
    const start = performance.now();
    await mailer.send({ to: ADDRESS, subject: "A mail", text: "All tests pass" });
    times.push(mail.mails[0]!.received_at - start);
  }
  mailer.close();
  return times;
}

const FEW = 10;
const MANY = 10_000;
const REQUESTS = 20;

/** Compares the time of a request for an approval on a board with few and with many followers, who are notified afterwards. */
async function compareFollowers(place: BenchEnvironment): Promise<Row> {
  const few = await timeRequests(place, FEW);
  const start = performance.now();
  const many = await timeRequests(place, MANY);
  const per_second = (REQUESTS * MANY) / ((performance.now() - start) / 1_000);
  const [of_few, of_many] = [percentilesOf(few), percentilesOf(many)];
  return {
    what: `approval on a board with ${MANY.toLocaleString("en")} followers, the request alone`,
    figure: named(many),
    target: "as with 10 followers",
    baseline: `with ${FEW} followers ${named(few)}; ${round(per_second)} notifications stored a second`,
    ratio: `${(of_many.p50 / of_few.p50).toFixed(2)}x`,
    statements: "",
  };
}

async function timeRequests(place: BenchEnvironment, followers: number): Promise<number[]> {
  await addFollowers(place, followers);
  const times: number[] = [];
  for (let n = 0; n < REQUESTS; n++) {
    const start = performance.now();
    await request(place, `followed-${followers}-${n}.`);
    times.push(performance.now() - start);
    if (n % 5 === 4) await place.waitForJobs();
  }
  await place.waitForJobs();
  await place.db.delete(users).where(eq(users.auth_issuer, ISSUER));
  return times;
}

const ISSUER = "bench followers";

/** Adds people with write access who follow the board and have no e-mail address. */
const addFollowers = ({ db, board }: BenchEnvironment, number: number) =>
  db.execute(sql`with home as (select id, organization_id from boards where id = ${board.id}),
    person as (insert into users (auth_issuer, auth_subject)
      select ${ISSUER}, 'follower-' || n from generate_series(1, ${number}::int) as n returning id),
    member as (insert into organization_members (organization_id, user_id, role, all_boards_read, all_boards_write)
      select home.organization_id, person.id, 'member', true, true from person, home)
    insert into follows (organization_id, board_id, user_id, following) select home.organization_id, home.id, person.id, true from person, home`);

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
