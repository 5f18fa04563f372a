/**
 * What an agent should do after a refusal with one of these codes. People do not get these texts, because they have no tool
 * next_task.
 */
export const AGENT_STEPS_BY_CODE: Readonly<Record<string, string>> = {
  task_already_claimed: "Another agent has the task: take another one with next_task and do not retry.",
  task_lease_lost: "Stop working on this task, since another caller has it now, and call next_task.",
};

/** What a caller should do after a refusal, by status. */
export const STEPS_BY_STATUS: Readonly<Record<string, string>> = {
  "401": "Sign in again with a valid token.",
  "403": "Do not repeat the call: your role or the rules of the board do not allow it.",
  "404": "Check the ids with list_tasks or get_board.",
  "409": "Read the current state with get_task, then decide again.",
  "413": "Send less at a time.",
  "422": "Correct the arguments that the message names.",
  "429": "Wait before you repeat the call.",
  "502": "Repeat the call in a minute.",
  "503": "Repeat the call in a minute.",
  "500": "Repeat the call once; if it fails again, tell a person.",
};
