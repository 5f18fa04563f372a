/**
 * Files and single tests that cannot run on Lambdas or cannot be observed from outside, with the reason. Tests are listed
 * by their full titles. Files that create no world are excluded by a rule in test-files.ts.
 */
const BUS = "the bus belongs to this process; aws/board-events.test.ts receives the events that functions publish";
const EMBEDDED = "only this process can access the embedded database";
const LENGTH = "API Gateway reads the whole request first and measures its length itself";
const SHARED = "streams of one process share polls, but on AWS every stream has a separate process";
const PACE = "the function has fixed intervals for polls and pings: two and fifteen seconds";
const HELD = "the function waits up to 20 seconds for the first event; aws/functions.test.ts tests it";
const TRACE = "API Gateway starts the trace itself";
const METRICS = "functions write metrics to their logs, which aws/functions.test.ts reads";
const STOP = "a function gets no signal before it stops; it ends its streams at their time limit";
const UNNOTICED = "a function does not notice that a client has disconnected; its stream ends at the time limit";
const DECODED = "API Gateway decodes paths: an encoded slash separates segments, and an encoded question mark ends the path";
const REMEMBERED = "the test inspects the memory of this process";
const NAMES = "functions ask the name servers of the machine, not those of the test";
const CONSUMER = "its jobs are run by the consumer of the local server";
const WAKE_UPS = "the wake-ups are in the queue, so this process cannot act as the workers";

export const excludedFiles: Readonly<Record<string, string>> = {
  "board-event/rules": BUS,
  "board-event/publishing": BUS,
  "board-event/eventbridge": BUS,
  "proofs/fuzz": "it checks the log of this process after every request",
  "webhook/stored-bodies": "its storage is a folder that the test makes fail",
  "webhook/stored-body-removal": "its storage is a folder that the test makes fail",
  "webhook/body-bucket": "the schedule runs in this process",
  "artifact/artifacts": "it reads contents from the app of this process, because the answers of functions are read as text",
  "artifact/bucket": "the schedule runs in this process",
  "artifact/uploads": "its storage is a folder",
  "cli/artifacts": "its storage is a folder",
  "api/health": EMBEDDED,
  "agent/request-limit": "every process counts the requests of an agent by itself, and the test moves the clock of this process",
  "api/rate-limit-headers":
    "every process has its own queue of a caller's requests, and the test moves the clock of this process",
  "api/untrusted-proxies": "every process keeps its own list of the proxies that it has logged",
  "api/refused-origins": "every process keeps its own list of the origins that it has logged",
  "api/identity-provider-outage": "every function keeps its own keys, and the test moves the clock of this process",
  "examples/agents": CONSUMER,
  "examples/people": CONSUMER,
  "examples/integrations": CONSUMER,
  "host/contract": CONSUMER,
  "job/starvation": CONSUMER,
  "sync/lost-entries": CONSUMER,
  "aws/meter": METRICS,
  "activity/feed-order": PACE,
  "change/order": PACE,
  "change/stream": PACE,
  "stream/dashboard-page": "sixty-one processes need more memory than a test machine has",
  "stream/held-answers": HELD,
  "stream/horizon": "it looks at what this process has observed and logged",
  "stream/hub": SHARED,
  "accounts/streams": SHARED,
  "gateway/slow-names": NAMES,
  "subscription/refused-receivers": NAMES,
  "proofs/tenancy": "each request is rolled back in a transaction of this process",
};

