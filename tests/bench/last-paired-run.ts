/**
 * The results of the last paired run, by the name of a row: the rate of this service, and its ratio to the rate of the API's
 * reference implementation. They ran alternately on PostgreSQL 15 and two idle processors, with boards of 1,000 tasks.
 */
export const LAST_PAIRED_RUN: Readonly<Record<string, string>> = {
  "list tasks, 50 of 5,000": "953/s, 14-17x",
  "list boards, 20 of 500": "1676-1772/s, 14-18x",
  "change a task's priority": "667-705/s, 8.7-10.4x",
  "create a task": "562-604/s, 7.8-9.2x",
  "comment on a task": "1315/s, 10.5-12.4x",
  "webhook posts accepted": "754/s, 3.8-4.1x",
  "dashboard 1m, 100,000 events, 20,000 moves": "37.6/s, 3.1x",
};
