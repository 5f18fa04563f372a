/** Commands that this service sends to hosts as such. `/pause` and `/resume` mean something to agents, `/new` to hosts. */
export const HOST_COMMANDS = ["/new", "/pause", "/resume"] as const;
export type HostCommand = (typeof HOST_COMMANDS)[number];

/**
 * What is sent to a session: a text, which reaches the agent whole and gives its host no order, or a command. A text never
 * becomes a command, whatever it says.
 */
export type ChatContent = { message: string; command?: never } | { command: HostCommand; message?: never };
