/** The commands that this service sends. Agents understand `/pause` and `/resume`; hosts understand `/new`. */
export const HOST_COMMANDS = ["/new", "/pause", "/resume"] as const;
export type HostCommand = (typeof HOST_COMMANDS)[number];

/**
 * The content of a message to a session: a text or a command. A text reaches the agent unchanged, and the host never runs it as a
 * command.
 */
export type ChatContent = { message: string; command?: never } | { command: HostCommand; message?: never };
