/**
 * What cannot hold on Lambdas, or cannot be seen from outside of them, each with its reason: whole files, and single tests
 * by their names. Files that make no world are not here; they are left out by a rule (files.ts).
 */
const BUS = "the bus is one of this process; lambda-board-events.test.ts receives what the functions put on EventBridge";
const EMBEDDED = "the database is one that only this process reaches";
const LENGTH = "API Gateway takes a request in whole before it passes it on, and finds its length by itself";
const SHARED = "what many connections of one process share: on AWS every stream has a process of its own";
const PACE = "how often a stream asks and pings is fixed in the function: every two and fifteen seconds";
const TRACE = "API Gateway begins the trace itself";
const METRICS = "what is measured is lines of the functions' logs there, which lambda.test.ts reads";
const STOP = "a function is not told that it stops: it ends its streams by their time limit";
const DECODED = "API Gateway decodes a path: an encoded slash is one between segments, an encoded question mark the end";
const REMEMBERED = "what a process remembers is looked at in this one";
const WAKE_UPS = "the wake-ups of the requests are in the queue, and none are left for this process, which plays the workers";

export const leftOutFiles: Readonly<Record<string, string>> = {
  "board-event-rules": BUS,
  "board-events": BUS,
  "event-bus": BUS,
  fuzz: "the log of this process is looked through after every request",
  health: EMBEDDED,
  "host-contract": "its jobs are worked on by the consumer of the local server",
  meter: METRICS,
  "feed-order": PACE,
  "stream-hub": SHARED,
  tenancy: "each request is undone by a transaction of this process",
};

export const leftOutTests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "client-address": {
    "bad entries of TRUSTED_PROXIES are skipped with a warning that does not show them": "every process warns by itself",
  },
  "feed-stream": {
    "who follows > shares a poll with all who see the same, and is looked up with them in one statement": SHARED,
    "pings keep it awake, and it is told when to come back only when the server ends it": STOP,
  },
  "gateway-sessions": {
    "one session > is found by its whole key, whichever prefix is used": DECODED,
  },
  "group-memory": {
    "the stream > of a board is silent without a group, and follows the board into one, into another and out of it": PACE,
  },
  ingestion: {
    "a body announced as too large is refused unread": LENGTH,
    "a body without a length, or with a false one, is counted and dropped where it gets too large": LENGTH,
  },
  trace: Object.fromEntries(
    [
      "the root that AWS gives",
      "the root wherever it stands",
      "the W3C trace",
      "that of a later version of W3C's form",
      "AWS's before W3C's",
      "the request's own id when nothing is sent",
      "the request's own id when the root is made up",
      "the request's own id when the root goes on",
      "the request's own id when the trace is zero",
      "the request's own id when the version is none",
      "the request's own id when version 0 has more than it may",
      "the request's own id when it is longer than any",
    ].map((name) => [`a request's trace > is ${name}`, TRACE]),
  ),
  "job-races": {
    "eight workers at once keep the order of each agent's messages and send each once": WAKE_UPS,
  },
  "order-of-checks": {
    "a body is not read before credential and role have passed": LENGTH,
    "the size is judged before the content, whether announced or counted": LENGTH,
  },
  "role-souls": {
    "a directory that fails gives workers the default soul, costs one attempt, and is no matter of the sync": REMEMBERED,
  },
  "server-database": {
    "statements that come often > are planned once for a connection": REMEMBERED,
  },
  souls: {
    "/board/%2e%2e%2fwriter has unsupported characters: 422": DECODED,
  },
  "souls-remote": {
    "a name that is none is never asked for": DECODED,
    "those who ask at the same time wait for one fetch": "each waits in a process of its own",
  },
  "stream-ends": {
    "the end > at the time limit the client is told when to come back and from where, and loses nothing": PACE,
    "the end > when the process stops every stream ends at once, and a new one gives what is there": STOP,
  },
  "stream-order": {
    "eight writers whose transactions overlap > every committed row reaches streams that are cut and resumed at any moment, once":
      PACE,
    "connections > one connection serves many open streams, and requests beside them": SHARED,
    "connections > streams outlive a database that is away for a while": PACE,
  },
  streams: {
    "the wire format > a comment line keeps the connection awake": PACE,
  },
  "sync-runs": {
    "a sync that is not waited for > is a message per agent, in the agents' own lanes, on a queue of its own": WAKE_UPS,
  },
  "template-subjects": {
    "many agents of many boards cost three statements, and come in the order they were asked for":
      "the statements are of a function that this process calls by itself",
  },
};
