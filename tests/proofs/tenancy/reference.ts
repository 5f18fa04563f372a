import type { Caller } from "./callers.ts";
import type { Ids } from "./seed-tenant.ts";

/** Rows that a request may name in its query or body. */
export interface Rows {
  /** Rows of the home board and organization. */
  known: Ids;
  /** Rows of the other organization. */
  theirs: Ids;
  /** Rows of an unrelated board of the home organization. */
  elsewhere: Ids;
}

/** Input that names other rows than the path, and the status for permitted callers. */
export interface Reference {
  about: string;
  query?: (rows: Rows) => string;
  body?: (rows: Rows) => object;
  /** The rows for the path, if they are not the rows of the home board. */
  at?: (rows: Rows) => Ids;
  answers: number | ((caller: Caller) => number);
}

export const forAgents = (agents: number, users: number) => (caller: Caller) => (caller.is === "agent" ? agents : users);

type Of = "theirs" | "elsewhere";
/** Returns two references: one to rows of the other organization, and one to rows of the unrelated board. */
export const foreignReferences = (
  about: string,
  answers: Reference["answers"],
  sent: (foreign: Ids, rows: Rows) => object,
): Reference[] => (["theirs", "elsewhere"] as const).map((of) => foreignReference(about, of, answers, sent));
export const foreignReference = (
  about: string,
  of: Of,
  answers: Reference["answers"],
  sent: (foreign: Ids, rows: Rows) => object,
): Reference => ({
  about: `${about} of ${of === "theirs" ? "another organization" : "another board"}`,
  body: (rows) => sent(rows[of], rows),
  answers,
});
export const queryReference = (
  about: string,
  of: keyof Rows,
  answers: Reference["answers"],
  query: (ids: Ids) => string,
): Reference => ({
  about: `${about} of ${{ theirs: "another organization", elsewhere: "another board", known: "the own" }[of]}`,
  query: (rows) => query(rows[of]),
  answers,
});

export const pathReference = (
  about: string,
  row: (rows: Rows) => Ids,
  answers: Reference["answers"],
  sent: Pick<Reference, "query" | "body"> = {},
): Reference => ({ about, at: row, answers, ...sent });
export const onGateway = { query: ({ known }: Rows) => `?gateway_id=${known.gateway_id}` };

/** Returns the references that name a board in the query of an organization-wide list. */
export const boardQuery = (status: { elsewhere: Reference["answers"]; known: Reference["answers"] }): Reference[] => [
  queryReference("board", "theirs", 404, ({ board_id }) => `?board_id=${board_id}`),
  queryReference("board", "elsewhere", status.elsewhere, ({ board_id }) => `?board_id=${board_id}`),
  queryReference("board", "known", status.known, ({ board_id }) => `?board_id=${board_id}`),
];
export const readable = (place: "home" | "elsewhere") => (caller: Caller) =>
  caller.home && caller.reads.includes(place) ? 200 : 404;
