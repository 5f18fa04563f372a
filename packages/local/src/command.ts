/** The name of the published package. Its bundle defines this constant; in a clone the constant is undefined. */
declare const PACKAGE: string | undefined;

const name = typeof PACKAGE === "undefined" ? null : PACKAGE;

/** Whether this runs from the published package and not from a clone. */
export const isPublished: boolean = name !== null;

/** The command line as a person types it. In a clone, npx finds it in the workspace. */
export const COMMAND_LINE: string = name === null ? "npx board" : process.env["npm_command"] === "exec" ? `npx ${name}` : "board";

const SCRIPT = /npm (?:run )?(start|doctor|jobs|migrate|accounts:migrate)(?: --(?= ))?/g;

/** Replaces npm scripts in a text by the commands of the published package, unless this runs in a clone. */
export const asInstalled = (text: string): string =>
  isPublished
    ? text.replaceAll(
        SCRIPT,
        (_, program: string) => `${COMMAND_LINE} ${program === "start" ? program : `service ${program.replace(":", "-")}`}`,
      )
    : text;