export const excludedTests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "api/search": {
    "the embedded database finds words and pages by cursor as a server does": EMBEDDED,
  },
  "api/client-address": {
    "bad entries of TRUSTED_PROXIES are skipped with a warning that does not show them": "every process writes its own warning",
  },
  "activity/feed-stream": {
    "who receives which comments > readers with the same access share a poll, and one statement checks the access of all of them":
      SHARED,
    "pings keep a stream open, and the retry hint is sent only when the server ends the stream": STOP,
  },
  "task/custom-field-matching": {
    "values are matched against patterns before any row is locked": REMEMBERED,
    "an organization with too many slow matches at a time gets 429 with Retry-After":
      "every process has its own queue of matches",
  },
  "task/custom-field-races": Object.fromEntries(
    ["abc", "123"].map((value) => [
      `the pattern that a field has when ${value} is stored decides, not the pattern that was read earlier`,
      REMEMBERED,
    ]),
  ),
  "gateway/sessions": {
    "one session > a session is found by its whole key under both path prefixes": DECODED,
  },
  "memory/group": {
    "the stream of group memory > a board's stream is silent without a group and follows the board from group to group": PACE,
  },
  "webhook/ingestion": {
    "a body whose Content-Length is too large is refused without reading it": LENGTH,
    "a body without Content-Length or with a false one is counted as it arrives, and refused once it is too large": LENGTH,
  },
  "api/oidc": {
    "a start warns when any token of the issuer is accepted, since neither audience nor parties are set":
      "every process writes its own warning",
  },
  "api/verified-email": {
    "the log names the setting, once, for an issuer whose tokens do not say that addresses are verified":
      "every process writes its own warning",
  },
  "webhook/signed-rate": {
    "an unsigned post over the limit is refused without reading its body": LENGTH,
  },
  "api/trace": Object.fromEntries(
    [
      "taken from the headers: the Root of X-Amzn-Trace-Id",
      "taken from the headers: the Root of X-Amzn-Trace-Id at any position",
      "taken from the headers: the trace id of traceparent",
      "taken from the headers: the trace id of a later traceparent version",
      "taken from the headers: X-Amzn-Trace-Id rather than traceparent",
      "the request id when no header is sent",
      "the request id when Root is not a trace id",
      "the request id when Root is too long",
      "the request id when the trace id of traceparent is all zeros",
      "the request id when the version of traceparent is invalid",
      "the request id when traceparent of version 0 has extra fields",
      "the request id when X-Amzn-Trace-Id is oversized",
    ].map((name) => [`the trace id of a request > the trace id is ${name}`, TRACE]),
  ),
  "job/races": {
    "eight concurrent workers keep the order of each agent's messages and send each message once": WAKE_UPS,
  },
  "api/check-order": {
    "a body is read only after the credential and the role have been checked": LENGTH,
    "the size of a body, announced or counted, is checked before its content": LENGTH,
  },
  "soul/role-souls": {
    "a failing directory gives workers the default soul after one request, and does not affect the sync": REMEMBERED,
  },
  "db/lost-connection": Object.fromEntries(
    ["node-postgres", "Neon's driver"].flatMap((driver) => [
      [
        `a broken connection to the database is replaced: ${driver} > a job whose database becomes unavailable while it runs is done once the database is back, without a crash`,
        CONSUMER,
      ],
      [
        `a broken connection to the database is replaced: ${driver} > jobs that are due while the database is unavailable are done once it is back`,
        CONSUMER,
      ],
    ]),
  ),
  "db/server": {
    "prepared statements > a frequent statement is planned once per connection": REMEMBERED,
  },
  "soul/directory": {
    "the path /board/%2e%2e%2fwriter with unsupported characters is refused with 422": DECODED,
  },
  "soul/remote-directory": {
    "a name with unsupported characters is never requested from the directory": DECODED,
    "simultaneous requests wait for one fetch": "each request waits in a separate process",
  },
  "stream/budgets": Object.fromEntries(
    ["process", "database"].flatMap((place) => [
      [`streams counted in the ${place} > a stream whose client disconnects frees its place`, UNNOTICED],
    ]),
  ),
  "stream/endings": {
    "the end of a stream > at the time limit the client learns when and from where to resume, and misses nothing": PACE,
    "the end of a stream > when the process stops, every stream ends at once and a new one ends after the stored events": STOP,
    "a function that cannot stream > a function that cannot stream answers with the stored events, and a client that resumes misses nothing":
      HELD,
    "a function that cannot stream > a function that cannot stream takes four statements for an answer, and sends a long history in portions":
      HELD,
  },
  "stream/order": {
    "eight writers whose transactions overlap > streams that are cut and resumed at any moment receive every committed row once":
      PACE,
    "the database connections of streams > one database connection serves many answers that wait for their first event and also requests":
      HELD,
    "the database connections of streams > one database connection serves many open streams and also requests": SHARED,
    "the database connections of streams > open streams continue after the database could not be reached for a while": PACE,
  },
  "stream/protocol": {
    "the wire format > a comment line keeps the connection of a stream alive": PACE,
  },
  "subscription/delivery": {
    "410 switches a subscription off at once, with an event in the activity log that shows no path":
      "the consumer sends both messages at the same time",
  },
  "subscription/receivers": {
    "a name that resolves to a private address is refused, even when it does so only later": NAMES,
  },
  "sync/runs": {
    "an asynchronous sync > an asynchronous sync sends one message per agent, in the agents' own lanes, on a separate queue":
      WAKE_UPS,
  },
  "template/subjects": {
    "subjects of many agents on many boards take three statements, and come in the requested order":
      "the statements come from a function that this process calls directly",
  },
};
